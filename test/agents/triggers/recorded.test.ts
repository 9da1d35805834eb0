/**
 * Deliveries that GitHub made for real repositories, as octokit has recorded them, signed by octokit's own helper: the
 * receiver answers every one as documented, and those that triggers can name start sessions.
 */
import { sign, verify } from '@octokit/webhooks-methods'
import recorded from '@octokit/webhooks-examples'
import { expect, test } from 'vitest'
import { eventKinds, eventNames } from '#src/resources/agents/triggers/events.ts'
import { authorAssociations } from '#src/resources/agents/triggers/rows.ts'
import { sql } from '#src/platform/postgres.ts'
import { decodeId } from '#src/platform/ids.ts'
import { hookSecret } from '../../support/code-host/deliveries.ts'
import { until } from '../../support/until.ts'
import { berth, create, useTriggers } from './trigger-world.ts'

// Whoever is in a trusted organization needs no account at the code host, where these repositories are not.
useTriggers({ settings: { GITHUB_WEBHOOK_ORGANIZATIONS: 'acme' } })

type Payload = { action?: string; repository?: { full_name: string } }
// The package's types are of an ES module, and it is JSON.
const deliveries = (recorded as unknown as { name: string; examples: Payload[] }[]).flatMap(({ name, examples }) =>
  examples.map((payload, index) => ({ event: name, payload, id: `${name}-${index}` })),
)
const kinds: Readonly<Record<string, readonly string[]>> = eventKinds
/** Pushes that deleted their tag. */
const recordedDeletions = deliveries.filter(
  ({ event, payload }) => event === 'push' && (payload as { deleted?: boolean }).deleted === true,
).length
const repositories = ['Codertocat/Hello-World', 'octo-org/octo-repo']

async function deliver({
  event,
  payload,
  id,
}: (typeof deliveries)[number]): Promise<{ status: number; body: unknown }> {
  const body = JSON.stringify(payload)
  const signature = await sign(hookSecret, body)
  expect(await verify(hookSecret, body, signature)).toBe(true)
  const headers = { 'x-github-event': event, 'x-github-delivery': id, 'x-hub-signature-256': signature }
  const answer = await fetch(`${berth.url}/agents/v1/hooks/github`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: answer.status, body: await answer.json() }
}

test('every recorded delivery is answered as documented, and those that triggers take start sessions', async () => {
  const allowed = { allow_forks: true, allow_bots: true, author_associations: authorAssociations }
  const [wide, narrow] = [Object.keys(kinds), eventNames.filter((name) => name.includes('.'))]
  const starting: string[] = []
  for (const repo of repositories) {
    starting.push(decodeId('trigger', (await create({ repo, events: wide, filters: allowed })).id) ?? '')
    await create({ repo, events: narrow, enabled: false })
  }
  let expected = 0
  for (const delivery of deliveries) {
    const { event, payload, id } = delivery
    const isOurs = event in kinds && repositories.includes(payload.repository?.full_name ?? '')
    const fires = isOurs ? 1 + Number(kinds[event]?.includes(payload.action ?? '')) : 0
    if (isOurs) expected++
    const answer = await deliver(delivery)
    const documented =
      event === 'ping'
        ? { status: 200, body: { ok: true } }
        : { status: 202, body: { received: true, delivery_id: id, fires } }
    expect([id, answer]).toEqual([id, documented])
  }
  expect(expected).toBeGreaterThan(90)
  type Fire = {
    delivery: string
    status: string
    skipReason: string | null
    error: unknown
    event: string
    sender: { login: string } | null
  }
  let fires: Fire[] = []
  await until('all are decided', async () => {
    const { rows } = await sql<Fire>`select delivery, event, status, skip_reason, error, sender from trigger_fires
      where trigger_id = any(${starting}::uuid[])`.execute(berth.services.db)
    fires = rows
    return fires.every(({ status }) => status !== 'pending')
  })
  const deletions = fires.filter(({ skipReason }) => skipReason === 'ref_deleted')
  expect(deletions.length).toBe(recordedDeletions)
  const others = fires.filter((fire) => !deletions.includes(fire))
  expect(others.filter(({ status, sender }) => status !== 'started' || !sender?.login)).toEqual([])
  expect(fires).toHaveLength(expected)
  expect(new Set(fires.map(({ event }) => event))).toEqual(new Set(Object.keys(kinds)))
})

test('octokit’s signature of another body or secret is refused', async () => {
  const body = JSON.stringify({ zen: 'x' })
  for (const signature of [await sign(hookSecret, `${body} `), await sign('another-secret', body)]) {
    const headers = { 'x-github-event': 'ping', 'x-github-delivery': 'x', 'x-hub-signature-256': signature }
    const answer = await fetch(`${berth.url}/agents/v1/hooks/github`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    })
    expect(answer.status).toBe(401)
  }
})

/** Fires over time: followed live, too many of them, those that nobody could decide, and what is forgotten. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { forgetDeliveries } from '#src/resources/agents/triggers/deliveries.ts'
import { decideFire, giveUpFires } from '#src/resources/agents/triggers/fires.ts'
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { account, payloads } from '../../support/code-host/deliveries.ts'
import { berth, call, create, deliver, fireOf, firesOf, host, token, useTriggers } from './trigger-world.ts'

useTriggers()

const age = (table: 'trigger_fires' | 'trigger_deliveries', delivery: unknown, days: number) =>
  sql`update ${sql.table(table)} set received_at = now() - ${days} * interval '1 day' where delivery = ${delivery}`.execute(
    berth.services.db,
  )
const payloadOf = async (id: string): Promise<unknown> => {
  const { body } = await berth.ask(`{ triggerFire(id: "${id}") { payload } }`, { token })
  return (body.data as { triggerFire: { payload: unknown } | null }).triggerFire?.payload
}

test('fires are told to whoever follows the trigger, from any cursor, with the reason, until it is deleted', async () => {
  const { id } = await create({ events: ['push'] })
  await fireOf(id, 'push', payloads.push())
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: `subscription { triggerFireEvents(id: "${id}", after: "0") { ... on TriggerFireEvent { cursor fire { status skipReason } } } }`,
    }),
  })
  const seen: string[][] = []
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    // an answer with a stream has a body
    for (const [, cursor = '', status = '', reason = ''] of chunk.matchAll(
      /"cursor":"(\d+)","fire":{"status":"(\w+)","skipReason":"?(\w+)/g,
    )) {
      seen.push([cursor, status, reason])
      if (cursor === '1') await deliver('push', payloads.push({ sender: account('x[bot]', 'Bot') }))
      else await call('DELETE', `/${id}`)
    }
  }
  expect(seen).toEqual([
    ['1', 'STARTED', 'null'],
    ['2', 'SKIPPED', 'BOT_SENDER'],
  ])
})

test('what comes too often is skipped as that, unless a filter skips it already', async () => {
  const [often, filtered] = [await create({ events: ['push'] }), await create({ events: ['push'] })]
  await call('PATCH', `/${filtered.id}`, { filters: { branches: ['release/*'] } })
  for (const { id } of [often, filtered])
    await sql`insert into rate_buckets (bucket, tokens, granted, refilled_at) values (${`trigger-starts:${decodeId('trigger', id)}`}, -1000000, 0, now())`.execute(
      berth.services.db,
    )
  const { answer, fire } = await fireOf(often.id, 'push', payloads.push())
  expect(answer.body['fires']).toBe(2)
  expect(fire).toMatchObject({ status: 'skipped', skip_reason: 'rate_limited', session_id: null, error: null })
  const { fire: other } = await fireOf(filtered.id, 'push', payloads.push())
  expect(other).toMatchObject({ status: 'skipped', skip_reason: 'filter_mismatch' })
  for (const { id } of [often, filtered]) await call('DELETE', `/${id}`)
})

test('an event that is sent again counts and starts nothing again, also long after it was decided', async () => {
  const { id } = await create({ events: ['push'] })
  const again = { 'x-github-delivery': randomUUID() }
  const first = await deliver('push', payloads.push(), again)
  expect(first.body['fires']).toBe(1)
  await expect.poll(async () => (await firesOf(id))[0]?.status).toBe('started')
  const [decided] = await firesOf(id)
  for (let time = 0; time < 3; time++)
    expect((await deliver('push', payloads.push({ ref: 'refs/heads/other' }), again)).body['fires']).toBe(0)
  expect(await firesOf(id)).toEqual([{ ...decided, redelivery_count: 3 }])
  await call('DELETE', `/${id}`)
})

test('a fire waits while the code host does not answer, and fails after an hour of that', async () => {
  const { id } = await create({ events: ['push'] })
  await sql`update triggers set access_checked_at = now() - interval '6 minutes'`.execute(berth.services.db)
  host.fail('/api/v3/repos/octocat/site', (response) => response.writeHead(500).end())
  const { body } = await deliver('push', payloads.push())
  const [fire] = await firesOf(id)
  expect(fire).toMatchObject({ status: 'pending', delivery_id: body['delivery_id'] })
  await expect(decideFire(berth.services, decodeId('triggerFire', fire?.id ?? '') ?? '')).rejects.toThrow()
  await giveUpFires(berth.services.db)
  expect((await firesOf(id))[0]?.status).toBe('pending')
  await age('trigger_fires', body['delivery_id'], 0.1)
  await Promise.all([giveUpFires(berth.services.db), giveUpFires(berth.services.db)])
  host.heal()
  expect(await firesOf(id)).toMatchObject([
    { status: 'failed', error: { type: 'upstream_error' }, sender: null, ref: null, session_id: null },
  ])
  await decideFire(berth.services, decodeId('triggerFire', fire?.id ?? '') ?? '')
  expect(await firesOf(id)).toMatchObject([{ status: 'failed' }])
  await call('DELETE', `/${id}`)
})

test('a fire waits while its organization has as many running sessions as it may', async () => {
  const { id } = await create({ events: ['push'] })
  const { fire } = await fireOf(id, 'push', payloads.push())
  const fireId = decodeId('triggerFire', fire.id) ?? ''
  await sql`update trigger_fires set status = 'pending', session_id = null, finished_at = null, position = null, shown = false where id = ${fireId}`.execute(
    berth.services.db,
  )
  const config = { ...berth.services.config, rateLimitFactor: 0 } // nobody may have a running session
  for (let tries = 0; tries <= triggerLimits.startsPerMinute; tries++)
    await expect(decideFire({ ...berth.services, config }, fireId)).rejects.toThrow('running session')
  expect((await firesOf(id))[0]).toMatchObject({ status: 'pending', session_id: null })
  await decideFire(berth.services, fireId)
  expect((await firesOf(id))[0]).toMatchObject({ status: 'started', session_id: expect.any(String) })
  await call('DELETE', `/${id}`)
})

test('payloads are forgotten after 7 days, and fires after 30 with what was delivered', async () => {
  const { id } = await create({ events: ['push'] })
  const { fire: old } = await fireOf(id, 'push', payloads.push())
  const { fire: older } = await fireOf(id, 'push', payloads.push())
  const { fire: fresh } = await fireOf(id, 'push', payloads.push())
  await age('trigger_deliveries', old['delivery_id'], 8)
  for (const table of ['trigger_deliveries', 'trigger_fires'] as const) await age(table, older['delivery_id'], 31)
  expect(await payloadOf(old.id)).toMatchObject({ ref: 'refs/heads/main' })
  for (let run = 0; run < 2; run++) await forgetDeliveries(berth.services.db)
  expect((await firesOf(id)).map((fire) => fire.id)).toEqual([fresh.id, old.id])
  expect([await payloadOf(old.id), await payloadOf(fresh.id)]).toEqual([
    null,
    expect.objectContaining({ ref: 'refs/heads/main' }),
  ])
  const { rows } = await sql`select from trigger_deliveries where delivery = ${older['delivery_id']}`.execute(
    berth.services.db,
  )
  expect(rows).toEqual([])
  await call('DELETE', `/${id}`)
})

test('a body of chunks that never ends is refused at 25 MiB, and others are answered meanwhile', async () => {
  const sending = request(`${berth.url}/agents/v1/hooks/github`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
  })
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  let status: number | undefined
  void answered.then(([answer]) => (status = answer.statusCode))
  sending.on('error', () => undefined) // it is cut while it sends
  const chunk = Buffer.alloc(1024 * 1024, ' ')
  let sent = 0
  while (status === undefined && sent < 100) {
    if (!sending.write(chunk)) await Promise.race([once(sending, 'drain'), answered])
    if (++sent === 10) expect((await deliver('ping', {})).status).toBe(200)
  }
  const [answer] = await answered
  sending.destroy()
  expect(answer.statusCode).toBe(413)
  expect(sent).toBeLessThan(100)
})

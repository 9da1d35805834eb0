/** Trying a trigger with an event: what would become of it, without anything of it happening. */
import { expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { callAgents } from '../../support/agents-service.ts'
import { account, payloads, pullRequest, repository } from '../../support/code-host/deliveries.ts'
import { berth, call, connect, create, fireOf, firesOf, host, makeAgent, token, useTriggers } from './trigger-world.ts'

useTriggers()

type Trial = {
  outcome: string
  skipReason: string | null
  errorType: string | null
  reason: string | null
  kickoff: { text: string | null; events: { __typename: string }[] } | null
}
type Answer = { data?: { tryTrigger: Trial | null }; errors?: { message: string; extensions: { code: string } }[] }

const ask = async (input: Record<string, unknown>, as = token): Promise<Answer> => {
  const query = `mutation ($input: TryTriggerInput!) { tryTrigger(input: $input) {
    outcome skipReason errorType reason kickoff { text events { __typename } } } }`
  return (await berth.ask(query, { token: as, variables: { input } })).body as Answer
}
const tried = async (id: string, event: string, payload: unknown, as = token): Promise<Trial> => {
  const answer = await ask({ id, event, payload }, as)
  expect(answer.errors, JSON.stringify(answer.errors)).toBeUndefined()
  return answer.data?.tryTrigger as Trial
}
const counts = async (): Promise<Record<string, number>> => {
  const { rows } = await sql<Record<string, number>>`select
    (select count(*) from sessions)::int sessions, (select count(*) from trigger_fires)::int fires,
    (select count(*) from trigger_deliveries)::int deliveries, (select count(*) from deployment_runs)::int runs,
    (select count(*) from environments)::int environments, (select count(*) from pgboss.job)::int jobs,
    (select coalesce(sum(event_position), 0)::int from triggers) positions`.execute(berth.services.db)
  return rows[0] ?? {}
}

test('an event that would start a session shows what the agent would be told, and nothing of it happens', async () => {
  const { id } = await create()
  const before = await counts()
  const trial = await tried(id, 'pull_request', payloads.pull_request())
  expect(trial).toMatchObject({ outcome: 'START', skipReason: null, errorType: null, reason: null })
  expect(trial.kickoff?.text).toMatch(
    /^GitHub event pull_request\.opened on octocat\/site\n\n.*untrusted.*\n\n```json\n/,
  )
  expect(trial.kickoff?.events).toEqual([{ __typename: 'KickoffMessage' }])
  expect(await counts()).toEqual(before)
  expect(await firesOf(id)).toEqual([])
  expect((await call('GET', `/${id}`)).body.last_fired_at).toBeNull()
})

test('the event of an earlier fire is tried too, and says word for word what that session was told', async () => {
  const { id } = await create({ events: ['push'] })
  const { fire } = await fireOf(id, 'push', payloads.push())
  const { body } = await callAgents<{ data: { content?: { text: string }[] }[] }>(
    berth,
    token,
    'GET',
    `/sessions/${fire.session_id}/events`,
  )
  const again = await ask({ id, fireId: fire.id })
  expect(again.data?.tryTrigger?.kickoff?.text).toBe(body.data[0]?.content?.[0]?.text)
  const { id: other } = await create({ events: ['push'], filters: { branches: ['release/*'] } })
  const elsewhere = await ask({ id: other, fireId: fire.id })
  expect(elsewhere.data?.tryTrigger).toMatchObject({
    outcome: 'SKIP',
    skipReason: 'FILTER_MISMATCH',
    reason: 'filters.branches does not match the branch main.',
    kickoff: null,
  })
  expect(await firesOf(other)).toEqual([])
})

test('with a deployment its kickoff comes first, and a pause or a start that cannot succeed changes nothing', async () => {
  const own = await makeAgent(token)
  const said = { events: [{ type: 'system.message', content: [{ type: 'text', text: 'Be brief.' }] }] }
  const { body: deployment } = await callAgents<{ id: string }>(berth, token, 'POST', '/deployments', {
    name: 'reviews',
    agent: own,
    kickoff: said,
    environment: { type: 'ephemeral' },
  })
  const { id } = await create({ agent: own, deployment: deployment.id })
  const before = await counts()
  expect(await tried(id, 'push', payloads.push())).toMatchObject({
    outcome: 'START',
    kickoff: { text: null, events: [{ __typename: 'KickoffSystemMessage' }, { __typename: 'KickoffMessage' }] },
  })
  expect(await counts()).toEqual(before)
  await callAgents(berth, token, 'PATCH', `/deployments/${deployment.id}`, { status: 'paused' })
  expect(await tried(id, 'push', payloads.push())).toMatchObject({ outcome: 'SKIP', skipReason: 'DEPLOYMENT_PAUSED' })
  await callAgents(berth, token, 'PATCH', `/deployments/${deployment.id}`, { status: 'active' })
  await callAgents(berth, token, 'POST', `/agents/${own}/archive`)
  expect(await tried(id, 'push', payloads.push())).toMatchObject({ outcome: 'FAIL', errorType: 'agent_archived_error' })
  const { body: after } = await callAgents(berth, token, 'GET', `/deployments/${deployment.id}`)
  expect(after).toMatchObject({ status: 'active' })
  expect(await counts()).toEqual(before)
})

const stranger = { author_association: 'NONE' }
const fork = repository('mallory/site', 99)
test.each([
  ['an event that it is not for', {}, 'release', payloads.release(), null, 'is not for `release.published`'],
  ['one that no trigger can name', {}, 'star', payloads.push(), null, 'No trigger can name `star`'],
  ['one of no repository', {}, 'push', {}, null, 'payload has no repository'],
  ['one of another repository', {}, 'push', payloads.push({ repository: fork }), null, 'is of mallory/site'],
  [
    'a fork',
    {},
    'pull_request',
    payloads.pull_request({ pull_request: pullRequest({}, { from: fork }) }),
    'FORK_PULL_REQUEST',
    'allowForks',
  ],
  [
    'a stranger’s comment',
    {},
    'issue_comment',
    payloads.issue_comment('hi', {}, stranger),
    'UNTRUSTED_AUTHOR',
    'GitHub calls them NONE',
  ],
  ['a bot', {}, 'push', payloads.push({ sender: account('x[bot]', 'Bot') }), 'BOT_SENDER', 'allowBots'],
  [
    'files that are not wanted',
    { filters: { paths: ['src/**'] } },
    'push',
    payloads.push(),
    'FILTER_MISMATCH',
    'none of the 1 files',
  ],
  [
    'a label that is not wanted',
    { filters: { labels: ['agent'] } },
    'issues',
    payloads.issues(),
    'FILTER_MISMATCH',
    'none of bug',
  ],
  [
    'a comment that begins otherwise',
    { filters: { comment_prefix: '/go' } },
    'issue_comment',
    payloads.issue_comment('hi'),
    'FILTER_MISMATCH',
    'commentPrefix',
  ],
  [
    'a tag',
    { filters: { branches: ['main'] } },
    'push',
    payloads.push({ ref: 'refs/tags/v1' }),
    'FILTER_MISMATCH',
    'of no branch',
  ],
  ['a disabled trigger', { enabled: false }, 'push', payloads.push(), 'TRIGGER_DISABLED', 'Enable it'],
] as [string, Record<string, unknown>, string, object, string | null, string][])(
  '%s would start nothing, and the reason says why',
  async (_, fields, event, payload, skipReason, words) => {
    const { id } = await create(fields)
    const trial = await tried(id, event, payload)
    expect(trial).toMatchObject({ outcome: skipReason ? 'SKIP' : 'NO_FIRE', skipReason, kickoff: null })
    expect(trial.reason).toContain(words)
    await call('DELETE', `/${id}`)
  },
)

test.each([
  ['nothing', {}, 'fireId'],
  ['an event without a payload', { event: 'push' }, 'both event and payload'],
  ['a payload without an event', { payload: {} }, 'both event and payload'],
  ['a list', { event: 'push', payload: [] }, 'payload must be an object'],
  ['a text', { event: 'push', payload: 'x' }, 'payload must be an object'],
  ['an event with its action', { event: 'pull_request.opened', payload: {} }, 'X-GitHub-Event'],
  ['a long event', { event: 'x'.repeat(5000), payload: {} }, 'X-GitHub-Event'],
])('%s is refused, with what to give', async (_, given, words) => {
  const { id } = await create()
  const answer = await ask({ id, ...given })
  expect(answer.errors?.[0]).toMatchObject({ extensions: { code: 'INVALID_REQUEST' } })
  expect(answer.errors?.[0]?.message).toContain(words)
  await call('DELETE', `/${id}`)
})

test('only the owner tries it, with events that were shown to them; who may no longer write is told so', async () => {
  const frank = await berth.token('frank', 'acme', 'member')
  await connect(frank)
  const { id } = await create({ agent: await makeAgent(frank), events: ['push'] }, frank)
  const { id: mine } = await create({ events: ['push'] })
  const { fire } = await fireOf(mine, 'push', payloads.push())
  expect((await ask({ id: mine, event: 'push', payload: payloads.push() }, frank)).errors?.[0]).toMatchObject({
    extensions: { code: 'NOT_FOUND' },
  })
  expect((await ask({ id, fireId: fire.id }, frank)).errors?.[0]).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
  await sql`update trigger_fires set shown = false where delivery = ${fire['delivery_id']}`.execute(berth.services.db)
  expect((await ask({ id: mine, fireId: fire.id })).errors?.[0]).toMatchObject({
    extensions: { code: 'INVALID_REQUEST' },
  })
  await sql`update triggers set access_checked_at = now() - interval '6 minutes'`.execute(berth.services.db)
  host.fail('/api/v3/repos/octocat/site', (response) => response.writeHead(404).end('{}'))
  expect(await tried(id, 'push', payloads.push(), frank)).toMatchObject({
    outcome: 'FAIL',
    errorType: 'repository_access_error',
    kickoff: null,
  })
  host.heal()
})

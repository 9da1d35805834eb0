/** What an organization stores in the database is counted by room: exactly, refused at the limit, and with a neighbour untouched. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { decodeId } from '#src/platform/ids.ts'
import { foldStoredBytes, recountStoredBytes } from '#src/platform/metrics/rooms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({
    settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_ORG_DEFINITIONS_MB: '1', BERTH_ORG_ANSWERS_MB: '1' },
  })
  token = await berth.token()
})
afterAll(() => berth.stop())

const create = (one: string, headers: Record<string, string> = {}) =>
  berth.call<{ id: string; error?: { message: string } }>('POST', '/agents/v1/agents', {
    token: one,
    headers,
    body: { name: 'a', model: 'demo', system: 'x'.repeat(90_000) },
  })

test('agents fill their room, one more is refused in its envelope, a neighbour is served, and deleting makes room', async () => {
  const made: string[] = []
  let last = await create(token)
  for (; last.status === 201 && made.length < 30; last = await create(token)) made.push(last.body.id)
  expect(last).toMatchObject({
    status: 429,
    body: { error: { message: expect.stringMatching(/agents.*1 MB.*BERTH_ORG_DEFINITIONS_MB.*Delete/) } },
  })
  expect((await create(await berth.token('bob', 'other'))).status).toBe(201)
  for (const id of made.slice(0, 2)) await berth.call('DELETE', `/agents/v1/agents/${id}`, { token })
  expect((await create(token)).status).toBe(201)
  expect(await recountStoredBytes(berth.services.db)).toBe(0)
})

test('a transaction that is rolled back, and folding, leave the counts true; a wrong one is healed', async () => {
  const { db } = berth.services
  await expect(
    transaction(db, async (tx) => {
      await change(tx, sql`delete from agents`)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await foldStoredBytes(db)
  expect(await recountStoredBytes(db)).toBe(0)
  await change(db, sql`update stored_bytes set bytes = bytes + 5 where room = 'definitions'`)
  expect(await recountStoredBytes(db)).toBeGreaterThan(0)
  expect(await recountStoredBytes(db)).toBe(0)
})

test('whatever would store more in a full room is refused, over REST and GraphQL', async () => {
  const one = await berth.token('carol', 'full')
  const { body } = await berth.ask('{ viewer { organization { id } } }', { token: one })
  const { id: organizationId } = (body.data as { viewer: { organization: { id: string } } }).viewer.organization
  const post = <Body = { id: string }>(path: string, given: unknown, headers: Record<string, string> = {}) =>
    berth.call<Body>('POST', path, { token: one, body: given, headers })
  const { body: agent } = await post('/agents/v1/agents', { name: 'a', model: 'berth/demo' })
  const { body: vault } = await post('/agents/v1/vaults', { display_name: 'v' })
  const uuid = decodeId('organization', organizationId)
  for (const room of ['answers', 'definitions', 'transcripts', 'logs'])
    await change(
      berth.services.db,
      sql`insert into stored_bytes (organization_id, room, part, bytes) values (${uuid}, ${room}, -1, ${64 * 1024 ** 4})`,
    )
  const kickoff = 'x'
  const schedule = { cron: '0 9 * * *', timezone: 'UTC', agent: agent.id, kickoff }
  const auth = { type: 'static_bearer', mcp_server_url: 'https://a.example', token: 'b' }
  const refusals: readonly [path: string, given: unknown, setting: string][] = [
    ['/agents/v1/agents', { name: 'b', model: 'berth/demo' }, 'DEFINITIONS'],
    ['/agents/v1/environments', { name: 'e', config: { type: 'cloud' } }, 'DEFINITIONS'],
    ['/agents/v1/deployments', { name: 'd', agent: agent.id, kickoff }, 'DEFINITIONS'],
    ['/agents/v1/schedules', schedule, 'DEFINITIONS'],
    ['/agents/v1/vaults', { display_name: 'w' }, 'DEFINITIONS'],
    [`/agents/v1/vaults/${vault.id}`, { display_name: 'w' }, 'DEFINITIONS'],
    [`/agents/v1/vaults/${vault.id}/credentials`, { display_name: 'c', auth }, 'DEFINITIONS'],
    ['/agents/v1/memories', { body: 'm', idempotency_key: 'k' }, 'DEFINITIONS'],
    ['/api/v1/vms', {}, 'DEFINITIONS'],
    ['/agents/v1/sessions', { agent: agent.id }, 'TRANSCRIPTS'],
    ['/agents/v1/runs', { agent: agent.id, input: 'x' }, 'TRANSCRIPTS'],
    ['/api/v1/build/jobs', { org_id: organizationId, spec: [...Buffer.from('{}')] }, 'LOGS'],
  ]
  await until('the look at the room of sessions, from before it was full, is over', async () => {
    return (await post('/agents/v1/sessions', { agent: agent.id })).status === 429
  })
  for (const [path, given, setting] of refusals) {
    const { status, body: said } = await post<unknown>(path, given)
    expect([path, status, JSON.stringify(said)]).toEqual([
      path,
      429,
      expect.stringContaining(`BERTH_ORG_${setting}_MB`),
    ])
  }
  expect((await post<unknown>('/agents/v1/agents', { name: 'b' }, { 'idempotency-key': 'k' })).status).toBe(429)
  for (const operation of [
    'createFunction(input: { name: "f" }) { function { id } }',
    'createVm(input: {}) { vm { id } }',
    'createAgent(input: { name: "b", model: { id: "berth/demo" } }) { agent { id } }',
  ]) {
    const { body: answer } = await berth.ask(`mutation { ${operation} }`, { token: one })
    expect([operation, answer.errors]).toMatchObject([operation, [{ extensions: { code: 'RATE_LIMITED' } }]])
  }
  expect((await berth.call('DELETE', `/agents/v1/vaults/${vault.id}`, { token: one })).status).toBe(204)
})

/** How many environments of an organization may be on their way at once: in requests the rest are refused, sessions wait for their turn. */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, sql, transaction } from '#src/platform/postgres.ts'
import { moveEnvironment } from '#src/resources/agents/environments/states.ts'
import { ensureEnvironmentVm } from '#src/resources/agents/environments/vms.ts'
import { callAgents } from '../support/agents-service.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode } from '../support/makers.ts'
import { until } from '../support/until.ts'

type Run = { session_id: string; sandbox_id: string | null }

const most = limits.environmentsInFlightMax

let berth: Berth
let token: string
let organizations = 0
beforeAll(async () => {
  berth = await startBerth()
  await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())
beforeEach(async () => {
  token = await berth.token('alice', `fleet-${organizations++}`, 'owner')
})

const call = <Body = Run>(method: string, path: string, body?: unknown, as = token): Promise<Answer<Body>> =>
  callAgents<Body>(berth, as, method, path, body)
const run = (as = token): Promise<Answer<Run>> => call('POST', '/runs', { mode: 'computer' }, as)
const inFlight = async (): Promise<string[]> =>
  (
    await findAll<{ id: string }>(
      berth.services.db,
      sql`select id from environments where organization_id = ${idsOf(token).organizationId} and status = 'provisioning' order by id`,
    )
  ).map(({ id }) => id)
const settle = async (id: string | undefined, to: 'ready' | 'error'): Promise<unknown> =>
  transaction(berth.services.db, (tx) => moveEnvironment(tx, id ?? '', to))
const sessions = async (): Promise<number> => (await call<{ data: unknown[] }>('GET', '/sessions')).body.data.length
const refused = {
  status: 429,
  body: {
    type: 'error',
    error: {
      type: 'rate_limit_error',
      code: 'rate_limited',
      message: `${most} environments of this organization are starting, which is the limit. Try again when one of them is ready.`,
    },
  },
}

test(`of many concurrent runs ${most} start an environment; the others are told when to retry, and nothing of them is started`, async () => {
  const answers = await Promise.all(Array.from({ length: most + 4 }, () => run()))
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(most)
  for (const answer of answers.filter(({ status }) => status !== 202)) {
    expect(answer).toMatchObject(refused)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await inFlight()).toHaveLength(most)
  expect(await sessions()).toBe(most)
  expect(
    (await berth.ask('mutation { createRun(input: {mode: COMPUTER}) { sessionId } }', { token })).body,
  ).toMatchObject({
    errors: [{ message: refused.body.error.message, extensions: { code: 'RATE_LIMITED', http: { status: 429 } } }],
  })
  expect((await run(await berth.token('bob', 'another-fleet', 'owner'))).status).toBe(202)
  expect((await call('POST', '/runs', { mode: 'chat' })).status).toBe(202)
})

test('there is room again when one is ready, in error, or deleted with its session', async () => {
  const began: string[] = []
  for (let i = 0; i < most; i++) began.push((await run()).body.session_id)
  for (const free of [
    async () => settle((await inFlight())[0], 'ready'),
    async () => settle((await inFlight())[0], 'error'),
    async () => call('DELETE', `/sessions/${began.at(-1)}`),
  ]) {
    expect(await run()).toMatchObject(refused)
    await free()
    expect((await run()).status).toBe(202)
  }
  expect(await inFlight()).toHaveLength(most)
})

test('an environment that is already starting does not count again', async () => {
  for (let i = 0; i < most - 1; i++) await run()
  const environment = (await call<{ id: string }>('POST', '/environments', { name: 'shared' })).body.id
  for (let i = 0; i < 3; i++)
    expect((await call('POST', '/runs', { builtin: 'coder', environment_id: environment })).status).toBe(202)
  expect(await run()).toMatchObject(refused)
})

test('a session that needs its environment waits for its turn instead', async () => {
  for (let i = 0; i < most; i++) await run()
  // Nobody looks again after 5 s: what goes on was notified.
  const startTimer = globalThis.setTimeout
  let later = 0
  const spied = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
    if (ms !== 5_000) return startTimer(work, ms)
    later += 1
    return startTimer(work, 3_600_000)
  }) as typeof setTimeout) // only the form that is called here
  onTestFinished(() => spied.mockRestore())
  const id =
    decodeId('environment', (await call<{ id: string }>('POST', '/environments', { name: 'patient' })).body.id) ?? ''
  const leaving = new AbortController()
  const using = ensureEnvironmentVm(berth.services, id, { signal: leaving.signal })
  using.catch(() => undefined) // awaited below
  await until(
    'it has asked',
    async () =>
      (await findAll(berth.services.db, sql`select 1 from environments where id = ${id} and used_at > created_at`))
        .length === 1,
  )
  expect(await call<{ vm_id: null }>('GET', `/environments/${encodeId('environment', id)}`)).toMatchObject({
    body: { status: 'ready', vm_id: null },
  })
  await settle((await inFlight())[0], 'ready')
  await until('it is on its way', async () => (await inFlight()).includes(id))
  expect(later).toBeGreaterThan(0)
  leaving.abort(new Error('enough'))
  await expect(using).rejects.toThrow('enough')
})

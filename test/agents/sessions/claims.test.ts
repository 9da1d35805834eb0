/** Who works on a session: one at a time, a late one is refused, and a worker that is killed is followed by the next. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import {
  heartbeat,
  claimSession,
  ClaimLost,
  holdSession,
  requeueStalledSessions,
  takeOverSessions,
  type Claimed,
} from '#src/resources/agents/sessions/claims.ts'
import { appendEvents } from '#src/resources/agents/sessions/log.ts'
import { agentSessions, textOf, types, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'

const node = '01890000-0000-7000-8000-000000000001'
const other = '01890000-0000-7000-8000-000000000002'

let berth: Berth
let sessions: AgentSessions
let agent: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } }) // without a worker: the tests are the workers
  sessions = agentSessions(berth, await berth.token())
  agent = await sessions.agent()
})
afterAll(() => berth?.stop())

const uuid = (id: string): string => decodeId('session', id) ?? ''
const claim = (id: string, by = node): Promise<Claimed | undefined> =>
  transaction(berth.services.db, (tx) => claimSession(tx, uuid(id), by))
const fallSilent = (id: string): Promise<number> =>
  change(
    berth.services.db,
    sql`update sessions set step_beat_at = now() - interval '13 seconds' where id = ${uuid(id)}`,
  )
const write = (held: Claimed, release = true): Promise<unknown> =>
  transaction(berth.services.db, async (tx) => {
    await holdSession(tx, held.claim, { release })
    return appendEvents(tx, held.session.id, [{ type: 'agent.message', data: { content: [] } }])
  })
const jobsOf = async (id: string): Promise<number> =>
  Number(
    (
      await sql<{
        count: string
      }>`select count(*) from pgboss.job where name = 'sessions-step' and data ->> 'sessionId' = ${uuid(id)} and state = 'created'`.execute(
        berth.services.db,
      )
    ).rows[0]?.count,
  )

test('one worker has a session; another gets it when the claim is released or its worker is silent', async () => {
  const id = await sessions.begin(agent, 'hello')
  const [one, two] = await Promise.all([claim(id), claim(id, other)])
  const [first] = [one, two].filter((held) => held !== undefined)
  expect([one, two].filter(Boolean)).toHaveLength(1)
  expect(first).toMatchObject({ wasLost: false, tries: 1 })
  expect(await claim(id)).toBeUndefined()
  await fallSilent(id)
  const next = await claim(id, other)
  expect(next).toMatchObject({ wasLost: true, tries: 2 })
  expect(next?.claim.fence).toBeGreaterThan(first?.claim.fence ?? 0)
  await write(next!) // it was claimed just now
  expect(await claim(id)).toMatchObject({ wasLost: false, tries: 1 })
})

test('what a worker writes after another has claimed its session is refused, and nothing of it is stored', async () => {
  const id = await sessions.begin(agent, 'hello')
  const late = await claim(id)
  await fallSilent(id)
  await claim(id, other)
  await expect(write(late!)).rejects.toThrow(ClaimLost)
  await expect(heartbeat(berth.services.db, late!.claim)).rejects.toThrow(ClaimLost)
  expect(types(await sessions.log(id))).not.toContain('agent.message')
})

test('a session without a worker or a job gets a new job, and immediately when its worker restarts', async () => {
  const id = await sessions.begin(agent, 'hello')
  await claim(id)
  const before = await jobsOf(id)
  await requeueStalledSessions(berth.services)
  expect(await jobsOf(id)).toBe(before) // its worker lives
  await fallSilent(id)
  await requeueStalledSessions(berth.services)
  expect(await jobsOf(id)).toBe(before + 1)
  await claim(id)
  await takeOverSessions(berth.services, other)
  expect(await jobsOf(id)).toBe(before + 1) // not the worker of that node
  await takeOverSessions(berth.services, node)
  expect(await jobsOf(id)).toBe(before + 2)
  expect(await claim(id)).toMatchObject({ wasLost: true })
})

test('when a worker is killed in the middle of an answer, the next one continues, and the log says so', async () => {
  const settings = {
    BERTH_VMS: 'off',
    BERTH_DATA_DIR: berth.dataDir,
    DATABASE_URL: berth.services.database.url,
    PORT: String(await freePort()),
    BERTH_LOG_LEVEL: 'error',
  }
  let worker: Command = startCommand(['workers/main.ts'], settings)
  try {
    const id = await sessions.begin(agent, '!pace 300\n!repeat 6 word')
    await until('the model is asked', async () => types(await sessions.log(id)).includes('span.model_request_start'))
    worker.child.kill('SIGKILL')
    await worker.ended
    expect(types(await sessions.log(id))).not.toContain('agent.message')
    worker = startCommand(['workers/main.ts'], settings)
    const log = await sessions.rested(id)
    expect(types(log)).toEqual([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'span.model_request_end',
      'session.status_rescheduled',
      'session.status_running',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ])
    expect(textOf(log[7])).toBe('word'.repeat(6))
    expect([log[3]?.['is_error'], log[8]?.['is_error']]).toEqual([true, false])

    const stopped = await sessions.begin(agent, '!pace 300\n!repeat 6 word')
    await until('the model is asked', async () =>
      types(await sessions.log(stopped)).includes('span.model_request_start'),
    )
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toBe(0)
    worker = startCommand(['workers/main.ts'], settings)
    expect(types(await sessions.rested(stopped)).filter((type) => type === 'agent.message')).toHaveLength(1)
  } finally {
    worker.child.kill('SIGKILL')
    await worker.ended
  }
}, 60_000)

test('a session that is claimed too often without progress ends its turn, and open calls get results', async () => {
  const settings = {
    BERTH_VMS: 'off',
    BERTH_DATA_DIR: berth.dataDir,
    DATABASE_URL: berth.services.database.url,
    PORT: String(await freePort()),
    BERTH_LOG_LEVEL: 'error',
  }
  const id = await sessions.begin(await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }] }), 'hello')
  await transaction(berth.services.db, (tx) =>
    appendEvents(tx, uuid(id), [
      { type: 'agent.tool_use', data: { name: 'bash', input: {}, evaluated_permission: 'allow' } },
    ]),
  )
  await change(berth.services.db, sql`update sessions set step_tries = 50 where id = ${uuid(id)}`)
  const worker = startCommand(['workers/main.ts'], settings)
  try {
    const log = await sessions.rested(id)
    expect(types(log).slice(2)).toEqual([
      'agent.tool_use',
      'agent.tool_result',
      'session.error',
      'session.usage',
      'session.status_idle',
    ])
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'retries_exhausted' } })
  } finally {
    worker.child.kill('SIGKILL')
    await worker.ended
  }
})

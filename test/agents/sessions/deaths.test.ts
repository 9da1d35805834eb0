/**
 * A worker that dies at any of its statements: the next one brings the session to the end that it would have come to.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { runStep } from '#workers/agents/session-steps.ts'
import { agentSessions, textOf, types, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { closeMortals, mortalWorker, type Life } from '../mortal-worker.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'

const stepsMax = 40
const togetherMax = 30

let berth: Berth
let tools: TestMcpServer
/** How often the tool was called, by its numbers. */
const calls = new Map<string, number>()
beforeAll(async () => {
  tools = await startMcpServer()
  tools.intercept = (_req, _res, body) => {
    const { method, params } = (body ? JSON.parse(body) : {}) as {
      method?: string
      params?: { arguments: { a: number; b: number } }
    }
    if (method === 'tools/call' && params) {
      const name = `${params.arguments.a} ${params.arguments.b}`
      calls.set(name, (calls.get(name) ?? 0) + 1)
    }
    return false
  }
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_PRIVATE_HOSTS: tools.hostPort } })
  setLogLevel('silent') // the dying have much to say
})
afterAll(async () => {
  await closeMortals()
  await berth?.stop()
  await tools?.close()
})

/** An agent with a tool that is called, and one that its client answers. */
const definition = () => ({
  mcp_servers: [{ type: 'url', name: 'tools', url: tools.url }],
  tools: [
    {
      type: 'mcp_toolset',
      mcp_server_name: 'tools',
      default_config: { enabled: true, permission_policy: { type: 'always_allow' } },
    },
    { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } },
  ],
})

/**
 * Brings a session to its end by a worker that dies after so many statements, and by the next one; the client answers what it is asked.
 * Its organization is its own, so that what a dead process has in hand of one's money keeps no other waiting.
 */
async function runToEnd(number: number, statements: number): Promise<{ log: Event[]; life: Life }> {
  const worker = mortalWorker(berth.services, statements)
  const { life } = worker
  const sessions = agentSessions(berth, await berth.token(`alice-${number}`, `mortal-${number}`))
  const id = await sessions.begin(
    await sessions.agent(definition()),
    `!tool mcp__tools__add {"a":${number},"b":1}\n!tool+ mcp__tools__add {"a":${number},"b":2}\n!tool ask {}\n!say done`,
  )
  const uuid = decodeId('session', id) ?? ''
  const [first, next] = [newUuid(), newUuid()]
  const never = new AbortController().signal
  for (let step = 0; step < stepsMax; step++) {
    const { status, stop_reason: stopped } = await sessions.get(id)
    if (status === 'idle' && stopped?.type !== 'requires_action') return { log: await sessions.log(id), life }
    if (status === 'idle') {
      const answers = (stopped?.event_ids ?? []).map((use) => ({
        type: 'user.custom_tool_result',
        custom_tool_use_id: use,
        content: [{ type: 'text', text: 'yes' }],
      }))
      await sessions.send(id, ...answers)
    }
    if (life.sent > life.statements) {
      await change(
        berth.services.db,
        sql`update sessions set step_beat_at = now() - interval '1 minute' where id = ${uuid} and step_beat_at is not null`,
      )
      await runStep(berth.services, next, uuid, never)
    } else {
      const running = runStep(worker, first, uuid, never).catch((error: unknown) => {
        if (life.sent <= life.statements) throw error // it did not die
      })
      await Promise.race([running, life.over.promise]) // what a dead one still tries comes to nothing
    }
  }
  throw new Error(`the session did not come to rest: ${types(await sessions.log(id)).join(' ')}`)
}

const ofType = (log: readonly Event[], type: string): Event[] => log.filter((event) => event.type === type)

function expectTheEnd(number: number, log: readonly Event[]): void {
  expect(log.at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { type: 'end_turn' } })
  expect(log.filter(({ processed_at: processedAt }) => processedAt === null)).toEqual([])
  expect(ofType(log, 'agent.message').map(textOf)).toEqual(['done'])
  const uses = ofType(log, 'agent.mcp_tool_use')
  const results = ofType(log, 'agent.mcp_tool_result')
  expect(uses.map(({ input }) => input)).toEqual([1, 2].map((b) => ({ a: number, b })))
  expect(results).toHaveLength(2)
  for (const [at, { id }] of uses.entries()) {
    const result = results.find((one) => one['mcp_tool_use_id'] === id)
    const made = calls.get(`${number} ${at + 1}`) ?? 0
    if (result?.['is_error'] === true) {
      expect(textOf(result)).toContain('cut off by a fault')
      expect(made).toBeLessThanOrEqual(1)
    } else expect([textOf(result), made]).toEqual([String(number + at + 1), 1])
  }
  expect(ofType(log, 'agent.custom_tool_use')).toHaveLength(1)
  expect(ofType(log, 'user.custom_tool_result')).toHaveLength(1)
  const ends = ofType(log, 'span.model_request_end')
  expect(ends.map((end) => end['model_request_start_id'])).toEqual(
    ofType(log, 'span.model_request_start').map(({ id }) => id),
  )
  expect(ends.filter((end) => end['is_error'] === false)).toHaveLength(3) // the tools, the question, the end
}

test('a session whose worker dies comes to the same end at whichever statement it died, and no tool is called twice', async () => {
  const whole = await runToEnd(0, Infinity)
  expectTheEnd(0, whole.log)
  expect(types(whole.log)).not.toContain('session.status_rescheduled')
  let [died, outlived, rescheduled] = [0, 0, 0]
  while (outlived === 0) {
    const together = Array.from({ length: togetherMax }, (_, at) => died + at) // until one has no statement left to die at
    const ends = await Promise.all(together.map(async (at) => [at + 1, await runToEnd(at + 1, at)] as const))
    await closeMortals() // Postgres has no connections for all of them
    for (const [number, { log, life }] of ends) {
      if (life.sent > life.statements) died++
      else outlived++
      expectTheEnd(number, log)
      if (types(log).includes('session.status_rescheduled')) rescheduled++
    }
  }
  expect(died).toBeGreaterThan(2 * whole.log.length) // each event takes several statements
  expect(rescheduled).toBeGreaterThan(0)
}, 120_000)

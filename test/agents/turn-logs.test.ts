/** What a step reads of a log: it decides as the whole log does, and does not grow with it. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { conversationOf } from '#src/resources/agents/turns/conversations.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { readConversation, readTurnLog } from '#src/resources/agents/turns/logs.ts'
import {
  failuresInARow,
  modelStepsOf,
  nextStep,
  openSpan,
  stoppedMessages,
  turnIdOf,
  turnLimits,
  type NextStep,
} from '#src/resources/agents/turns.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import { append, makeSessionRow, readWholeLog, take } from '../support/sessions.ts'

let app: RunningApp
let token: string
beforeAll(async () => {
  app = await startApp()
  token = await app.token()
})
afterAll(() => app.stop())

const content = [{ type: 'text', text: 'words' }]
const idle = (type: string): NewEvent => ({ type: 'session.status_idle', data: { stop_reason: { type } } })
const use = (type: NewEvent['type'], permission: string): NewEvent => ({
  type,
  data: { name: 'bash', input: {}, evaluated_permission: permission },
})

/** Something that is appended; an answer, to which of the tool uses; or which of what clients sent is taken. -1 is the last one. */
type Step = NewEvent | { answers: number; type: string; result: string } | { takes: number[] }

const plain = fc.constantFrom<NewEvent>(
  { type: 'user.message', data: { content } },
  { type: 'user.define_outcome', data: { description: 'd', rubric: { content: 'r' } } },
  { type: 'system.message', data: { content } },
  { type: 'user.interrupt' },
  { type: 'span.model_request_start' },
  { type: 'span.model_request_end', data: { is_error: false } },
  { type: 'span.model_request_end', data: { is_error: true } },
  { type: 'agent.message', data: { content } },
  use('agent.tool_use', 'allow'),
  use('agent.tool_use', 'ask'),
  use('agent.mcp_tool_use', 'deny'),
  use('agent.custom_tool_use', 'allow'),
  { type: 'session.error', data: { error: { type: 'model_overloaded_error' } } },
  { type: 'session.error', data: { error: { type: 'mcp_connection_failed_error' } } },
  { type: 'session.status_running' },
  idle('end_turn'),
  idle('requires_action'),
  idle('retries_exhausted'),
  { type: 'agent.thread_context_compacted' },
  { type: 'session.usage' },
)
const answer = fc.record({
  answers: fc.nat(),
  type: fc.constantFrom('agent.tool_result', 'user.custom_tool_result', 'user.tool_confirmation'),
  result: fc.constantFrom('allow', 'deny'),
})
const taking = fc.record({ takes: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }) })
/** What belongs together, so that what decides is often left behind what was settled. */
const scene = fc.constantFrom<Step[]>(
  ...['end_turn', 'requires_action'].map((stop): Step[] => [
    { type: 'user.message', data: { content } },
    { takes: [-1] },
    { type: 'session.status_running' },
    { type: 'span.model_request_start' },
    { type: 'span.model_request_end', data: { is_error: false } },
    idle(stop),
  ]),
  [{ type: 'span.model_request_start' }, idle('retries_exhausted')],
  [use('agent.tool_use', 'ask'), { answers: -1, type: 'user.tool_confirmation', result: 'deny' }, { takes: [-1] }],
  [
    { type: 'session.error', data: { error: { type: 'model_overloaded_error' } } },
    idle('requires_action'),
    { type: 'user.message', data: { content } },
    { takes: [-1] },
    { type: 'span.model_request_start' },
  ],
)
const one = fc.oneof(
  { weight: 5, arbitrary: plain },
  { weight: 3, arbitrary: answer },
  { weight: 3, arbitrary: taking },
)
const history = fc
  .array(fc.oneof({ weight: 4, arbitrary: one.map((step): Step[] => [step]) }, { weight: 2, arbitrary: scene }), {
    maxLength: 20,
    size: 'max',
  })
  .map((parts) => parts.flat())

/** Writes the history as far as it can be: a tool use has an answer of a type once. */
async function write(id: string, steps: readonly Step[]): Promise<void> {
  const { db } = app.services
  const uses: string[] = []
  const queued: string[] = []
  const answered = new Set<string>()
  for (const step of steps) {
    if ('takes' in step) {
      await take(db, id, ...step.takes.flatMap((at) => queued.at(at < 0 ? at : at % queued.length) ?? []))
      continue
    }
    const to = 'answers' in step ? uses.at(step.answers < 0 ? step.answers : step.answers % uses.length) : undefined
    if ('answers' in step && (!to || answered.has(`${to} ${step.type}`))) continue
    answered.add(`${to} ${step.type}`)
    const [event] = await append(
      db,
      id,
      'answers' in step
        ? {
            type: step.type,
            data: { tool_use_id: encodeId('sessionEvent', to ?? ''), result: step.result, content, is_error: false },
          }
        : step,
    )
    if (!event) throw new Error('nothing was appended')
    if (event.type.endsWith('tool_use')) uses.push(event.id)
    if (event.processedAt === null) queued.push(event.id)
  }
}

/** A decision, without the data of what it is about. */
function shape(step: NextStep<SessionEvent>): unknown {
  const ids = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id)
  const open = 'open' in step ? step.open : step.do === 'call' ? [...step.run, ...step.refuse] : []
  return {
    ...step,
    take: ids(step.take),
    open: open.map(({ event, ...rest }) => ({ ...rest, id: event.id, data: event.data })),
    run: undefined,
    refuse: undefined,
  }
}

test('for any log, the part that a step reads leads to the same decision and the same conversation as the whole log', async () => {
  const { db } = app.services
  await fc.assert(
    fc.asyncProperty(history, fc.boolean(), fc.boolean(), async (steps, toolsRunAtClient, isLate) => {
      const id = await makeSessionRow(db, token)
      await write(id, steps)
      const [whole, part] = [await readWholeLog(db, id), await readTurnLog(db, id)]
      const facts = {
        toolsRunAtClient,
        awaited: new Set<string>(),
        isBudgetReached: false,
        openOutcome: null,
        fullRoom: null,
        nowMs: Date.now() + (isLate ? turnLimits.turnSeconds * 1000 + 60_000 : 0),
      }
      expect(shape(nextStep(part, facts))).toEqual(shape(nextStep(whole, facts)))
      const rest = (log: readonly SessionEvent[]): unknown => [
        openSpan(log)?.id,
        failuresInARow(log),
        turnIdOf(log),
        modelStepsOf(log),
        stoppedMessages(log).map((event) => event.id),
      ]
      expect(rest(part)).toEqual(rest(whole))
      const order = {
        system: 's',
        model: 'm',
        seesImages: true,
        readsPdf: true,
        reasoning: new Map(),
        nameOf: () => 'bash',
      }
      expect(conversationOf(await readConversation(db, id), order)).toEqual(conversationOf(whole, order))
    }),
    { numRuns: 300 },
  )
}, 120_000)

test('settled turns are not read again, and of the current one only what decides', async () => {
  const { db } = app.services
  const id = await makeSessionRow(db, token)
  const turn = async (): Promise<void> => {
    const [message] = await append(
      db,
      id,
      { type: 'user.message', data: { content } },
      { type: 'session.status_running' },
      { type: 'span.model_request_start' },
      { type: 'span.model_request_end', data: { is_error: false } },
      use('agent.tool_use', 'allow'),
    )
    await take(db, id, message?.id ?? '')
    const used = (await readWholeLog(db, id)).at(-1)
    await append(db, id, {
      type: 'agent.tool_result',
      data: { tool_use_id: encodeId('sessionEvent', used?.id ?? ''), content },
    })
  }
  for (let i = 0; i < 20; i++) {
    await turn()
    await append(db, id, idle('end_turn'))
  }
  await turn()
  const part = await readTurnLog(db, id)
  expect(part.length).toBeLessThan(15)
  expect((await readWholeLog(db, id)).length).toBeGreaterThan(140)
  expect(
    part.filter(({ type }) => type === 'user.message' || type === 'agent.tool_result').map(({ data }) => data),
  ).toEqual(expect.arrayContaining([{}]))
  expect(JSON.stringify(part)).not.toContain('words')
})

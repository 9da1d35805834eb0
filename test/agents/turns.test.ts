/** What a session does next: for any log, cut off anywhere, whoever goes on comes to the same end. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import { errorEvent, endOfOpenSpan, resultEvent, spanEnd } from '#src/resources/agents/turns/step-events.ts'
import { failuresInARow, nextStep, openSpan, turnLimits, type TurnEvent } from '#src/resources/agents/turns.ts'
import { answered, failed } from '#src/resources/agents/tools/results.ts'

const facts = { toolsRunAtClient: false, isBudgetReached: false, openOutcome: null, nowMs: 0 }
const noUsage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

/** A log in memory, written as session-log.ts writes it. */
class Log {
  events: TurnEvent[] = []
  /** The log after each write. */
  readonly committed: TurnEvent[][] = []
  #position = 0
  restore(events: TurnEvent[]): void {
    this.events = events
    this.#position = Math.max(0, ...events.flatMap(({ position, takenPosition }) => [position, takenPosition ?? 0]))
  }
  append(...events: NewEvent[]): TurnEvent[] {
    const stored = events.map(({ type, data = {}, id = newUuid() }): TurnEvent => {
      const queued = type.startsWith('user.') || type === 'system.message'
      const to = (data['tool_use_id'] ?? data['custom_tool_use_id'] ?? data['mcp_tool_use_id'] ?? '') as string
      return {
        id,
        type,
        data,
        answers: to === '' ? null : (idOf.get(to) ?? null),
        processedAt: queued ? null : '1970-01-01T00:00:00.000Z',
        position: ++this.#position,
        takenPosition: null,
      }
    })
    for (const { id } of stored) idOf.set(encodeId('sessionEvent', id), id)
    this.events = [...this.events, ...stored]
    this.committed.push(this.events)
    return stored
  }
  take(events: readonly TurnEvent[]): void {
    const taken = new Set(events.filter(({ processedAt }) => processedAt === null).map(({ id }) => id))
    this.events = this.events.map((event) =>
      taken.has(event.id)
        ? { ...event, processedAt: '1970-01-01T00:00:00.000Z', takenPosition: ++this.#position }
        : event,
    )
  }
}
const idOf = new Map<string, string>()

/** What the model says at each of its answers: so many calls of tools that run, are asked for, or are the client's. */
type Plan = readonly { calls: readonly ('allow' | 'ask' | 'custom')[] }[]
/** Where the worker dies: before it began, after it began, in the middle of its calls; or not. */
type Death = 'begin' | 'begun' | 'half' | null

/** The loop as the worker runs it, without anything around it: each step's two transactions are whole or not at all. */
class Loop {
  readonly log = new Log()
  /** Effects of tools, by the id of the use: as the guest counts them. */
  readonly effects = new Map<string, number>()
  status: 'idle' | 'running' = 'running'
  readonly #plan: Plan
  constructor(plan: Plan) {
    this.#plan = plan
    this.log.append({ type: 'user.message', data: { content: [] } }, { type: 'session.status_running' })
  }

  step(death: Death): void {
    const { log } = this
    const step = nextStep(log.events, facts)
    if (death === 'begin') return
    if (step.do === 'ask') {
      log.append(...endOfOpenSpan(log.events))
      log.take(step.take)
      const [span] = log.append({ type: 'span.model_request_start' })
      if (death !== null) return
      const answers = log.events.filter(
        ({ type, data }) => type === 'span.model_request_end' && data['is_error'] === false,
      ).length
      const calls = this.#plan[answers]?.calls ?? []
      log.append(
        spanEnd(span?.id ?? '', false, noUsage),
        ...calls.map(
          (kind): NewEvent =>
            kind === 'custom'
              ? { type: 'agent.custom_tool_use', data: { name: 'c', input: {} } }
              : { type: 'agent.tool_use', data: { name: 't', input: {}, evaluated_permission: kind } },
        ),
      )
      return this.#rest()
    }
    if (step.do === 'call') {
      log.take(step.take)
      for (const [place, { event }] of step.run.entries()) {
        if (!this.effects.has(event.id)) this.effects.set(event.id, 1) // the guest starts an id once
        if (death === 'half' && place >= step.run.length / 2) return
        if (death !== 'begun' || place > 0) log.append(resultEvent(event, answered('ok')))
        if (death === 'begun') return
      }
      log.append(...step.refuse.map(({ event }) => resultEvent(event, failed('denied'))))
    }
    this.#rest()
  }

  /** What finishStep does last. */
  #rest(): void {
    const next = nextStep(this.log.events, facts)
    if (next.do !== 'rest') return
    this.log.take(next.take)
    this.log.append({ type: 'session.status_idle', data: { stop_reason: next.stopReason } })
    this.status = 'idle'
  }

  /** The client answers everything that it is waited for. */
  answer(): boolean {
    const next = nextStep(this.log.events, facts)
    if (next.do !== 'rest' || next.stopReason.type !== 'requires_action') return false
    this.log.append(
      ...next.stopReason.event_ids.map((id): NewEvent => {
        const use = this.log.events.find((event) => event.id === idOf.get(id))
        return use?.type === 'agent.custom_tool_use'
          ? { type: 'user.custom_tool_result', data: { custom_tool_use_id: id, content: [] } }
          : { type: 'user.tool_confirmation', data: { tool_use_id: id, result: 'allow' } }
      }),
      { type: 'session.status_running' },
    )
    this.status = 'running'
    return true
  }
}

const stepsMax = 200
function runToEnd(plan: Plan, deaths: readonly Death[]): Loop {
  return finish(new Loop(plan), deaths)
}

function finish(loop: Loop, deaths: readonly Death[] = []): Loop {
  for (let at = 0; at < stepsMax; at++) {
    if (loop.status === 'running') loop.step(deaths[at] ?? null)
    else if (!loop.answer()) return loop
  }
  throw new Error('the session did not come to rest')
}

const plans = fc
  .array(
    fc.record({
      calls: fc.array(fc.constantFrom<('allow' | 'ask' | 'custom')[]>('allow', 'ask', 'custom'), { maxLength: 4 }),
    }),
    { maxLength: 6 },
  )
  .map((steps) => steps.filter(({ calls }) => calls.length > 0))
const deaths = fc.array(fc.constantFrom<Death[]>('begin', 'begun', 'half', null), { maxLength: 60 })

describe('a session whose worker dies anywhere', () => {
  test('comes to the same end as one whose worker never dies, and no tool has its effect twice', () => {
    fc.assert(
      fc.property(plans, deaths, (plan, dying) => {
        const whole = runToEnd(plan, [])
        const cut = runToEnd(plan, dying)
        const shape = ({ log }: Loop): string[] =>
          log.events
            .filter(
              ({ type, data }) =>
                type === 'agent.tool_use' ||
                type === 'agent.custom_tool_use' ||
                (type === 'span.model_request_end' && data['is_error'] === false),
            )
            .map(({ type }) => type)
        expect(shape(cut)).toEqual(shape(whole))
        expect(openSpan(cut.log.events)).toBeUndefined()
        const results = cut.log.events
          .filter(({ type }) => type === 'agent.tool_result' || type === 'user.custom_tool_result')
          .map(({ answers }) => answers)
        expect(new Set(results).size).toBe(results.length)
        expect(results).toHaveLength(plan.flatMap(({ calls }) => calls).length)
        expect(cut.log.events.every(({ processedAt }) => processedAt !== null)).toBe(true)
        expect(cut.effects.size).toBe(plan.flatMap(({ calls }) => calls).filter((kind) => kind !== 'custom').length)
        const starts = cut.log.events.filter(({ type }) => type === 'span.model_request_start').length
        expect(cut.log.events.filter(({ type }) => type === 'span.model_request_end')).toHaveLength(starts)
      }),
      { numRuns: 500 },
    )
  })

  test('goes on from any beginning of its log that was ever committed to the same end', () => {
    fc.assert(
      fc.property(plans, fc.nat(), (plan, at) => {
        const whole = runToEnd(plan, [])
        const beginnings = whole.log.committed
        const loop = new Loop(plan)
        loop.log.restore(beginnings[at % beginnings.length] ?? [])
        loop.status =
          loop.log.events.findLast(({ type }) => type.startsWith('session.status'))?.type === 'session.status_idle'
            ? 'idle'
            : 'running'
        const counts = ({ log }: Loop): unknown =>
          Object.fromEntries(
            ['agent.tool_use', 'agent.custom_tool_use', 'agent.tool_result', 'user.custom_tool_result'].map((type) => [
              type,
              log.events.filter((event) => event.type === type).length,
            ]),
          )
        expect(counts(finish(loop))).toEqual(counts(whole))
        expect(
          loop.log.events.filter(({ type, data }) => type === 'span.model_request_end' && data['is_error'] === false),
        ).toHaveLength(plan.length + 1)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the next step', () => {
  const start = (): Log => {
    const log = new Log()
    log.append({ type: 'user.message', data: { content: [] } }, { type: 'session.status_running' })
    return log
  }
  const ask = (log: Log, ...more: NewEvent[]): void => {
    log.take(log.events)
    const [span] = log.append({ type: 'span.model_request_start' })
    log.append(spanEnd(span?.id ?? '', false, noUsage), ...more)
  }
  const use: NewEvent = { type: 'agent.tool_use', data: { name: 't', input: {}, evaluated_permission: 'allow' } }

  test('is to stop, before anything else', () => {
    const log = start()
    ask(log, use)
    log.append({ type: 'user.message', data: {} }, { type: 'user.interrupt' })
    expect(nextStep(log.events, facts)).toMatchObject({
      do: 'interrupt',
      take: [{ type: 'user.interrupt' }],
      open: [{ event: { type: 'agent.tool_use' } }],
    })
  })

  test('is to end the evaluation that has begun, whatever came since; but an interrupt ends it first', () => {
    const log = start()
    ask(log)
    const open = { ...facts, openOutcome: 'outc_1' }
    const begun: NewEvent = { type: 'span.outcome_evaluation_start', data: { outcome_id: 'outc_1', iteration: 0 } }
    log.append(begun, errorEvent('model_overloaded_error', 'x', 'retrying'), { type: 'user.message', data: {} })
    expect(nextStep(log.events, { ...open, isBudgetReached: true })).toMatchObject({ do: 'evaluate' })
    expect(nextStep(log.events, { ...open, openOutcome: 'outc_2' })).toMatchObject({ do: 'ask' }) // that one is gone
    expect(failuresInARow(log.events)).toBe(1)
    log.append({
      type: 'span.outcome_evaluation_end',
      data: { outcome_id: 'outc_1', result: 'needs_revision', explanation: 'x' },
    })
    expect(nextStep(log.events, open)).toMatchObject({ do: 'ask', take: [{ type: 'user.message' }] })
    expect(failuresInARow(log.events)).toBe(0) // the grader's are not the agent's
    log.append(begun, { type: 'user.interrupt' })
    expect(nextStep(log.events, open)).toMatchObject({ do: 'interrupt' })
  })

  test('is nothing after an interrupt, and the next message after that', () => {
    const log = start()
    ask(log)
    log.append({ type: 'session.status_idle', data: { stop_reason: { type: 'end_turn' } } })
    expect(nextStep(log.events, facts)).toMatchObject({ do: 'rest', stopReason: { type: 'end_turn' } })
    log.append({ type: 'user.message', data: {} })
    expect(nextStep(log.events, facts).do).toBe('ask')
  })

  test('is no request beyond the budget or the limit of a turn, and a message begins a new turn', () => {
    const log = start()
    expect(nextStep(log.events, { ...facts, isBudgetReached: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'budget_reached' },
    })
    for (let at = 0; at < turnLimits.modelSteps; at++) {
      ask(log, use)
      log.append(resultEvent(log.events.at(-1)!, answered('ok'))) // the use that was appended just now
    }
    expect(nextStep(log.events, facts)).toMatchObject({
      do: 'rest',
      stopReason: { type: 'retries_exhausted' },
      limit: expect.stringContaining('200 requests'),
    })
    log.append(
      { type: 'session.status_idle', data: { stop_reason: { type: 'retries_exhausted' } } },
      { type: 'user.message', data: {} },
    )
    log.take(log.events)
    expect(nextStep(log.events, facts).do).toBe('ask')
  })

  test('counts the faults of the request that is due, and no others', () => {
    const log = start()
    expect(failuresInARow(log.events)).toBe(0)
    log.append(
      errorEvent('model_overloaded_error', 'busy', 'retrying'),
      errorEvent('mcp_connection_failed_error', 'gone', 'retrying'),
      errorEvent('unknown_error', 'x', 'retrying'),
    )
    expect(failuresInARow(log.events)).toBe(2)
    ask(log)
    expect(failuresInARow(log.events)).toBe(0)
  })

  test('is to grade the open outcome after the last answer, once, also when a grader was lost, and not beyond the budget', () => {
    const log = start()
    const open = { ...facts, openOutcome: 'outc_a' }
    expect(nextStep(log.events, open).do).toBe('ask')
    ask(log)
    expect(nextStep(log.events, facts).do).toBe('rest')
    expect(nextStep(log.events, open).do).toBe('evaluate')
    expect(nextStep(log.events, { ...open, isBudgetReached: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'budget_reached' },
    })
    log.append({ type: 'span.outcome_evaluation_start', data: { outcome_id: 'outc_a' } })
    expect(nextStep(log.events, open).do).toBe('evaluate')
    log.append({ type: 'span.outcome_evaluation_end', data: { outcome_id: 'outc_a', result: 'satisfied' } })
    expect(nextStep(log.events, open).do).toBe('rest')
    expect(nextStep(log.events, { ...facts, openOutcome: 'outc_b' }).do).toBe('evaluate')
    log.append({ type: 'span.outcome_evaluation_end', data: { outcome_id: 'outc_b', result: 'needs_revision' } })
    expect(nextStep(log.events, { ...facts, openOutcome: 'outc_b' }).do).toBe('ask')
    log.append({ type: 'session.status_idle', data: { stop_reason: { type: 'end_turn' } } })
    expect(nextStep(log.events, open).do).toBe('rest')
  })

  test('waits for the client’s own machine to run its tools', () => {
    const log = start()
    ask(log, use)
    expect(nextStep(log.events, { ...facts, toolsRunAtClient: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'requires_action' },
    })
  })
})

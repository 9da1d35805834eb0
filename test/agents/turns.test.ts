/** What a session does next, by its log as it stands in Postgres. A worker that dies anywhere in it: sessions/deaths.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import { errorEvent, resultEvent, spanEnd } from '#src/resources/agents/turns/step-events.ts'
import { failuresInARow, nextStep, turnLimits } from '#src/resources/agents/turns.ts'
import { answered } from '#src/resources/agents/tools/results.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import { append, makeSessionRow, readWholeLog, take } from '../support/sessions.ts'

let app: RunningApp
let token: string
beforeAll(async () => {
  app = await startApp()
  token = await app.token()
})
afterAll(() => app.stop())

const facts = {
  toolsRunAtClient: false,
  awaited: new Set<string>(),
  isBudgetReached: false,
  openOutcome: null,
  fullRoom: null,
  nowMs: 0,
}
const noUsage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

/** A session's log in Postgres, written as the loop and its client write it; `events` as it stands there. */
class Log {
  events: SessionEvent[] = []
  readonly #id: string
  constructor(id: string) {
    this.#id = id
  }
  async append(...events: NewEvent[]): Promise<SessionEvent[]> {
    const stored = await append(app.services.db, this.#id, ...events)
    await this.#read()
    return stored
  }
  async take(events: readonly SessionEvent[]): Promise<void> {
    await take(
      app.services.db,
      this.#id,
      ...events.filter(({ processedAt }) => processedAt === null).map(({ id }) => id),
    )
    await this.#read()
  }
  async #read(): Promise<void> {
    this.events = await readWholeLog(app.services.db, this.#id)
  }
}

describe('the next step', () => {
  const start = async (): Promise<Log> => {
    const log = new Log(await makeSessionRow(app.services.db, token))
    await log.append({ type: 'user.message', data: { content: [] } }, { type: 'session.status_running' })
    return log
  }
  const ask = async (log: Log, ...more: NewEvent[]): Promise<void> => {
    await log.take(log.events)
    const [span] = await log.append({ type: 'span.model_request_start' })
    await log.append(spanEnd(span?.id ?? '', false, noUsage), ...more)
  }
  const use: NewEvent = { type: 'agent.tool_use', data: { name: 't', input: {}, evaluated_permission: 'allow' } }

  test('is an interrupt before anything else', async () => {
    const log = await start()
    await ask(log, use)
    await log.append({ type: 'user.message', data: {} }, { type: 'user.interrupt' })
    expect(nextStep(log.events, facts)).toMatchObject({
      do: 'interrupt',
      take: [{ type: 'user.interrupt' }],
      open: [{ event: { type: 'agent.tool_use' } }],
    })
  })

  test('is to end a running evaluation, whatever came since, unless an interrupt ends it first', async () => {
    const log = await start()
    await ask(log)
    const open = { ...facts, openOutcome: 'outc_1' }
    const begun: NewEvent = { type: 'span.outcome_evaluation_start', data: { outcome_id: 'outc_1', iteration: 0 } }
    await log.append(begun, errorEvent('model_overloaded_error', 'x', 'retrying'), { type: 'user.message', data: {} })
    expect(nextStep(log.events, { ...open, isBudgetReached: true })).toMatchObject({ do: 'evaluate' })
    expect(nextStep(log.events, { ...open, openOutcome: 'outc_2' })).toMatchObject({ do: 'ask' }) // that one is gone
    expect(failuresInARow(log.events)).toBe(1)
    await log.append({
      type: 'span.outcome_evaluation_end',
      data: { outcome_id: 'outc_1', result: 'needs_revision', explanation: 'x' },
    })
    expect(nextStep(log.events, open)).toMatchObject({ do: 'ask', take: [{ type: 'user.message' }] })
    expect(failuresInARow(log.events)).toBe(0) // the grader's are not the agent's
    await log.append(begun, { type: 'user.interrupt' })
    expect(nextStep(log.events, open)).toMatchObject({ do: 'interrupt' })
  })

  test('is nothing after an interrupt, and the next message after that', async () => {
    const log = await start()
    await ask(log)
    await log.append({ type: 'session.status_idle', data: { stop_reason: { type: 'end_turn' } } })
    expect(nextStep(log.events, facts)).toMatchObject({ do: 'rest', stopReason: { type: 'end_turn' } })
    await log.append({ type: 'user.message', data: {} })
    expect(nextStep(log.events, facts).do).toBe('ask')
  })

  test('is to wait for another agent once everything else is done, and then to take its answer in', async () => {
    const log = await start()
    const question: NewEvent = { ...use, data: { ...use.data, name: 'ask_peer' } }
    await ask(log, use, question, { type: 'agent.custom_tool_use', data: { name: 'c', input: {} } })
    const [other, asked, custom] = log.events.slice(-3)
    const awaited = new Set([asked?.id ?? ''])
    const nextIs = async (...more: NewEvent[]) => {
      await log.append(...more)
      return nextStep(log.events, { ...facts, awaited })
    }
    expect(await nextIs()).toMatchObject({ do: 'call', run: [{ event: { id: other?.id } }] })
    const waiting = { do: 'rest', stopReason: { type: 'requires_action' } }
    expect(await nextIs(resultEvent(other!, answered('ok')))).toMatchObject(waiting) // it was just appended
    const result = { custom_tool_use_id: encodeId('sessionEvent', custom?.id ?? ''), content: [] }
    expect(await nextIs({ type: 'user.custom_tool_result', data: result })).toMatchObject({
      do: 'wait',
      take: [{ type: 'user.custom_tool_result' }],
    })
    expect(nextStep(log.events, facts)).toMatchObject({ do: 'call', run: [{ event: { id: asked?.id } }] })
    expect(await nextIs({ type: 'user.interrupt' })).toMatchObject({ do: 'interrupt', open: [{ needs: 'run' }] })
  })

  test('does not count the time spent waiting for other agents, once where it waited for several', async () => {
    const log = await start()
    const question: NewEvent = { ...use, data: { ...use.data, name: 'ask_peer' } }
    await ask(log, question, question)
    const [one, other] = log.events.slice(-2)
    await log.append(resultEvent(one!, answered('ok')), resultEvent(other!, answered('ok'))) // they were just appended
    const beganMs = Date.parse(log.events.find(({ type }) => type === 'session.status_running')?.processedAt ?? '')
    const hours = (count: number): string => new Date(beganMs + count * 3_600_000).toISOString()
    const [askedAt, answers] = [hours(1), [hours(20), hours(22)]]
    const moved = log.events.map((event) => {
      if (event.type === 'agent.tool_use') return { ...event, processedAt: askedAt }
      return event.type === 'agent.tool_result' ? { ...event, processedAt: answers.shift() ?? '' } : event
    })
    const nextAt = (hour: number) => nextStep(moved, { ...facts, nowMs: beganMs + hour * 3_600_000 })
    expect(nextAt(26.9).do).toBe('ask') // of which 21 hours were waited for
    expect(nextAt(27.1)).toMatchObject({ do: 'rest', limit: expect.stringContaining('6 hours') })
  })

  test('is no request beyond the budget, the organization’s room or the limit of a turn, and a message starts a new turn', async () => {
    const log = await start()
    expect(nextStep(log.events, { ...facts, isBudgetReached: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'budget_reached' },
    })
    expect(nextStep(log.events, { ...facts, fullRoom: 'It is full.' })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'retries_exhausted' },
      limit: 'It is full.',
    })
    for (let at = 0; at < turnLimits.modelSteps; at++) {
      await ask(log, use)
      await log.append(resultEvent(log.events.at(-1)!, answered('ok'))) // the use that was appended just now
    }
    expect(nextStep(log.events, facts)).toMatchObject({
      do: 'rest',
      stopReason: { type: 'retries_exhausted' },
      limit: expect.stringContaining('200 requests'),
    })
    await log.append(
      { type: 'session.status_idle', data: { stop_reason: { type: 'retries_exhausted' } } },
      { type: 'user.message', data: {} },
    )
    await log.take(log.events)
    expect(nextStep(log.events, facts).do).toBe('ask')
  })

  test('counts the failures of the pending request, and no others', async () => {
    const log = await start()
    expect(failuresInARow(log.events)).toBe(0)
    await log.append(
      errorEvent('model_overloaded_error', 'busy', 'retrying'),
      errorEvent('mcp_connection_failed_error', 'gone', 'retrying'),
      errorEvent('unknown_error', 'x', 'retrying'),
    )
    expect(failuresInARow(log.events)).toBe(2)
    await ask(log)
    expect(failuresInARow(log.events)).toBe(0)
  })

  test('is to grade the open outcome after the last answer, once, also when a grader was lost, and not beyond the budget', async () => {
    const log = await start()
    const open = { ...facts, openOutcome: 'outc_a' }
    expect(nextStep(log.events, open).do).toBe('ask')
    await ask(log)
    expect(nextStep(log.events, facts).do).toBe('rest')
    expect(nextStep(log.events, open).do).toBe('evaluate')
    expect(nextStep(log.events, { ...open, isBudgetReached: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'budget_reached' },
    })
    await log.append({ type: 'span.outcome_evaluation_start', data: { outcome_id: 'outc_a' } })
    expect(nextStep(log.events, open).do).toBe('evaluate')
    await log.append({ type: 'span.outcome_evaluation_end', data: { outcome_id: 'outc_a', result: 'satisfied' } })
    expect(nextStep(log.events, open).do).toBe('rest')
    expect(nextStep(log.events, { ...facts, openOutcome: 'outc_b' }).do).toBe('evaluate')
    await log.append({ type: 'span.outcome_evaluation_end', data: { outcome_id: 'outc_b', result: 'needs_revision' } })
    expect(nextStep(log.events, { ...facts, openOutcome: 'outc_b' }).do).toBe('ask')
    await log.append({ type: 'session.status_idle', data: { stop_reason: { type: 'end_turn' } } })
    expect(nextStep(log.events, open).do).toBe('rest')
  })

  test('waits for the client’s own machine to run its tools', async () => {
    const log = await start()
    await ask(log, use)
    expect(nextStep(log.events, { ...facts, toolsRunAtClient: true })).toMatchObject({
      do: 'rest',
      stopReason: { type: 'requires_action' },
    })
  })
})

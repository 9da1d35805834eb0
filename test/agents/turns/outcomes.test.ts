/** Outcomes: graded whenever the agent rests, told to it until they are reached, and ended by all that may end them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { gradingMessages, readVerdict } from '#src/resources/agents/turns/outcomes/grading.ts'
import { runStep } from '#workers/agents/session-steps.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { agentSessions, message, textOf, types, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import type { Berth } from '../../support/berth.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'

let berth: Berth
let mock: MockUpstream
let stop: MockBerth['stop']
let token: string
let sessions: AgentSessions
beforeAll(async () => {
  ;({ berth, mock, stop } = await startMockBerth())
  token = await berth.token()
  sessions = agentSessions(berth, token)
})
afterAll(() => stop?.())
beforeEach(() => mock.forget())

const outcome = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: 'user.define_outcome',
  description: 'A poem',
  rubric: { type: 'text', content: 'It has a title.' },
  ...fields,
})
const said = (text: string): { parts: [{ text: string }] } => ({ parts: [{ text }] })
const verdict = (result: string, explanation: string): { parts: [{ text: string }] } =>
  said(JSON.stringify({ result, explanation }))
const begin = async (...events: Record<string, unknown>[]): Promise<string> =>
  sessions.begin(await sessions.agent({ model: 'test/plain', system: 'You are a poet.' }), null, {
    initial_events: events,
  })
const outcomesOf = async (id: string): Promise<Record<string, unknown>[]> =>
  ((await sessions.get(id)) as unknown as { outcome_evaluations: Record<string, unknown>[] }).outcome_evaluations
const evaluations = (log: readonly Event[]): unknown[] =>
  log
    .filter(({ type }) => type === 'span.outcome_evaluation_end')
    .map(({ iteration, result, explanation }) => [iteration, result, explanation])
const round = [
  'span.model_request_start',
  'agent.message',
  'span.model_request_end',
  'span.outcome_evaluation_start',
  'span.outcome_evaluation_end',
]

test('work that does not meet the rubric is revised until it does', async () => {
  mock.script(
    said('roses'),
    verdict('needs_revision', 'The title is missing.'),
    said('Roses: roses'),
    verdict('satisfied', 'It has one.'),
  )
  const id = await begin(outcome())
  const log = await sessions.rested(id)
  expect(types(log)).toEqual([
    'user.define_outcome',
    'session.status_running',
    ...round,
    ...round,
    'session.usage',
    'session.status_idle',
  ])
  expect(evaluations(log)).toEqual([
    [0, 'needs_revision', 'The title is missing.'],
    [1, 'satisfied', 'It has one.'],
  ])
  const [defined, starts, ends] = [
    log[0],
    ...['start', 'end'].map((edge) => log.filter(({ type }) => type === `span.outcome_evaluation_${edge}`)),
  ]
  expect(ends?.map((end) => end['outcome_evaluation_start_id'])).toEqual(starts?.map((start) => start.id))
  expect(ends?.[0]).toMatchObject({
    outcome_id: defined?.['outcome_id'],
    usage: { input_tokens: mock.requests[1]?.inputTokens, output_tokens: mock.requests[1]?.outputTokens },
  })
  expect(await outcomesOf(id)).toEqual([
    {
      type: 'outcome_evaluation',
      outcome_id: defined?.['outcome_id'],
      description: 'A poem',
      result: 'satisfied',
      iteration: 1,
      explanation: 'It has one.',
      completed_at: expect.any(String),
    },
  ])
  expect((await sessions.get(id)).usage).toMatchObject({
    input_tokens: mock.requests.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  })

  const [, grader, revising] = mock.requests.map(
    ({ body }) => body as { tools?: unknown; messages: { role: string; content: string }[] },
  )
  expect(grader?.tools).toBeUndefined()
  expect(JSON.stringify(grader?.messages)).not.toContain('You are a poet.')
  expect(JSON.stringify(grader?.messages[1])).toMatch(/A poem.*It has a title\..*agent:.*roses/)
  expect(revising?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  expect(JSON.stringify(revising?.messages[3])).toContain('The title is missing.')
  type Evaluations = { outcomeEvaluations: { result: string }[] }
  const { body } = await berth.call<{ data: { session: Evaluations } }>('POST', '/graphql', {
    token,
    body: {
      query:
        'query ($id: ID!) { session(id: $id) { outcomeEvaluations { outcome_id: outcomeId description result iteration explanation completed_at: completedAt } } }',
      variables: { id },
    },
  })
  const evaluated = body.data.session.outcomeEvaluations.map((one) => ({ ...one, result: one.result.toLowerCase() }))
  expect(evaluated.map((one) => ({ type: 'outcome_evaluation', ...one }))).toEqual(await outcomesOf(id))
})

test('an outcome is shown as soon as the request that defined it is answered', async () => {
  const agent = await sessions.agent()
  const made = await callAgents<{ id: string; outcome_evaluations: unknown[] }>(berth, token, 'POST', '/sessions', {
    agent,
    initial_events: [outcome()],
  })
  expect(made.body.outcome_evaluations).toMatchObject([
    { description: 'A poem', result: 'pending', iteration: 0, explanation: null, completed_at: null },
  ])
  await sessions.rested(made.body.id)
})

test('after the last iteration the agent says what is missing, and is not graded again', async () => {
  mock.script(said('roses'), verdict('needs_revision', 'No title.'), said('A title is missing.'))
  const id = await begin(outcome({ max_iterations: 1 }))
  const log = await sessions.rested(id)
  expect(types(log).slice(2)).toEqual([...round, ...round.slice(0, 3), 'session.usage', 'session.status_idle'])
  expect(evaluations(log)).toEqual([[0, 'max_iterations_reached', 'No title.']])
  expect(JSON.stringify(mock.requests[2]?.body)).toContain('for the last time')
  await sessions.say(id, 'thank you')
  await expect
    .poll(async () => textOf((await sessions.log(id)).findLast(({ type }) => type === 'agent.message')))
    .toContain('thank you')
  expect(evaluations(await sessions.rested(id))).toHaveLength(1)
})

test('several outcomes are graded one after the other, also with work in between', async () => {
  mock.script(
    said('both'),
    verdict('satisfied', 'first'),
    verdict('needs_revision', 'not the second'),
    said('again'),
    verdict('satisfied', 'second'),
  )
  const id = await begin(outcome(), outcome({ description: 'Another' }))
  expect(evaluations(await sessions.rested(id))).toEqual([
    [0, 'satisfied', 'first'],
    [0, 'needs_revision', 'not the second'],
    [1, 'satisfied', 'second'],
  ])
  expect((await outcomesOf(id)).map(({ result }) => result)).toEqual(['satisfied', 'satisfied'])
})

test('a grader that answers with something else is asked once more, and then the outcome has failed', async () => {
  mock.script(said('roses'), said('I like it!'), said('{"result": "great", "explanation": ""}'))
  const id = await begin(outcome())
  expect(evaluations(await sessions.rested(id))).toEqual([[0, 'failed', 'The grader did not answer with a verdict.']])
  expect(mock.requests).toHaveLength(3)
  expect((await sessions.get(id)).stop_reason).toEqual({ type: 'end_turn' })
})

test('a verdict may have text around it', () => {
  expect(readVerdict('Here it is:\n```json\n{"result": "satisfied", "explanation": "a {brace}"}\n```\nDone.')).toEqual({
    result: 'satisfied',
    explanation: 'a {brace}',
  })
  for (const text of ['', '{', '}{', 'null', '{"result": "satisfied"}']) expect(readVerdict(text), text).toBeNull()
})

test('a temporary failure of the grader’s model is retried within the same evaluation', async () => {
  mock.script(
    said('roses'),
    { status: 529, body: '{}' },
    { status: 529, body: '{}' },
    verdict('satisfied', 'It has one.'),
  )
  const id = await begin(outcome())
  const log = await sessions.rested(id)
  expect(types(log).slice(5)).toEqual([
    'span.outcome_evaluation_start',
    'session.error',
    'session.status_rescheduled',
    'session.status_running',
    'span.outcome_evaluation_end',
    'session.usage',
    'session.status_idle',
  ])
  expect(evaluations(log)).toEqual([[0, 'satisfied', 'It has one.']])
})

test('a message that arrives while the grader is waiting for a retry is answered after the verdict', async () => {
  mock.script(
    said('roses'),
    { status: 529, body: '{}' },
    { status: 529, body: '{}' },
    verdict('satisfied', 'It has one.'),
    said('You are welcome.'),
  )
  const id = await begin(outcome())
  await expect.poll(async () => (await sessions.get(id)).status, { timeout: 10_000 }).toBe('rescheduling')
  await sessions.say(id, 'thank you')
  await expect
    .poll(async () => textOf((await sessions.log(id)).findLast(({ type }) => type === 'agent.message')), {
      timeout: 10_000,
    })
    .toBe('You are welcome.')
  const log = await sessions.rested(id)
  const spans = types(log).filter((type) => type.startsWith('span.'))
  expect(spans).toEqual([
    'span.model_request_start',
    'span.model_request_end',
    'span.outcome_evaluation_start',
    'span.outcome_evaluation_end',
    'span.model_request_start',
    'span.model_request_end',
  ])
})

test('a grader gets as much as its context window allows: the whole rubric, and the end of the record', () => {
  const event = (position: number, type: string, data: Record<string, unknown>) => ({
    id: String(position),
    type,
    data,
    answers: null,
    processedAt: 'now',
    position,
    takenPosition: null,
  })
  const rubric = 'r'.repeat(40_000)
  const log = [
    event(1, 'user.define_outcome', {
      outcome_id: 'outc_1',
      description: 'A poem',
      rubric: { type: 'text', content: rubric },
    }),
    event(2, 'span.model_request_start', {}),
    event(3, 'agent.message', { content: [{ type: 'text', text: `${'x'.repeat(500_000)} the last verse` }] }),
    event(4, 'span.model_request_end', { is_error: false }),
  ]
  const open = {
    outcome_id: 'outc_1',
    description: 'A poem',
    max_iterations: 3,
    result: 'running' as const,
    iteration: 0,
    explanation: null,
    completed_at: null,
  }
  const told = (contextWindow: number): string =>
    JSON.stringify(gradingMessages(log, open, { id: 'test/plain', contextWindow }))
  expect(told(32_000).length).toBeLessThan(32_000 * 0.6 * 4 + 200)
  for (const part of [rubric, 'The beginning is left out', 'the last verse']) expect(told(32_000)).toContain(part)
  expect(told(1_000)).toContain(rubric) // its provider says that it is too long
  expect(told(1_000_000)).not.toContain('The beginning is left out')
})

test('a permanent failure of the grader’s model ends the outcome and the turn', async () => {
  mock.script(said('roses'), {
    status: 400,
    body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }),
  })
  const id = await begin(outcome())
  expect((await sessions.rested(id)).at(-1)).toMatchObject({ stop_reason: { type: 'retries_exhausted' } })
  expect(await outcomesOf(id)).toMatchObject([
    { result: 'failed', explanation: expect.stringContaining('It could not be graded') },
  ])
})

test('what a grader used before its model failed is counted', async () => {
  mock.script(said('roses'), said('I like it!'), {
    status: 400,
    body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }),
  })
  const id = await begin(outcome())
  const end = (await sessions.rested(id)).find(({ type }) => type === 'span.outcome_evaluation_end')
  expect(end).toMatchObject({ result: 'failed', usage: { output_tokens: mock.requests[1]?.outputTokens } })
  expect((await sessions.get(id)).usage).toMatchObject({
    output_tokens: (mock.requests[0]?.outputTokens ?? NaN) + (mock.requests[1]?.outputTokens ?? NaN),
  })
})

test('an interrupt ends the grading and the outcome', async () => {
  mock.script(said('roses'), { parts: [{ text: '{"result":' }, { hang: true }] })
  const id = await begin(outcome())
  await mock.request(1)
  await expect.poll(async () => (await outcomesOf(id))[0]?.['result']).toBe('evaluating')
  await sessions.send(id, { type: 'user.interrupt' })
  const log = await sessions.rested(id, limits.interruptSeconds * 1000)
  expect(types(log).slice(-4)).toEqual([
    'user.interrupt',
    'span.outcome_evaluation_end',
    'session.usage',
    'session.status_idle',
  ])
  expect(evaluations(log)).toEqual([[0, 'interrupted', 'The user interrupted while this was graded.']])
  expect(mock.requests[1]?.outcome).toBe('aborted')
})

test('when a worker is lost during a grading, the next one continues the same evaluation, with one verdict', async () => {
  mock.script(said('roses'), { parts: [{ text: '{"result":' }, { hang: true }] }, verdict('satisfied', 'It has one.'))
  const id = await begin(outcome())
  await mock.request(1)
  await change(
    berth.services.db,
    sql`update sessions set step_beat_at = now() - interval '13 seconds' where id = ${decodeId('session', id)}`,
  )
  await runStep(berth.workerServices!, newUuid(), decodeId('session', id)!, new AbortController().signal)
  const log = await sessions.rested(id)
  expect(types(log).slice(5)).toEqual([
    'span.outcome_evaluation_start',
    'session.status_rescheduled',
    'session.status_running',
    'span.outcome_evaluation_end',
    'session.usage',
    'session.status_idle',
  ])
  expect(evaluations(log)).toEqual([[0, 'satisfied', 'It has one.']])
  await expect.poll(() => mock.requests[1]?.outcome, { timeout: 10_000 }).toBe('aborted') // the first one hears that it has lost the session
  expect(evaluations(await sessions.log(id))).toHaveLength(1)
})

test('an interrupt of the work leaves the outcome open: the next turn is graded', async () => {
  mock.script({ parts: [{ text: 'ro' }, { hang: true }] }, said('Roses: roses'), verdict('satisfied', 'It has one.'))
  const id = await begin(outcome())
  await mock.request(0)
  await sessions.send(id, { type: 'user.interrupt' })
  expect(evaluations(await sessions.rested(id))).toEqual([])
  expect(await outcomesOf(id)).toMatchObject([{ result: 'running' }])
  await sessions.say(id, 'go on')
  await expect.poll(async () => (await outcomesOf(id))[0]?.['result']).toBe('satisfied')
})

test('a session has a maximum number of outcomes, and a request with too many changes nothing', async () => {
  const id = await sessions.begin(await sessions.agent(), null)
  const many = Array.from({ length: limits.outcomesMax + 1 }, () => outcome())
  const answer = await callAgents(berth, token, 'POST', `/sessions/${id}/events`, {
    events: [message('hello'), ...many],
  })
  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: { type: 'invalid_request_error', message: expect.stringContaining(`${limits.outcomesMax} outcomes`) },
    },
  })
  expect(await sessions.log(id)).toEqual([])
  expect(await outcomesOf(id)).toEqual([])
})

test('the descriptions of a session’s outcomes have a total limit, because every list shows them', async () => {
  const long = outcome({ description: 'x'.repeat(limits.outcomeDescriptionsLength * 0.6) })
  const refused = {
    status: 400,
    body: { error: { type: 'invalid_request_error', message: expect.stringContaining('100000 characters together') } },
  }
  const agent = await sessions.agent()
  expect(await callAgents(berth, token, 'POST', '/sessions', { agent, initial_events: [long, long] })).toMatchObject(
    refused,
  )
  const id = await sessions.begin(agent, null)
  expect(await callAgents(berth, token, 'POST', `/sessions/${id}/events`, { events: [long, long] })).toMatchObject(
    refused,
  )
  expect(await sessions.log(id)).toEqual([])
})

test('archiving ends open outcomes and queued answers', async () => {
  const use = (name: string): Record<string, unknown> => ({
    type: 'custom',
    name,
    description: 'x',
    input_schema: { type: 'object' },
  })
  mock.script({
    parts: [
      { tool: 'one', arguments: '{}' },
      { tool: 'two', arguments: '{}' },
    ],
  })
  const id = await sessions.begin(
    await sessions.agent({ model: 'test/plain', tools: [use('one'), use('two')] }),
    null,
    { initial_events: [outcome()] },
  )
  const uses = (await sessions.rested(id)).filter(({ type }) => type === 'agent.custom_tool_use')
  await sessions.send(id, {
    type: 'user.custom_tool_result',
    custom_tool_use_id: uses[0]?.id,
    content: [{ type: 'text', text: 'done' }],
  })
  const archived = await callAgents<{ status: string }>(berth, token, 'POST', `/sessions/${id}/archive`)
  expect(archived.body).toMatchObject({
    status: 'terminated',
    outcome_evaluations: [
      { result: 'interrupted', explanation: expect.stringContaining('archived'), completed_at: expect.any(String) },
    ],
  })
  expect((await sessions.log(id)).filter(({ processed_at }) => processed_at === null)).toEqual([])
})

test('the built-in model grades by the script of the rubric', async () => {
  const rubric = 'It greets.\n!say {"result": "satisfied", "explanation": "It greets."}'
  const id = await sessions.begin(await sessions.agent(), null, {
    initial_events: [outcome({ rubric: { type: 'text', content: rubric } })],
  })
  expect(evaluations(await sessions.rested(id))).toEqual([[0, 'satisfied', 'It greets.']])
})

/** Several upstreams of one model: who is asked, how often, and when nobody is asked any more. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ModelAnswer, ModelEvent, ModelRequest } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { askInTurn, type Answered } from '#src/resources/llm/chats/attempts.ts'
import type { Model, ModelUpstream } from '#src/resources/llm/models/rows.ts'
import { startMockUpstream, type MockUpstream } from '../support/mock-upstream.ts'

let first: MockUpstream
let second: MockUpstream
beforeAll(async () => {
  first = await startMockUpstream()
  second = await startMockUpstream()
})
afterEach(() => {
  first.forget()
  second.forget()
})
afterAll(async () => {
  await first.close()
  await second.close()
})

function modelOn(...urls: string[]): Model {
  const upstreams = urls.map(
    (url, place): ModelUpstream => ({
      kind: 'openai-compatible',
      target: {
        slug: `number-${place + 1}`,
        baseUrl: `${url}/v1`,
        apiKey: null,
        upstreamModel: 'mock',
        model: 'mock/mock',
        maxOutputTokens: 100,
        reasoningReplay: 'none',
        firstByteSeconds: 1,
      },
    }),
  )
  return {
    id: 'mock/mock',
    kind: 'chat',
    displayName: 'Mock',
    ownedBy: 'mock',
    createdAt: '2026-01-01T00:00:00.000Z',
    contextWindow: 1000,
    maxOutputTokens: 100,
    dimensions: null,
    flexibleDimensions: false,
    reasoningLevels: [],
    defaultReasoningLevel: null,
    reasoningReplay: 'none',
    reasoningNeedsId: false,
    capabilities: { tools: true, vision: false, pdf: false, structuredOutputs: false, streaming: true },
    pricing: { inputNanoUsd: 0, outputNanoUsd: 0, cacheReadNanoUsd: 0, cacheWriteNanoUsd: 0 },
    speed: 'standard',
    status: 'available',
    deprecatedAt: null,
    retiresAt: null,
    line: null,
    upstreams: upstreams as [ModelUpstream, ...ModelUpstream[]], // the callers name one at least
  }
}

const request: ModelRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }], name: null }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  reasoningEffort: null,
  maxTokens: null,
  temperature: null,
  topP: null,
  stop: [],
  responseFormat: null,
  seed: null,
  user: null,
  stream: true,
}
const ask = (model: Model, signal = new AbortController().signal): Promise<Answered<ModelAnswer>> =>
  askInTurn(model, request, signal, () => undefined)
const attemptsOf = ({ attempts }: Answered<ModelAnswer>): string[] =>
  attempts.map(({ upstream, status }) => `${upstream} ${status}`)
const refusal = async (asking: Promise<unknown>): Promise<BerthError> =>
  asking.then(
    () => expect.unreachable('it was answered'),
    (error: unknown) => (expect(error).toBeInstanceOf(BerthError), error as BerthError),
  )
async function textOf({ answer }: Answered<ModelAnswer>): Promise<string> {
  const events: ModelEvent[] = []
  for await (const batch of answer) events.push(...batch)
  expect(events.at(-1)?.type).toBe('end')
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}
const broken = { status: 500, headers: { 'content-type': 'application/json' }, body: '{"error":{"message":"broken"}}' }

test('an upstream that fails once is tried again, and the answer says so', async () => {
  first.script(broken, { parts: [{ text: 'Here' }] })
  const answer = await ask(modelOn(first.url, second.url))
  expect(attemptsOf(answer)).toEqual(['number-1 upstream_error', 'number-1 ok'])
  expect(await textOf(answer)).toBe('Here')
  expect(second.requests).toEqual([])
})

test('one that keeps failing is given up for the next', async () => {
  first.script(broken, broken)
  second.script({ parts: [{ text: 'From the second' }] })
  const answer = await ask(modelOn(first.url, second.url))
  expect(attemptsOf(answer)).toEqual(['number-1 upstream_error', 'number-1 upstream_error', 'number-2 ok'])
  expect(answer.upstream).toBe('number-2')
  expect(await textOf(answer)).toBe('From the second')
})

test('one that is at its limit is given up immediately if there is another, and otherwise its error is returned', async () => {
  const limited = {
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': '7' },
    body: '{"error":{"message":"slow down"}}',
  }
  first.script(limited)
  expect(attemptsOf(await ask(modelOn(first.url, second.url)))).toEqual([
    'number-1 upstream_rate_limited',
    'number-2 ok',
  ])
  first.forget()
  first.script(limited)
  const error = await refusal(ask(modelOn(first.url)))
  expect([error.code, error.details['retryAfterSeconds'], error.details['upstream'], first.requests.length]).toEqual([
    'upstream_rate_limited',
    7,
    'number-1',
    1,
  ])
})

test('one that does not answer in time is given up after one try', async () => {
  first.script({ before: 'never' })
  const answer = await ask(modelOn(first.url, second.url))
  expect(attemptsOf(answer)).toEqual(['number-1 upstream_timeout', 'number-2 ok'])
  expect(first.requests.length).toBe(1)
})

test('one that cannot be reached is given up for the next', async () => {
  const closed = await startMockUpstream()
  await closed.close()
  expect(attemptsOf(await ask(modelOn(closed.url, second.url))).at(-1)).toBe('number-2 ok')
})

test('one that answers 200 and then ends before its first event is also given up', async () => {
  first.script({ parts: [{ cut: true }] }, { parts: [{ cut: true }] })
  const answer = await ask(modelOn(first.url, second.url))
  expect(answer.upstream).toBe('number-2')
})

test('after the first event there is no second try: the answer is cut off', async () => {
  first.script({ parts: [{ text: 'Once upon' }, { cut: true }] })
  const answer = await ask(modelOn(first.url, second.url))
  const error = await refusal(textOf(answer))
  expect([error.code, error.details['upstream'], second.requests.length]).toEqual(['upstream_error', 'number-1', 0])
})

test('an error that is the request’s own fault is returned immediately', async () => {
  first.script({
    status: 400,
    headers: { 'content-type': 'application/json' },
    body: '{"error":{"message":"temperature is too high","code":null}}',
  })
  const error = await refusal(ask(modelOn(first.url, second.url)))
  expect([error.code, first.requests.length, second.requests.length]).toEqual(['invalid_parameter', 1, 0])
})

test('if all fail, the last one’s error is returned, and no more than four are tried', async () => {
  for (const mock of [first, second]) mock.script(broken, broken, broken, broken)
  const error = await refusal(ask(modelOn(first.url, second.url, first.url)))
  expect([error.code, first.requests.length + second.requests.length]).toEqual(['upstream_error', 4])
})

test('no upstream is tried after the caller has disconnected', async () => {
  first.script({ before: 'never' })
  const gone = new AbortController()
  const asking = ask(modelOn(first.url, second.url), gone.signal)
  const met = asking.then(
    () => 'answered',
    () => 'ended',
  )
  const seen = await first.request(0)
  gone.abort()
  expect(await met).toBe('ended')
  await seen.ended
  expect([seen.outcome, second.requests.length]).toEqual(['aborted', 0])
})

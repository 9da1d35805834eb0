/** What a provider wants back with a tool call, as Gemini its thought signatures: it comes and goes in every format, and in sessions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { agentSessions } from '../support/agent-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeKey } from '../support/makers.ts'
import { startMockUpstream, type MockUpstream } from '../support/mock-upstream.ts'
import { writeModels } from './chat-makers.ts'

let mock: MockUpstream
let berth: Berth
let key: string
const folder = mkdtempSync(join(tmpdir(), 'berth-extras-'))
beforeAll(async () => {
  mock = await startMockUpstream()
  const settings = {
    BERTH_MODELS_FILE: writeModels(folder, mock.url),
    BERTH_CHAT_JOIN_STREAMS: 'on',
    BERTH_VMS: 'off',
    BERTH_RATE_LIMIT_FACTOR: '100',
  }
  berth = await startBerth({ worker: true, settings })
  key = (await makeKey(berth, await berth.token('alice', 'acme', 'owner'))).key
})
afterAll(async () => {
  await berth.stop()
  await mock.close()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => mock.forget())

const signed = (signature: string) => ({ google: { thought_signature: signature } })
const extra = signed('sig/1+2==')

/** Answers with calls of `weather` as Gemini's chat completions have them: each whole in one piece, or all in one body. */
function script(extras: readonly (object | undefined)[], isWhole = false): void {
  const calls = extras.map((one, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Rome"}' },
    ...(one ? { extra_content: one } : {}),
  }))
  const frames = [
    { choices: [{ index: 0, delta: { role: 'assistant', tool_calls: calls } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
  if (isWhole) {
    const choices = [{ index: 0, message: { role: 'assistant', tool_calls: calls }, finish_reason: 'tool_calls' }]
    return mock.script({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choices }),
    })
  }
  const raw = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
  mock.script({ parts: [{ raw: `${raw}data: [DONE]\n\n` }, { stop: true }] })
}
/** The same for one call, whose extra comes with the last piece of its arguments, and once more behind it. */
function scriptLate(): void {
  const pieces = [
    { index: 0, id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{"city":' } },
    { index: 0, function: { arguments: '"Rome"}' }, extra_content: extra },
    { index: 0, extra_content: extra },
  ]
  const frames = [
    ...pieces.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ]
  const raw = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
  mock.script({ parts: [{ raw: `${raw}data: [DONE]\n\n` }, { stop: true }] })
}
/** The extras of the calls in the last request to the provider. */
function sent(): unknown[] {
  type Sent = { tool_calls?: { extra_content?: unknown }[] }
  const messages = mock.requests.at(-1)?.body['messages'] as Sent[] | undefined // as chat completions have them
  return (messages ?? []).flatMap((one) => one.tool_calls ?? []).map((call) => call.extra_content)
}
const post = async (path: string, body: Record<string, unknown>): Promise<string> => {
  const answer = await fetch(`${berth.url}/llm/v1${path}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'test/plain', ...body }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  })
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return text
}
/** The first object anywhere in an answer that has `extra_content`, streamed or not. */
function found(text: string): Record<string, unknown> {
  const bodies = text.startsWith('{')
    ? [text]
    : text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
  let seen: Record<string, unknown> = {}
  for (const body of bodies)
    JSON.parse(body, (_, value: unknown) => {
      if (typeof value === 'object' && value !== null && 'extra_content' in value) seen = { ...value }
      return value
    })
  return seen
}

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const asked = { role: 'user', content: 'x' }

/** A format: how it asks, and how it sends a call back with its result. */
const formats: [string, string, Record<string, unknown>, (call: Record<string, unknown>) => Record<string, unknown>][] =
  [
    [
      'chat completions',
      '/chat/completions',
      { messages: [asked], tools: [{ type: 'function', function: { name: 'weather', parameters } }] },
      (call) => ({
        messages: [
          asked,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ ...call, id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
        ],
      }),
    ],
    [
      'messages',
      '/messages',
      { max_tokens: 100, messages: [asked], tools: [{ name: 'weather', input_schema: parameters }] },
      ({ extra_content }) => ({
        messages: [
          asked,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'weather', input: {}, extra_content }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'sunny' }] },
        ],
      }),
    ],
    [
      'responses',
      '/responses',
      { input: 'x', store: false, tools: [{ type: 'function', name: 'weather', parameters }] },
      ({ extra_content }) => ({
        input: [
          asked,
          { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}', extra_content },
          { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
        ],
      }),
    ],
  ]

test.each(formats.flatMap((one) => [false, true].map((stream) => [...one, stream] as const)))(
  'in the format of %s it comes with its call, and goes back with it (%#)',
  async (_name, path, request, back, stream) => {
    script([extra], !stream && path !== '/chat/completions') // of which a stream is joined
    const call = found(await post(path, { ...request, stream }))
    expect(call['extra_content']).toEqual(extra)
    mock.script({ parts: [{ text: 'fine' }] })
    await post(path, { ...request, ...back({ extra_content: call['extra_content'] }), stream: false })
    expect(sent()).toEqual([extra])
  },
)

test.each(formats)(
  'in a stream of %s it is told once where it comes after its call has begun',
  async (_name, path, request) => {
    scriptLate()
    const text = await post(path, { ...request, stream: true })
    expect(found(text)['extra_content']).toEqual(extra)
    if (path !== '/responses') expect(text.match(/extra_content/g)).toHaveLength(1)
  },
)

test('Anthropic is not sent it beside fields that only its models know', async () => {
  const [, , request, back] = formats[1]! // messages
  mock.script({ parts: [{ text: 'fine' }] })
  const messages = back({ extra_content: extra })
  await post('/messages', { ...request, ...messages, top_k: 5, model: 'test/signed' })
  expect(mock.requests.at(-1)?.body).toMatchObject({ top_k: 5, messages: [{}, { content: [{ id: 'c1' }] }, {}] })
  expect(mock.requests.at(-1)?.bodyText).not.toContain('extra_content')
})

test('a provider of another format is not sent it', async () => {
  const [, , request, back] = formats[1]! // messages
  for (const model of ['test/signed', 'test/sealed']) {
    mock.script({ parts: [{ text: 'fine' }] })
    await post('/messages', { ...request, ...back({ extra_content: extra }), model })
    expect(mock.requests.at(-1)?.bodyText).not.toContain('extra_content')
  }
})

test('a session sends back what came late', async () => {
  const sessions = agentSessions(berth, await berth.token('bob', 'acme', 'member'))
  const tool = { type: 'custom', name: 'weather', description: 'Tells it.', input_schema: parameters }
  scriptLate()
  const id = await sessions.begin(await sessions.agent({ model: 'test/plain', tools: [tool] }), 'How is it?')
  const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.custom_tool_use')
  mock.script({ parts: [{ text: 'fine' }] })
  const content = [{ type: 'text', text: 'sunny' }]
  await sessions.send(id, { type: 'user.custom_tool_result', custom_tool_use_id: use?.id, content })
  await sessions.rested(id)
  expect(sent()).toEqual([extra])
})

test('a session sends it back with the next request, each with its own call, and shows it nowhere', async () => {
  const sessions = agentSessions(berth, await berth.token('bob', 'acme', 'member'))
  const tool = { type: 'custom', name: 'weather', description: 'Tells it.', input_schema: parameters }
  const agent = await sessions.agent({ model: 'test/plain', tools: [tool] })
  script([undefined, extra, signed('other')])
  const id = await sessions.begin(agent, 'How is it?')
  const uses = (await sessions.rested(id)).filter(({ type }) => type === 'agent.custom_tool_use')
  expect(uses).toHaveLength(3)
  expect(JSON.stringify(uses)).not.toContain('sig/')
  mock.script({ parts: [{ text: 'fine' }] })
  await sessions.send(
    id,
    ...uses.map((use) => ({
      type: 'user.custom_tool_result',
      custom_tool_use_id: use.id,
      content: [{ type: 'text', text: 'sunny' }],
    })),
  )
  await sessions.rested(id)
  expect(sent()).toEqual([undefined, extra, signed('other')])
})

/** The description of messages is true: what they take, answer and refuse fits it, key by key. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { problemsOf, type Schema } from '../../contract/json-schema.ts'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

type Described = {
  requestBody: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { headers?: Record<string, unknown>; content: Record<string, { schema: Schema }> }>
}
let world: ChatWorld
let document: { paths: Record<string, { post: Described }> }
beforeAll(async () => {
  world = await startChatWorld()
  document = (await world.berth.call<typeof document>('GET', '/llm/openapi.json')).body
})
afterAll(() => world.stop())

const path = '/v1/messages'
const countPath = '/v1/messages/count_tokens'
const described = (at: string): Described => document.paths[at]!.post // the test fails without it, as it should
const check = (value: unknown, schema: Schema | undefined): string[] =>
  problemsOf(value, schema ?? {}, document as unknown as Schema, { closed: true })
const checkBody = (at: string, body: unknown): string[] =>
  check(body, described(at).requestBody.content['application/json']?.schema)
const checkAnswer = (at: string, mediaType: string, value: unknown, status = 200): string[] =>
  check(value, described(at).responses[String(status)]?.content[mediaType]?.schema)

const cache_control = { type: 'ephemeral', ttl: '5m' }
const shared = {
  model: 'test/signed',
  cache_control,
  system: [{ type: 'text', text: 'Be short.', cache_control }],
  tools: [
    { name: 'weather', description: 'x', input_schema: { type: 'object' }, strict: true, cache_control },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        { type: 'document', title: 't', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: {}, caller: { type: 'direct' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'sunny', is_error: false }] },
  ],
}
const chat = {
  ...shared,
  max_tokens: 2000,
  metadata: { user_id: 'u' },
  stop_sequences: ['x'],
  temperature: 1,
  top_p: 1,
  top_k: 5,
  service_tier: 'auto',
}
const played = {
  parts: [
    { reasoning: 'Hm.', signature: 'c2ln' },
    { redacted: 'eA==' },
    { text: 'Hi.' },
    { tool: 'weather', id: 't1', arguments: '{}' },
  ],
}

test('takes what it says, and every event and body is as it says', async () => {
  expect(checkBody(path, { ...chat, stream: true })).toEqual([])
  world.mock.script(played, played, { parts: [{ text: 'half' }, { cut: true }] })
  const lines: string[] = []
  for (const stream of [true, false, true]) {
    const answer = await world.post(path, { ...chat, stream })
    expect(answer.status).toBe(200)
    if (stream) lines.push(...(await answer.text()).split('\n').filter((line) => line.startsWith('data: ')))
    else expect(checkAnswer(path, 'application/json', await answer.json())).toEqual([])
    const told = [...answer.headers.keys()].filter((name) => name.startsWith('x-berth-'))
    expect(Object.keys(described(path).responses['200']?.headers ?? {})).toEqual(expect.arrayContaining(told))
  }
  const events = lines.map((line) => JSON.parse(line.slice('data: '.length)) as unknown)
  expect(events.length).toBeGreaterThan(15)
  expect(events.flatMap((event) => checkAnswer(path, 'text/event-stream', event))).toEqual([])
})

test('the count takes what it says, and answers so', async () => {
  expect(checkBody(countPath, shared)).toEqual([])
  const answer = await world.post(countPath, shared)
  expect([answer.status, checkAnswer(countPath, 'application/json', await answer.json())]).toEqual([200, []])
})

test('describes every status that it refuses with, and the body of a refusal', async () => {
  for (const at of [path, countPath])
    for (const answer of [await world.post(at, {}), await world.post(at, {}, { token: null })])
      expect(checkAnswer(at, 'application/json', await answer.json(), answer.status), at).toEqual([])
  for (const status of ['400', '401', '402', '403', '404', '409', '413', '429', '500', '502', '503', '504'])
    expect(described(path).responses).toHaveProperty(status)
})

test('is not described so loosely that anything is valid', () => {
  for (const wrong of [
    {},
    { ...chat, max_tokens: 0 },
    { ...chat, messages: [] },
    { ...chat, messages: [{ role: 'tool', content: 'x' }] },
    { ...chat, messages: [{ role: 'user', content: [{ type: 'audio' }] }] },
    { ...chat, temperature: 2 },
    { ...chat, thinking: { type: 'on' } },
    { ...chat, cache_control: { type: 'ephemeral', ttl: '1h' } },
    { ...chat, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { ...chat, container: 'x' },
  ])
    expect(checkBody(path, wrong), JSON.stringify(wrong).slice(0, 60)).not.toEqual([])
})

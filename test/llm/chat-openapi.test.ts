/** The description of the two chat routes is true: what they take and answer fits it, key by key. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemsOf, type Schema } from '../contract/json-schema.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

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

const described = (path: string): Described => document.paths[path]!.post // the test fails without it, as it should
const check = (value: unknown, schema: Schema | undefined): string[] =>
  problemsOf(value, schema ?? {}, document as unknown as Schema, { closed: true })
const checkBody = (path: string, body: unknown): string[] =>
  check(body, described(path).requestBody.content['application/json']?.schema)
const checkAnswer = (path: string, mediaType: string, value: unknown): string[] =>
  check(value, described(path).responses['200']?.content[mediaType]?.schema)
const tools = [{ type: 'function', function: { name: 'weather', description: 'x', parameters: { type: 'object' } } }]
const played = {
  parts: [{ reasoning: 'Hm.', signature: 'c2ln' }, { text: 'Hi.' }, { tool: 'weather', id: 't1', arguments: '{}' }],
  finish: 'tool_calls',
}

const chat = {
  model: 'test/signed',
  stream: true,
  stream_options: { include_usage: true },
  reasoning_effort: 'high',
  tools,
  tool_choice: 'auto',
  parallel_tool_calls: true,
  stop: ['x'],
  temperature: 1,
  top_p: 1,
  max_tokens: 2000, // a model that thinks needs more than 1,024
  user: 'u',
  metadata: {},
  n: 1,
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'Be short.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', model: 'test/signed', signature: 'c2ln' },
        { type: 'text', text: 'x' },
      ],
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
  ],
}
const uiChat = {
  model: 'test/signed',
  reasoning_effort: 'low',
  tools,
  messages: [{ id: 'u1', role: 'user', metadata: {}, parts: [{ type: 'text' }] }],
}

async function chunksOf(answer: Response): Promise<unknown[]> {
  expect(answer.status).toBe(200)
  const lines = (await answer.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as unknown)
}

describe('/v1/chat/completions', () => {
  const path = '/v1/chat/completions'
  test('takes what it says, and every chunk is as it says', async () => {
    expect(checkBody(path, chat)).toEqual([])
    world.mock.script(played)
    const chunks = await chunksOf(await world.post(path, chat))
    expect(chunks.length).toBeGreaterThan(5)
    expect(chunks.flatMap((chunk) => checkAnswer(path, 'text/event-stream', chunk))).toEqual([])
  })

  test('answers a whole body as it says, with the headers that it says', async () => {
    const answer = await world.post(path, { model: 'test/plain', messages: [{ role: 'user', content: 'x' }] })
    expect(checkAnswer(path, 'application/json', await answer.json())).toEqual([])
    const told = [...answer.headers.keys()].filter((name) => name.startsWith('x-berth-'))
    expect(Object.keys(described(path).responses['200']?.headers ?? {})).toEqual(
      expect.arrayContaining([...told, 'x-request-id']),
    )
  })

  test('describes every status that it refuses with, and the body of a refusal', async () => {
    const refusals = [
      await world.post(path, {}),
      await world.post(path, {}, { token: null }),
      await world.post(path, { model: 'test/dear', messages: [{ role: 'user', content: 'x' }] }),
    ]
    for (const answer of refusals)
      expect(
        check(
          await answer.json(),
          described(path).responses[String(answer.status)]?.content['application/json']?.schema,
        ),
        String(answer.status),
      ).toEqual([])
    for (const status of ['400', '401', '402', '403', '404', '409', '413', '429', '500', '502', '503', '504'])
      expect(described(path).responses).toHaveProperty(status)
  })

  test('is not described so loosely that anything is valid', () => {
    for (const wrong of [
      {},
      { ...chat, model: 5 },
      { ...chat, messages: [] },
      { ...chat, messages: [{ role: 'x' }] },
      { ...chat, temperature: 3 },
      { ...chat, stop: ['1', '2', '3', '4', '5'] },
      { ...chat, tools: [{ type: 'custom' }] },
    ])
      expect(checkBody(path, wrong), JSON.stringify(wrong).slice(0, 60)).not.toEqual([])
  })
})

describe('/v1/chat', () => {
  test('takes what it says, and every chunk is as it says', async () => {
    expect(checkBody('/v1/chat', uiChat)).toEqual([])
    expect(checkBody('/v1/chat', { ...uiChat, stream: false })).not.toEqual([])
    world.mock.script(played, { parts: [{ text: 'half' }, { cut: true }] })
    const said = { ...uiChat, messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] }
    const chunks = [
      ...(await chunksOf(await world.post('/v1/chat', said))),
      ...(await chunksOf(await world.post('/v1/chat', said))),
    ]
    expect(chunks.length).toBeGreaterThan(15)
    expect(chunks.flatMap((chunk) => checkAnswer('/v1/chat', 'text/event-stream', chunk))).toEqual([])
  })
})

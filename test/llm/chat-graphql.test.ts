/** Chats through GraphQL: the whole answer, and its pieces. */
import { createClient } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { findAll, sql } from '#src/platform/postgres.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const messages = [{ user: { content: { text: 'Hello there' } } }]
const ask = (input: Record<string, unknown>, token: string | undefined = world.key) =>
  world.berth.ask(
    'mutation ($input: CreateChatCompletionInput!) { createChatCompletion(input: $input) { completion { id modelId model { id } upstream content finishReason usage { inputTokens outputTokens reasoningTokens } } } }',
    { ...(token ? { token } : {}), variables: { input } },
  )
const refusal = async (input: Record<string, unknown>, token?: string): Promise<string | undefined> =>
  (await ask(input, token)).body.errors?.[0]?.extensions.code

type ChatEvent = {
  text: string | null
  reasoningText: string | null
  reasoning: { signature: string; model: string } | null
  toolCall: { index: number; id: string | null; name: string | null; arguments: string | null } | null
  finishReason: string | null
  usage: { outputTokens: number } | null
}
const streamQuery = `subscription ($input: ChatCompletionEventsInput!) {
  chatCompletionEvents(input: $input) {
    ... on ChatCompletionEvent { text reasoningText reasoning { signature model } toolCall { index id name arguments } finishReason usage { outputTokens } }
  }
}`
function follow(
  input: Record<string, unknown>,
  token = world.key,
): AsyncIterableIterator<{
  data?: { chatCompletionEvents: ChatEvent } | null
  errors?: readonly { extensions?: { code?: unknown } }[]
}> {
  const client = createClient({
    url: `${world.berth.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
  return client.iterate({ query: streamQuery, variables: { input } }) as never // graphql-ws types data as unknown
}
async function eventsOf(input: Record<string, unknown>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const { data, errors } of follow(input)) {
    expect(errors).toBeUndefined()
    if (data) events.push(data.chatCompletionEvents)
  }
  return events
}

test('the mutation returns the whole answer, and the ledger has it under its route', async () => {
  world.mock.script({ parts: [{ text: ['Good ', 'day.'] }] })
  const { body } = await ask({ model: 'test/plain', messages, maxTokens: 50 })
  expect(body).toEqual({
    data: {
      createChatCompletion: {
        completion: {
          id: expect.stringMatching(/^chatcmpl-[0-9a-z]{26}$/),
          modelId: 'test/plain',
          model: { id: 'test/plain' },
          upstream: 'local',
          content: 'Good day.',
          finishReason: 'STOP',
          usage: { inputTokens: expect.any(Number), outputTokens: 3, reasoningTokens: 0 },
        },
      },
    },
  })
  expect(world.mock.requests[0]?.body).toMatchObject({ max_tokens: 50 })
  expect(
    await findAll(world.berth.services.db, sql`select route, status, output_tokens from inference_requests`),
  ).toEqual([{ route: 'graphql', status: 'completed', outputTokens: 3 }])
})

test('a person may chat too; a viewer may not, and an anonymous caller is told to send a token', async () => {
  expect((await ask({ model: 'berth/demo', messages }, world.owner)).body.data?.['createChatCompletion']).toMatchObject(
    { completion: { modelId: 'berth/demo', upstream: 'berth' } },
  )
  expect(await refusal({ model: 'berth/demo', messages }, await world.berth.token('victor', 'acme', 'viewer'))).toBe(
    'NOT_PERMITTED_FOR_ROLE',
  )
  expect(await refusal({ model: 'berth/demo', messages }, '')).toBe('UNAUTHORIZED')
})

test('errors have the same codes as over REST', async () => {
  expect(await refusal({ model: 'test/none', messages })).toBe('UNSUPPORTED_MODEL')
  expect(await refusal({ model: 'test/plain', messages: [] })).toBe('INVALID_MESSAGES')
  expect(await refusal({ model: 'test/plain', messages, temperature: 3 })).toBe('INVALID_PARAMETER')
  world.mock.script({ status: 503 }, { status: 503 })
  expect(await refusal({ model: 'test/plain', messages })).toBe('UPSTREAM_OVERLOADED')
})

test('a whole conversation is sent typed, and reaches the provider as OpenAI’s clients would send it', async () => {
  world.mock.script({ parts: [{ text: '{}' }] })
  const pixel = 'data:image/png;base64,iVBORw0KGgo='
  const call = { id: 'call_1', name: 'look', arguments: '{}' }
  const { body } = await ask({
    model: 'test/plain',
    topP: 0.5,
    responseFormat: { jsonSchema: { name: 'answer', schema: { type: 'object' } } },
    messages: [
      { system: 'Be brief.' },
      { user: { content: [{ text: 'What is this?' }, { image: { url: pixel, detail: 'LOW' } }], name: 'ann' } },
      { assistant: { text: 'I look.', toolCalls: [call] } },
      { tool: { toolCallId: 'call_1', text: 'A pixel.' } },
    ],
  })
  expect(body.errors).toBeUndefined()
  expect(world.mock.requests[0]?.body).toMatchObject({
    top_p: 0.5,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } },
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: pixel, detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'A pixel.' },
    ],
  })
})

test('a message, a part or a format of none or of two kinds is refused before anything is sent', async () => {
  const text = { text: 'Hello' }
  for (const input of [
    { messages: [{}] },
    { messages: [{ system: 'a', user: { content: text } }] },
    { messages: [{ user: { content: { ...text, image: { url: 'https://a.example/b.png' } } } }] },
    { messages, responseFormat: { text: true, jsonObject: true } },
  ])
    expect([input, await refusal({ model: 'test/plain', ...input })]).toEqual([input, 'INVALID_REQUEST'])
  expect(world.mock.requests).toEqual([])
})

test('the subscription has text, finished reasoning, tool calls in pieces, and the end', async () => {
  world.mock.script({
    parts: [
      { reasoning: ['Let me ', 'see.'], signature: 'c2ln' },
      { text: 'I look.' },
      { tool: 'look', id: 'call_1', arguments: ['{"at"', ':1}'] },
    ],
    finish: 'tool_calls',
  })
  const events = await eventsOf({
    model: 'test/signed',
    messages,
    reasoningEffort: 'LOW',
    tools: [{ name: 'look', parameters: { type: 'object' } }],
  })
  expect(events.map((event) => event.reasoningText ?? '').join('')).toBe('Let me see.')
  expect(events.map((event) => event.text ?? '').join('')).toBe('I look.')
  expect(events.flatMap((event) => event.reasoning ?? [])).toEqual([{ signature: 'c2ln', model: 'test/signed' }])
  expect(events.flatMap(({ toolCall }) => toolCall?.name ?? [])).toEqual(['look'])
  expect(events.map(({ toolCall }) => toolCall?.arguments ?? '').join('')).toBe('{"at":1}')
  expect(events.at(-1)).toMatchObject({ finishReason: 'TOOL_CALLS', usage: { outputTokens: expect.any(Number) } })
})

test('disconnecting during the mutation ends the request at the upstream', async () => {
  world.mock.script({ before: 'never' })
  const leaving = new AbortController()
  const query =
    'mutation { createChatCompletion(input: { model: "test/plain", messages: { user: { content: { text: "Hello" } } } }) { completion { content } } }'
  const asking = fetch(`${world.berth.url}/graphql`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${world.key}` },
    body: JSON.stringify({ query }),
  })
  const seen = await world.mock.request(0)
  leaving.abort()
  await expect(asking).rejects.toThrow()
  await seen.ended
  expect(seen.outcome).toBe('aborted')
})

test('disconnecting from a subscription ends the request at the upstream', async () => {
  world.mock.script({ parts: [{ text: 'Once upon' }, { hang: true }] })
  for await (const { data } of follow({ model: 'test/plain', messages })) if (data?.chatCompletionEvents.text) break
  const seen = await world.mock.request(0)
  await seen.ended
  expect(seen.outcome).toBe('aborted')
})

test('an upstream that cuts off its answer ends the subscription with its code', async () => {
  world.mock.script({ parts: [{ text: 'Once upon' }, { cut: true }] })
  const heard: string[] = []
  const reading = (async () => {
    for await (const { data } of follow({ model: 'test/plain', messages }))
      heard.push(data?.chatCompletionEvents.text ?? '')
  })()
  await expect(reading).rejects.toMatchObject([{ extensions: { code: 'UPSTREAM_ERROR' } }])
  expect(heard.join('')).toBe('Once upon')
})

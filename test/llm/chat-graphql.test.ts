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

const messages = [{ role: 'user', content: 'Hello there' }]
const ask = (variables: Record<string, unknown>, token: string | undefined = world.key) =>
  world.berth.ask(
    'mutation ($model: String!, $messages: JSON!, $maxTokens: Int, $temperature: Float) { createChatCompletion(model: $model, messages: $messages, maxTokens: $maxTokens, temperature: $temperature) { id model upstream content finishReason usage { inputTokens outputTokens reasoningTokens } } }',
    { ...(token ? { token } : {}), variables },
  )
const refusal = async (variables: Record<string, unknown>, token?: string): Promise<string | undefined> =>
  (await ask(variables, token)).body.errors?.[0]?.extensions.code

type ChatEvent = {
  text: string | null
  reasoningText: string | null
  reasoning: { signature: string; model: string } | null
  toolCall: { index: number; id: string | null; name: string | null; arguments: string | null } | null
  finishReason: string | null
  usage: { outputTokens: number } | null
}
const streamQuery = `subscription ($model: String!, $messages: JSON!, $tools: JSON, $reasoningEffort: String) {
  chatCompletion(model: $model, messages: $messages, tools: $tools, reasoningEffort: $reasoningEffort) {
    ... on ChatCompletionEvent { text reasoningText reasoning { signature model } toolCall { index id name arguments } finishReason usage { outputTokens } }
  }
}`
function follow(
  variables: Record<string, unknown>,
  token = world.key,
): AsyncIterableIterator<{
  data?: { chatCompletion: ChatEvent } | null
  errors?: readonly { extensions?: { code?: unknown } }[]
}> {
  const client = createClient({
    url: `${world.berth.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
  return client.iterate({ query: streamQuery, variables }) as never // graphql-ws types data as unknown
}
async function eventsOf(variables: Record<string, unknown>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const { data, errors } of follow(variables)) {
    expect(errors).toBeUndefined()
    if (data) events.push(data.chatCompletion)
  }
  return events
}

test('the mutation answers whole, and the ledger has it under its route', async () => {
  world.mock.script({ parts: [{ text: ['Good ', 'day.'] }] })
  const { body } = await ask({ model: 'test/plain', messages, maxTokens: 50 })
  expect(body).toEqual({
    data: {
      createChatCompletion: {
        id: expect.stringMatching(/^chatcmpl-[0-9a-z]{26}$/),
        model: 'test/plain',
        upstream: 'local',
        content: 'Good day.',
        finishReason: 'stop',
        usage: { inputTokens: expect.any(Number), outputTokens: 3, reasoningTokens: 0 },
      },
    },
  })
  expect(world.mock.requests[0]?.body).toMatchObject({ max_tokens: 50 })
  expect(
    await findAll(world.berth.services.db, sql`select route, status, output_tokens from inference_requests`),
  ).toEqual([{ route: 'graphql', status: 'completed', outputTokens: 3 }])
})

test('a person may chat too; a viewer may not, and nobody is told to send a token', async () => {
  expect((await ask({ model: 'berth/demo', messages }, world.owner)).body.data?.['createChatCompletion']).toMatchObject(
    { model: 'berth/demo', upstream: 'berth' },
  )
  expect(await refusal({ model: 'berth/demo', messages }, await world.berth.token('victor', 'acme', 'viewer'))).toBe(
    'NOT_PERMITTED_FOR_ROLE',
  )
  expect(await refusal({ model: 'berth/demo', messages }, '')).toBe('UNAUTHORIZED')
})

test('what is wrong is told by the same codes as over REST', async () => {
  expect(await refusal({ model: 'test/none', messages })).toBe('UNSUPPORTED_MODEL')
  expect(await refusal({ model: 'test/plain', messages: [{ role: 'robot' }] })).toBe('INVALID_MESSAGES')
  expect(await refusal({ model: 'test/plain', messages, temperature: 3 })).toBe('INVALID_PARAMETER')
  world.mock.script({ status: 503 }, { status: 503 })
  expect(await refusal({ model: 'test/plain', messages })).toBe('UPSTREAM_OVERLOADED')
})

test('the subscription tells text, closed reasoning, tool calls in pieces, and the end', async () => {
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
    reasoningEffort: 'low',
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
  })
  expect(events.map((event) => event.reasoningText ?? '').join('')).toBe('Let me see.')
  expect(events.map((event) => event.text ?? '').join('')).toBe('I look.')
  expect(events.flatMap((event) => event.reasoning ?? [])).toEqual([{ signature: 'c2ln', model: 'test/signed' }])
  expect(events.flatMap(({ toolCall }) => toolCall?.name ?? [])).toEqual(['look'])
  expect(events.map(({ toolCall }) => toolCall?.arguments ?? '').join('')).toBe('{"at":1}')
  expect(events.at(-1)).toMatchObject({ finishReason: 'tool_calls', usage: { outputTokens: expect.any(Number) } })
})

test('leaving the mutation ends the request at the upstream', async () => {
  world.mock.script({ before: 'never' })
  const leaving = new AbortController()
  const query =
    'mutation { createChatCompletion(model: "test/plain", messages: [{ role: "user", content: "Hello" }]) { content } }'
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

test('leaving a subscription ends the request at the upstream', async () => {
  world.mock.script({ parts: [{ text: 'Once upon' }, { hang: true }] })
  for await (const { data } of follow({ model: 'test/plain', messages })) if (data?.chatCompletion.text) break
  const seen = await world.mock.request(0)
  await seen.ended
  expect(seen.outcome).toBe('aborted')
})

test('an upstream that cuts ends the subscription with its code', async () => {
  world.mock.script({ parts: [{ text: 'Once upon' }, { cut: true }] })
  const heard: string[] = []
  const reading = (async () => {
    for await (const { data } of follow({ model: 'test/plain', messages })) heard.push(data?.chatCompletion.text ?? '')
  })()
  await expect(reading).rejects.toMatchObject([{ extensions: { code: 'UPSTREAM_ERROR' } }])
  expect(heard.join('')).toBe('Once upon')
})

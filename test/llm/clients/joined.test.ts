/** OpenAI's own client without `stream: true` where the operator joins streams: tools, reasoning, errors, and a longest answer. */
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { problemsOf, type Schema } from '../../contract/json-schema.ts'
import { encodeId } from '#src/platform/ids.ts'
import { idsOf } from '../../support/makers.ts'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

let world: ChatWorld
let client: OpenAI
beforeAll(async () => {
  world = await startChatWorld(undefined, { BERTH_CHAT_JOIN_STREAMS: 'on' })
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.berth.url}/llm/v1`, maxRetries: 0 })
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

type Message = OpenAI.ChatCompletionMessageParam
/** What our messages have beside OpenAI's. */
type Thought = { reasoning_content?: string; reasoning_details?: unknown[] }
const ask = (content: string): Message[] => [{ role: 'user', content }]
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const models = ['test/signed', 'test/sealed', 'test/plain'] // Anthropic's format, OpenAI's responses, chat completions

describe('an answer of a joined stream', () => {
  test.each(models)('of %s has its text, its calls, its usage and its reason to end', async (model) => {
    world.mock.script({
      parts: [
        { text: ['Let me ', 'look.'] },
        { tool: 'weather', id: 't_1', arguments: ['{"city":', '"Rome"}'] },
        { tool: 'weather', id: 't_2', arguments: '{}' },
      ],
      finish: 'tool_calls',
    })
    const answer = await client.chat.completions.create({ model, messages: ask('x'), tools })
    expect(answer).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), object: 'chat.completion', model })
    expect(answer.choices).toEqual([
      {
        index: 0,
        finish_reason: 'tool_calls',
        logprobs: null,
        message: {
          role: 'assistant',
          content: 'Let me look.',
          refusal: null,
          tool_calls: [
            { id: 't_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
            { id: 't_2', type: 'function', function: { name: 'weather', arguments: '{}' } },
          ],
        },
      },
    ])
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0)
    expect(world.mock.requests[0]?.body['stream']).toBe(true)
  })

  test.each(models.slice(0, 2))('of %s has its reasoning, which goes back as it came', async (model) => {
    world.mock.script({
      parts: [
        { reasoning: ['I ', 'think.'], id: 'rs_1', signature: 'c2ln', encrypted: 'ZW5j' },
        { tool: 'weather', id: 't_1', arguments: '{}' },
      ],
      finish: 'tool_calls',
    })
    const messages = ask('Weather?')
    const body = { model, messages, tools, reasoning_effort: 'high' as const }
    const { message } = (await client.chat.completions.create(body)).choices[0]!
    expect((message as Thought).reasoning_content).toBe('I think.')
    expect(message.content).toBeNull()
    messages.push(message, { role: 'tool', tool_call_id: 't_1', content: 'sunny' })
    await client.chat.completions.create(body)
    const sent = world.mock.requests[1]?.bodyText ?? ''
    if (model === 'test/signed') expect(sent).toContain('"thinking":"I think.","signature":"c2ln"')
    else expect(sent).toContain('"encrypted_content":"ZW5j"')
  })

  test('is run by the client’s own runner of tools, and is in the ledger as one request each', async () => {
    const seen: unknown[] = []
    const runner = client.chat.completions.runTools({
      model: 'berth/demo',
      messages: ask('!tool weather {"city":"Rome"}\n!say It is done.'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: (text: string) => JSON.parse(text) as object,
            function: (given: object) => {
              seen.push(given)
              return 'sunny'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('It is done.')
    expect(seen).toEqual([{ city: 'Rome' }])
    expect(runner.allChatCompletions()).toHaveLength(2)
  })

  test('is as it is described', async () => {
    const { body: document } = await world.berth.call<{
      paths: Record<string, { post: { responses: Record<string, { content: Record<string, { schema: Schema }> }> } }>
    }>('GET', '/llm/openapi.json')
    const schema = document.paths['/llm/v1/chat/completions']?.post.responses['200']?.content['application/json']
    world.mock.script({
      parts: [{ reasoning: 'Hm.', signature: 'c2ln' }, { text: 'Hi.' }, { tool: 'weather', id: 't1', arguments: '{}' }],
      finish: 'tool_calls',
    })
    const answer = await client.chat.completions.create({ model: 'test/signed', messages: ask('x'), tools })
    const body: unknown = JSON.parse(JSON.stringify(answer))
    expect(problemsOf(body, schema?.schema ?? {}, document as unknown as Schema, { closed: true })).toEqual([])
  })

  test('that is repeated under its Idempotency-Key is the same', async () => {
    const body = { model: 'test/plain', messages: ask('x'), tools }
    const options = { headers: { 'idempotency-key': 'joined-1' } }
    const first = await client.chat.completions.create(body, options)
    expect(await client.chat.completions.create(body, options)).toEqual(first)
    expect(world.mock.requests).toHaveLength(1)
  })
})

describe('without tools and without reasoning', () => {
  test('nothing is joined: the upstream is asked for a whole answer', async () => {
    await client.chat.completions.create({ model: 'test/plain', messages: ask('x'), tool_choice: 'auto' })
    expect(world.mock.requests[0]?.body['stream']).toBe(false)
  })
})

describe('a stream that cannot be joined', () => {
  const body = { model: 'test/plain', messages: ask('x'), tools }

  test('because it is cut off is an error with its own status, and is charged what was seen', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { cut: true }] })
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({ status: 502, code: 'upstream_error' })
    const { organizationId } = idsOf(world.owner)
    const { body: told } = await world.berth.ask(
      `{ inferenceRequests(organizationId: "${encodeId('organization', organizationId)}", first: 1) { nodes { status outputTokens } } }`,
      { token: world.owner },
    )
    expect(told.data).toEqual({ inferenceRequests: { nodes: [{ status: 'CUT_BY_UPSTREAM', outputTokens: 1 }] } })
  })

  test('because it is too long is told so, and its upstream is left', async () => {
    const flood = { text: Array.from({ length: 40 }, () => 'x'.repeat(500_000)) }
    world.mock.script({ parts: [flood, { hang: true }] })
    await expect(client.chat.completions.create(body)).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining('too many to be joined. Send stream: true.'),
    })
    const asked = await world.mock.request(0)
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })

  test('because its caller leaves ends at the provider', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    const leaving = new AbortController()
    const asking = client.chat.completions.create(body, { signal: leaving.signal })
    const asked = await world.mock.request(0)
    leaving.abort()
    await expect(asking).rejects.toThrow()
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })
})

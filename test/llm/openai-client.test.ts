/** OpenAI's own client, unmodified, against the gateway: answers, streams, tools over two turns, reasoning replayed, every class of its errors. */
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
let client: OpenAI
beforeAll(async () => {
  world = await startChatWorld()
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.berth.url}/llm/v1`, maxRetries: 0 })
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

type Message = OpenAI.ChatCompletionMessageParam
type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }
/** What our chunks have beside OpenAI's. */
type Delta = OpenAI.ChatCompletionChunk.Choice.Delta & {
  reasoning_content?: string
  reasoning_meta?: { id: string | null; index: number; model: string; signature?: string; encrypted_content?: string }
}

const demo = 'berth/demo'
const ask = (content: string): Message[] => [{ role: 'user', content }]
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]

/** Reads a stream chunk by chunk, as our documentation shows. */
async function collect(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<{
  text: string
  reasoning: string
  metas: NonNullable<Delta['reasoning_meta']>[]
  calls: ToolCall[]
  finish: string | null
  usage: OpenAI.CompletionUsage | null
  chunks: OpenAI.ChatCompletionChunk[]
}> {
  const seen: Awaited<ReturnType<typeof collect>> = {
    text: '',
    reasoning: '',
    metas: [],
    calls: [],
    finish: null,
    usage: null,
    chunks: [],
  }
  for await (const chunk of stream) {
    seen.chunks.push(chunk)
    seen.usage = chunk.usage ?? seen.usage
    const [choice] = chunk.choices
    if (!choice) continue
    const delta: Delta = choice.delta
    seen.text += delta.content ?? ''
    seen.reasoning += delta.reasoning_content ?? ''
    if (delta.reasoning_meta) seen.metas.push(delta.reasoning_meta)
    for (const { index, id, function: named } of delta.tool_calls ?? []) {
      if (id) seen.calls[index] = { id, type: 'function', function: { name: named?.name ?? '', arguments: '' } }
      const call = seen.calls[index]
      if (call) call.function.arguments += named?.arguments ?? ''
    }
    seen.finish = choice.finish_reason ?? seen.finish
  }
  return seen
}

describe('an answer of the built-in model', () => {
  test('is whole', async () => {
    const answer = await client.chat.completions.create({ model: demo, messages: ask('!say Hello from the script') })
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: expect.stringContaining('Hello from the script') },
    })
    expect(answer.usage?.total_tokens).toBe((answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0))
    expect(answer._request_id).toMatch(/^req_/)
  })

  test('is streamed, with its usage when that is wanted, and as the client’s own helper puts it together', async () => {
    const messages = ask('!repeat 5 word ')
    const { text, finish, usage, chunks } = await collect(
      await client.chat.completions.create({
        model: demo,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      }),
    )
    expect(text.match(/word/g)).toHaveLength(5)
    expect([finish, chunks.at(-1)?.choices, chunks.slice(0, -1).every((chunk) => chunk.usage === null)]).toEqual([
      'stop',
      [],
      true,
    ])
    expect(usage?.completion_tokens).toBeGreaterThan(0)
    const helped = await client.chat.completions.stream({ model: demo, messages }).finalChatCompletion()
    expect(helped.choices[0]?.message.content).toBe(text)
  })

  test('calls a tool, and goes on with its result', async () => {
    const messages: Message[] = ask('!say Let me look.\n!tool weather {"city":"Rome"}\n!say It is done.')
    const first = await collect(await client.chat.completions.create({ model: demo, messages, tools, stream: true }))
    expect(first).toMatchObject({
      finish: 'tool_calls',
      calls: [{ type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
    })
    messages.push(
      { role: 'assistant', content: first.text, tool_calls: first.calls },
      { role: 'tool', tool_call_id: first.calls[0]?.id ?? '', content: 'sunny' },
    )
    const second = await collect(await client.chat.completions.create({ model: demo, messages, tools, stream: true }))
    expect(second).toMatchObject({ finish: 'stop', text: expect.stringContaining('It is done.') })
  })

  test('calls two tools at once, as the client’s helper puts them together', async () => {
    const helped = await client.chat.completions
      .stream({ model: demo, messages: ask('!tool weather {"city":"Rome"}\n!tool+ weather {"city":"Oslo"}'), tools })
      .finalChatCompletion()
    expect(
      helped.choices[0]?.message.tool_calls?.map((call) => ('function' in call ? call.function.arguments : '')),
    ).toEqual(['{"city":"Rome"}', '{"city":"Oslo"}'])
  })
})

describe('reasoning', () => {
  test('of Anthropic’s format comes with its signature, and is replayed with it on the next turn', async () => {
    world.mock.script({
      parts: [
        { reasoning: ['Let me ', 'look.'], signature: 'c2ln' },
        { tool: 'weather', id: 'toolu_1', arguments: '{"city":"Rome"}' },
      ],
      finish: 'tool_calls',
    })
    const messages: Message[] = ask('Weather?')
    const first = await collect(
      await client.chat.completions.create({
        model: 'test/signed',
        messages,
        tools,
        stream: true,
        reasoning_effort: 'high',
      }),
    )
    expect(first).toMatchObject({
      reasoning: 'Let me look.',
      finish: 'tool_calls',
      metas: [{ index: 0, model: 'test/signed', signature: 'c2ln' }],
    })
    const [meta] = first.metas
    const block = { type: 'reasoning', text: first.reasoning, model: meta?.model, signature: meta?.signature }
    messages.push({ role: 'assistant', content: [block], tool_calls: first.calls } as unknown as Message, {
      role: 'tool',
      tool_call_id: 'toolu_1',
      content: 'sunny',
    }) // the documented block is ours, not OpenAI's
    const second = await collect(
      await client.chat.completions.create({
        model: 'test/signed',
        messages,
        tools,
        stream: true,
        reasoning_effort: 'high',
      }),
    )
    expect(second.finish).toBe('stop')
    expect(world.mock.requests[1]?.path).toBe('/v1/messages')
    expect(world.mock.requests[1]?.body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ])
  })

  test('of OpenAI’s format comes encrypted with its id, and without the id is refused before anything is sent', async () => {
    world.mock.script({ parts: [{ reasoning: 'Hm.', id: 'rs_9', encrypted: 'ZW5j' }, { text: 'Sunny.' }] })
    const first = await collect(
      await client.chat.completions.create({
        model: 'test/sealed',
        messages: ask('Weather?'),
        stream: true,
        reasoning_effort: 'high',
      }),
    )
    expect(first.metas).toEqual([{ id: 'rs_9', index: 0, model: 'test/sealed', encrypted_content: 'ZW5j' }])
    const again = (block: Record<string, unknown>, model = 'test/sealed'): Promise<unknown> =>
      client.chat.completions.create({
        model,
        messages: [
          ...ask('Weather?'),
          {
            role: 'assistant',
            content: [
              { type: 'reasoning', text: 'Hm.', ...block },
              { type: 'text', text: 'Sunny.' },
            ],
          } as unknown as Message,
          ...ask('And now?'),
        ],
      })
    const { id, encrypted_content, model } = first.metas[0] ?? { id: null, model: '' }
    await expect(again({ model, encrypted_content })).rejects.toMatchObject({
      status: 400,
      code: 'reasoning_id_missing',
    })
    await expect(again({ id, model, encrypted_content }, 'test/plain')).rejects.toMatchObject({
      status: 400,
      code: 'reasoning_model_mismatch',
    })
    expect(world.mock.requests).toHaveLength(1)
    await again({ id, model, encrypted_content })
    expect(JSON.stringify(world.mock.requests[1]?.body['input'])).toContain('"encrypted_content":"ZW5j"')
  })

  test('of the built-in model can be replayed too', async () => {
    const messages = ask('!reason First I think.\n!tool weather {}\n!say Done.')
    const first = await collect(
      await client.chat.completions.create({ model: demo, messages, tools, stream: true, reasoning_effort: 'low' }),
    )
    expect(first.reasoning).toContain('First I think.')
    const [meta] = first.metas
    messages.push(
      {
        role: 'assistant',
        content: [{ type: 'reasoning', text: first.reasoning, ...meta }],
        tool_calls: first.calls,
      } as unknown as Message,
      { role: 'tool', tool_call_id: first.calls[0]?.id ?? '', content: 'ok' },
    )
    expect(
      (
        await collect(
          await client.chat.completions.create({ model: demo, messages, tools, stream: true, reasoning_effort: 'low' }),
        )
      ).text,
    ).toContain('Done.')
  })
})

describe('models', () => {
  test('are listed, and one is retrieved', async () => {
    const ids = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(expect.arrayContaining([demo, 'test/signed']))
    expect(await client.models.retrieve(demo)).toMatchObject({ id: demo, object: 'model' })
  })
})

describe('an error', () => {
  const failing = (status: number): void =>
    world.mock.script(...Array.from({ length: 4 }, () => ({ status, body: '{}' })))
  const body = { model: 'test/plain', messages: ask('x') }
  const withKey = (apiKey: string): OpenAI => client.withOptions({ apiKey })
  test.each<[string, () => Promise<unknown>, new (...args: never[]) => Error, Record<string, unknown>]>([
    [
      '400',
      () => client.chat.completions.create({ ...body, model: 'absent' }),
      OpenAI.BadRequestError,
      { status: 400, code: 'unsupported_model', type: 'invalid_request_error' },
    ],
    [
      '401',
      () => withKey('wrong').chat.completions.create(body),
      OpenAI.AuthenticationError,
      { status: 401, code: 'key_invalid', type: 'authentication_error' },
    ],
    [
      '402',
      () => client.chat.completions.create({ ...body, model: 'test/dear' }),
      OpenAI.APIError,
      { status: 402, code: 'insufficient_credits', type: 'billing_error' },
    ],
    [
      '404',
      () => client.moderations.create({ input: 'x' }),
      OpenAI.NotFoundError,
      { status: 404, code: 'route_not_found', type: 'not_found_error' },
    ],
    [
      '429',
      () => (failing(429), client.chat.completions.create(body)),
      OpenAI.RateLimitError,
      { status: 429, code: 'upstream_rate_limited', type: 'rate_limit_error' },
    ],
    [
      '502',
      () => (failing(500), client.chat.completions.create({ ...body, stream: true })),
      OpenAI.InternalServerError,
      { status: 502, code: 'upstream_error', type: 'api_error' },
    ],
    [
      '503',
      () => (failing(503), client.chat.completions.create(body)),
      OpenAI.InternalServerError,
      { status: 503, code: 'upstream_overloaded', type: 'overloaded_error' },
    ],
  ])(
    '%s is thrown as the class that it has for it, with code, type and request id',
    async (_status, work, kind, fields) => {
      const error = await work().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({ ...fields, requestID: expect.stringMatching(/^req_/), param: null })
    },
  )

  test('403 is a permission error', async () => {
    const viewer = await world.berth.token('victor', 'acme', 'viewer')
    await expect(withKey(viewer).chat.completions.create(body)).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError)
  })

  test('after the first chunk is thrown in the middle of the stream', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { cut: true }] })
    let text = ''
    const reading = (async () => {
      for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
        text += chunk.choices[0]?.delta.content ?? ''
    })()
    await expect(reading).rejects.toMatchObject({ code: 'upstream_error', type: 'api_error' })
    expect(text).toBe('half')
  })

  test('that a retry mends is retried by the client itself, and 402 and 409 are not', async () => {
    failing(503)
    const retrying = client.withOptions({ maxRetries: 1 })
    const tries: string[] = []
    const counting = retrying.withOptions({
      fetch: async (url, init) => {
        const answer = await fetch(url, init)
        tries.push(String(answer.status))
        world.mock.forget()
        return answer
      },
    })
    await counting.chat.completions.create(body)
    expect(tries).toEqual(['503', '200'])
    await counting.chat.completions.create({ ...body, model: 'test/dear' }).catch(() => undefined) // refused, as the test above says
    const headers = { 'idempotency-key': 'openai' }
    await counting.chat.completions.create(body, { headers })
    await counting.chat.completions.create({ ...body, user: 'other' }, { headers }).catch(() => undefined) // refused: it is another request
    expect(tries.slice(2)).toEqual(['402', '200', '409'])
  })

  test('is not reported for a reader that breaks off, whose request at the provider ends', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
      if (chunk.choices[0]?.delta.content) break
    const asked = await world.mock.request(0)
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })
})

/** Anthropic's own client, unmodified, against the gateway: answers, streams, tools, thinking replayed, counts, and every class of its errors. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

let world: ChatWorld
let client: Anthropic
beforeAll(async () => {
  world = await startChatWorld()
  client = clientWith({ apiKey: world.key })
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const clientWith = (options: ConstructorParameters<typeof Anthropic>[0]): Anthropic =>
  new Anthropic({ baseURL: `${world.berth.url}/anthropic`, apiKey: null, authToken: null, maxRetries: 0, ...options })

type Input = Anthropic.MessageParam
const demo = { model: 'berth/demo', max_tokens: 4096 }
const ask = (content: string): Input[] => [{ role: 'user', content }]
const tools: Anthropic.Tool[] = [
  { name: 'weather', description: 'x', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
]
const thinking = { type: 'enabled', budget_tokens: 1024 } as const
const models = ['test/signed', 'test/sealed', 'test/plain'] // Anthropic's format, OpenAI's responses, chat completions

test('one client with one base URL has messages, models and agents, and the other addresses name it', async () => {
  const person = clientWith({ authToken: await world.berth.token() })
  const agent = await person.beta.agents.create({ name: 'One', model: 'berth/demo' })
  const answer = await person.messages.create({ ...demo, messages: ask('!say both') })
  expect(answer.content).toMatchObject([{ text: expect.stringContaining('both') }])
  expect((await person.beta.agents.retrieve(agent.id)).id).toBe(agent.id)
  expect((await person.models.list()).data.map(({ id }) => id)).toContain('berth/demo')
  expect((await client.models.list()).data.map(({ id }) => id)).toContain('berth/demo')
  for (const [at, asked, named] of [
    ['agents', (one: Anthropic) => one.messages.create({ ...demo, messages: ask('x') }), '/llm/v1/messages'],
    ['llm', (one: Anthropic) => one.beta.agents.retrieve(agent.id), '/agents/v1/agents'],
    ['llm', (one: Anthropic) => one.beta.files.list().then(() => null), '/agents/v1/files'],
  ] as const) {
    const elsewhere = clientWith({ authToken: await world.berth.token(), baseURL: `${world.berth.url}/${at}` })
    await expect(asked(elsewhere)).rejects.toThrow(new RegExp(`404.*${named}; with the base URL /anthropic`))
  }
})

describe('an answer', () => {
  test('is whole', async () => {
    const answer = await client.messages.create({ ...demo, messages: ask('!say Hello from the script') })
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^msg_[0-9a-z]{26}$/),
      type: 'message',
      role: 'assistant',
      model: 'berth/demo',
      content: [{ type: 'text', text: expect.stringContaining('Hello from the script') }],
      stop_reason: 'end_turn',
      stop_sequence: null,
    })
    expect(answer.usage.output_tokens).toBeGreaterThan(0)
    expect(answer._request_id).toMatch(/^req_/)
  })

  test.each(models)('of %s is streamed, and as the client’s own helper puts it together', async (model) => {
    world.mock.script({ parts: [{ text: ['Hel', 'lo.'] }], cacheReadTokens: 1 })
    const stream = client.messages.stream({ model, max_tokens: 100, messages: ask('Hello there, you') })
    const heard: string[] = []
    const whole = await stream.on('text', (piece) => heard.push(piece)).finalMessage()
    expect(whole.content).toEqual([{ type: 'text', text: 'Hello.', citations: [] }])
    expect([heard, whole.stop_reason, whole.model]).toEqual([['Hel', 'lo.'], 'end_turn', model])
    const { usage } = whole
    expect([usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens]).toEqual([1, 0, 2])
    expect(usage.input_tokens).toBeGreaterThan(0)
  })

  test('of the raw stream has Anthropic’s events in their order', async () => {
    const types: string[] = []
    const stream = await client.messages.create({ ...demo, stream: true, messages: ask('!say Hi') })
    for await (const event of stream) if (event.type !== types.at(-1)) types.push(event.type)
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  test('says which stop sequence ended it, and that it reached its limit', async () => {
    const stopped = await client.messages.create({
      ...demo,
      messages: ask('!say one two three'),
      stop_sequences: ['x', 'two'],
    })
    expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two', content: [{ text: 'one ' }] })
    const cut = await client.messages.create({ ...demo, max_tokens: 1, messages: ask('!say one two three') })
    expect([cut.stop_reason, cut.stop_sequence]).toEqual(['max_tokens', null])
  })

  test('of a key is given to x-api-key, to Authorization, and to a person’s token', async () => {
    for (const options of [{ apiKey: world.key }, { authToken: world.key }, { authToken: world.owner }])
      expect((await clientWith(options).messages.create({ ...demo, messages: ask('Hello') })).type).toBe('message')
    expect((await client.beta.messages.create({ ...demo, messages: ask('Hello') })).type).toBe('message')
  })
})

describe('tools', () => {
  test.each(['stream', 'whole'] as const)('are called and answered over two turns: %s', async (way) => {
    const messages = ask('!say Let me look.\n!tool weather {"city":"Rome"}\n!say It is done.')
    const next = (): Promise<Anthropic.Message> =>
      way === 'stream'
        ? client.messages.stream({ ...demo, messages, tools }).finalMessage()
        : client.messages.create({ ...demo, messages, tools })
    const first = await next()
    expect(first.stop_reason).toBe('tool_use')
    const call = first.content.find((block) => block.type === 'tool_use')
    expect(call).toMatchObject({ name: 'weather', input: { city: 'Rome' } })
    messages.push(
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call!.id, content: 'sunny' }] },
    )
    const second = await next()
    expect([second.stop_reason, second.content]).toEqual([
      'end_turn',
      [{ type: 'text', text: expect.stringContaining('It is done.'), citations: [] }],
    ])
  })

  test.each(models)('of %s: several at once, and the choice is respected', async (model) => {
    world.mock.script({
      parts: [
        { tool: 'weather', id: 't_1', arguments: ['{"city":', '"Rome"}'] },
        { tool: 'weather', id: 't_2', arguments: '{}' },
      ],
    })
    const tool_choice = { type: 'tool', name: 'weather' } as const
    const answer = await client.messages
      .stream({ model, max_tokens: 100, messages: ask('x'), tools, tool_choice })
      .finalMessage()
    expect(answer.content.map((block) => (block.type === 'tool_use' ? [block.id, block.input] : block))).toEqual([
      ['t_1', { city: 'Rome' }],
      ['t_2', {}],
    ])
    expect(JSON.stringify(world.mock.requests.at(-1)?.body['tool_choice'])).toContain('weather')
  })

  test('are run by the client’s own runner, which hears that threads are not kept and sends all messages', async () => {
    const seen: unknown[] = []
    const runner = client.beta.messages.toolRunner({
      ...demo,
      messages: [{ role: 'user', content: '!tool weather {"city":"Rome"}\n!say It is done.' }],
      tools: [
        {
          type: 'custom',
          name: 'weather',
          description: 'x',
          input_schema: { type: 'object' },
          parse: (input) => input,
          run: (input) => {
            seen.push(input)
            return 'sunny'
          },
        },
      ],
    })
    expect(JSON.stringify((await runner).content)).toContain('It is done.')
    expect(seen).toEqual([{ city: 'Rome' }])
  })
})

describe('thinking', () => {
  test.each([...models.slice(0, 2), 'berth/demo'])('of %s comes signed, and is replayed as it was', async (model) => {
    const played = {
      parts: [{ reasoning: ['Let me ', 'think.'], id: 'rs_1', signature: 'c2ln', encrypted: 'ZW5j' }, { text: 'Hi.' }],
    }
    world.mock.script(played, played)
    const messages = ask('Hello')
    const request = { model, max_tokens: 4000, messages, thinking }
    const whole = await client.messages.create(request)
    const streamed = await client.messages.stream(request).finalMessage()
    expect(streamed.content).toEqual(whole.content)
    const [block] = whole.content
    expect(block).toEqual({
      type: 'thinking',
      thinking: model === 'berth/demo' ? expect.any(String) : 'Let me think.',
      signature: expect.stringMatching(/./),
    })
    messages.push({ role: 'assistant', content: whole.content }, { role: 'user', content: 'Go on' })
    expect((await client.messages.create(request)).type).toBe('message')
    const sent = world.mock.requests.at(-1)?.bodyText ?? ''
    if (model === 'test/signed') expect(sent).toContain('"thinking":"Let me think.","signature":"c2ln"')
    if (model === 'test/sealed') expect(sent).toContain('"id":"rs_1"') // as is what it encrypted
    if (model === 'test/sealed') expect(sent).toContain('"encrypted_content":"ZW5j"')
  })

  test('of one model is refused by another, before anything is sent', async () => {
    world.mock.script({ parts: [{ reasoning: 'Hm.', id: 'rs_1', encrypted: 'ZW5j' }, { text: 'Hi.' }] })
    const messages = ask('Hello')
    const { content } = await client.messages.create({ model: 'test/sealed', max_tokens: 4000, messages, thinking })
    messages.push({ role: 'assistant', content }, { role: 'user', content: 'Go on' })
    world.mock.forget()
    for (const model of ['test/signed', 'berth/demo', 'test/plain'])
      await expect(client.messages.create({ model, max_tokens: 4000, messages })).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('reasoning of another model'),
      })
    expect(world.mock.requests).toEqual([])
  })

  test('that was redacted comes through unchanged, in both directions', async () => {
    world.mock.script({ parts: [{ redacted: 'c2VjcmV0' }, { text: 'Hi.' }] })
    const messages = ask('Hello')
    const request = { model: 'test/signed', max_tokens: 4000, messages, thinking }
    const { content } = await client.messages.stream(request).finalMessage()
    expect(content[0]).toEqual({ type: 'redacted_thinking', data: 'c2VjcmV0' })
    messages.push({ role: 'assistant', content }, { role: 'user', content: 'Go on' })
    await client.messages.create(request)
    expect(world.mock.requests.at(-1)?.bodyText).toContain('{"type":"redacted_thinking","data":"c2VjcmV0"}')
  })
})

describe('tokens are counted', () => {
  const body = { messages: ask('Hello there'), system: 'Be short.', tools }
  test('by an upstream that can, which is sent the request', async () => {
    world.mock.script({ status: 200, headers: { 'content-type': 'application/json' }, body: '{"input_tokens": 42}' })
    expect(await client.messages.countTokens({ ...body, model: 'test/signed' })).toMatchObject({ input_tokens: 42 })
    expect(world.mock.requests).toMatchObject([
      { path: '/v1/messages/count_tokens', body: { ...body, model: 'mock-signed' } },
    ])
  })

  test('as an estimate for all others', async () => {
    for (const model of ['test/plain', 'berth/demo'])
      expect((await client.messages.countTokens({ ...body, model })).input_tokens).toBeGreaterThan(5)
    expect(world.mock.requests).toEqual([])
  })
})

describe('an error', () => {
  const hello = { model: 'test/plain', max_tokens: 10, messages: ask('Hello') }
  test.each<[string, () => Promise<unknown>, abstract new (...given: never) => Error, number, string]>([
    [
      'a wrong body',
      () => client.messages.create({ ...hello, max_tokens: -1 }),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
    ],
    [
      'a wrong key',
      () => clientWith({ apiKey: 'svc_live_ak_x.y' }).messages.create(hello),
      Anthropic.AuthenticationError,
      401,
      'authentication_error',
    ],
    [
      'no credits',
      () => client.messages.create({ ...hello, model: 'test/dear' }),
      Anthropic.PaymentRequiredError,
      402,
      'billing_error',
    ],
    ['a path that is not there', () => client.messages.batches.list(), Anthropic.NotFoundError, 404, 'not_found_error'],
    [
      'an upstream that is limited',
      () => client.messages.create({ ...hello, model: 'test/plain' }),
      Anthropic.RateLimitError,
      429,
      'rate_limit_error',
    ],
  ])('for %s is typed, with its sentence and its id', async (name, work, type, status, kind) => {
    if (name.includes('limited')) world.mock.script({ status: 429, headers: { 'retry-after': '7' }, body: '{}' })
    const error = await work().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ status, type: kind, requestID: expect.stringMatching(/^req_/) })
    expect((error as InstanceType<typeof Anthropic.APIError>).apiMessage).toMatch(/\w{4}/) // it is one, by the line before
  })

  test('in the middle of a stream is thrown by the client, with its type', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { error: { type: 'overloaded_error', message: 'Overloaded' } }] })
    const heard: string[] = []
    const stream = client.messages.stream({ ...hello, model: 'test/signed' }).on('text', (piece) => heard.push(piece))
    await expect(stream.finalMessage()).rejects.toMatchObject({ type: 'overloaded_error' })
    expect(heard).toEqual(['half'])
  })
})

/** Every parameter that OpenAI's own client has for chat completions: passed on, handled, or refused by name; none is dropped. */
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { membersOf, problemsWith, readDeclarations } from '../support/declared-types.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
let client: OpenAI
beforeAll(async () => {
  world = await startChatWorld()
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.berth.url}/llm/v1`, maxRetries: 0 })
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const declarations = readDeclarations([
  new URL('../../node_modules/openai/resources/chat/completions/completions.d.ts', import.meta.url).pathname,
  new URL('../../node_modules/openai/resources/completions.d.ts', import.meta.url).pathname,
])

/** `chat`, `responses` and `messages` are the wire formats: what a value becomes there, or `refused`; `demo` is the built-in model. */
type Fate = {
  value: unknown
  chat: object | 'refused'
  responses: object | 'refused'
  messages: object | 'refused'
  demo: 'taken' | 'refused'
}
const chatOnly = (name: string, value: unknown): Fate => ({
  value,
  chat: { [name]: value },
  responses: 'refused',
  messages: 'refused',
  demo: 'refused',
})
const nowhere = (value: unknown): Fate => ({
  value,
  chat: 'refused',
  responses: 'refused',
  messages: 'refused',
  demo: 'refused',
})
/** Where it is not known, it changes nothing to go without it. */
const hint = (name: string, value: unknown, messages: object = {}): Fate => ({
  value,
  chat: { [name]: value },
  responses: { [name]: value },
  messages,
  demo: 'taken',
})

const selective: Readonly<Record<string, Fate>> = {
  frequency_penalty: chatOnly('frequency_penalty', 0.5),
  presence_penalty: chatOnly('presence_penalty', -1),
  logit_bias: chatOnly('logit_bias', { 50256: -100 }),
  seed: { ...chatOnly('seed', 7), demo: 'taken' },
  stop: {
    value: ['x'],
    chat: { stop: ['x'] },
    responses: 'refused',
    messages: { stop_sequences: ['x'] },
    demo: 'taken',
  },
  response_format: {
    value: { type: 'json_object' },
    chat: { response_format: { type: 'json_object' } },
    responses: { text: { format: { type: 'json_object' } } },
    messages: { system: [{ type: 'text', text: expect.stringContaining('JSON object') as unknown }] },
    demo: 'taken',
  },
  logprobs: {
    value: true,
    chat: { logprobs: true },
    responses: { include: expect.arrayContaining(['message.output_text.logprobs']) as unknown },
    messages: 'refused',
    demo: 'refused',
  },
  metadata: {
    value: { team: 'x' },
    chat: { metadata: { team: 'x' } },
    responses: { metadata: { team: 'x' } },
    messages: 'refused',
    demo: 'taken',
  },
  service_tier: {
    value: 'priority',
    chat: { service_tier: 'priority' },
    responses: { service_tier: 'priority' },
    messages: 'refused',
    demo: 'refused',
  },
  verbosity: {
    value: 'low',
    chat: { verbosity: 'low' },
    responses: { text: { verbosity: 'low' } },
    messages: 'refused',
    demo: 'refused',
  },
  user: {
    value: 'u1',
    chat: { user: 'u1' },
    responses: { user: 'u1' },
    messages: { metadata: { user_id: 'u1' } },
    demo: 'taken',
  },
  safety_identifier: hint('safety_identifier', 's1', { metadata: { user_id: 's1' } }),
  prompt_cache_key: hint('prompt_cache_key', 'k1'),
  prompt_cache_retention: hint('prompt_cache_retention', '24h'),
  prompt_cache_options: hint('prompt_cache_options', { mode: 'explicit' }),
  prediction: { ...hint('prediction', { type: 'content', content: 'x' }), responses: {} },
  audio: nowhere({ voice: 'alloy', format: 'mp3' }),
  modalities: nowhere(['text', 'audio']),
  functions: nowhere([]),
  function_call: nowhere('auto'),
  moderation: nowhere({}),
  web_search_options: nowhere({}),
  store: nowhere(true),
}
/** What every upstream is asked in its own words, or what is our own affair; held by the other tests of this folder. */
const handled = [
  'messages',
  'model',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'n',
  'top_logprobs',
]
const models = { chat: 'test/plain', responses: 'test/sealed', messages: 'test/signed' } as const
const messages = [{ role: 'user', content: 'Hello' }]

type Body = { error?: { type: string; code: string; message: string } }
const ask = async (body: object, path = '/v1/chat/completions'): Promise<{ status: number; body: Body }> => {
  const answer = await world.post(path, { model: 'berth/demo', messages, ...body })
  return { status: answer.status, body: (await answer.json()) as Body }
}

test('the table below has every parameter of the client, so that an upgrade shows what is new', () => {
  expect([...Object.keys(selective), ...handled].sort()).toEqual(
    [...membersOf(declarations, 'ChatCompletionCreateParamsBase').keys()].sort(),
  )
})

describe.each(Object.entries(selective))('%s', (name, fate) => {
  test.each(Object.entries(models))('at an upstream of %s', async (format, model) => {
    const wanted = fate[format as keyof typeof models]
    const { status, body } = await ask({ model, [name]: fate.value })
    if (wanted === 'refused') {
      expect([status, body.error?.type, body.error?.code]).toEqual([
        400,
        'invalid_request_error',
        'unsupported_parameter',
      ])
      expect(body.error?.message).toMatch(new RegExp(`^${name} is not supported: `))
      expect(world.mock.requests).toEqual([])
    } else {
      expect([status, body.error]).toEqual([200, undefined])
      expect(world.mock.requests[0]?.body).toMatchObject(wanted)
      if (Object.keys(wanted).length === 0) expect(world.mock.requests[0]?.body).not.toHaveProperty(name)
    }
  })

  test('at the built-in model, and null is as good as absent', async () => {
    expect(await ask({ [name]: fate.value })).toMatchObject(
      fate.demo === 'taken'
        ? { status: 200 }
        : { status: 400, body: { error: { code: 'unsupported_parameter', message: expect.stringContaining(name) } } },
    )
    expect((await ask({ [name]: null })).status).toBe(200)
  })
})

describe('a value', () => {
  test('that is the default anyway is never refused', async () => {
    const usual = {
      frequency_penalty: 0,
      presence_penalty: 0,
      logit_bias: {},
      logprobs: false,
      metadata: {},
      service_tier: 'auto',
      verbosity: 'medium',
      store: false,
      modalities: ['text'],
    }
    for (const model of ['berth/demo', ...Object.values(models)])
      expect((await ask({ model, ...usual })).status, model).toBe(200)
  })

  test('that is out of bounds is refused as such', async () => {
    const wrong: [string, unknown][] = [
      ['frequency_penalty', 2.1],
      ['presence_penalty', '1'],
      ['logit_bias', { a: 101 }],
      ['logit_bias', []],
      ['logprobs', 1],
      ['top_logprobs', 21],
      ['top_logprobs', 2],
      ['metadata', 'x'],
      ['service_tier', 'gold'],
      ['verbosity', 'loud'],
      ['prediction', 'x'],
      ['prompt_cache_key', 5],
      ['safety_identifier', 'x'.repeat(1025)],
      ['logit_bias', Object.fromEntries(Array.from({ length: 1025 }, (_, at) => [at, 1]))],
    ]
    for (const [name, value] of wrong)
      expect(await ask({ model: models.chat, [name]: value }), name).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_parameter', message: expect.stringMatching(`^${name} `) } },
      })
    expect(world.mock.requests).toEqual([])
  })

  test('of Anthropic’s own metadata and tier is passed on to it', async () => {
    expect((await ask({ model: models.messages, metadata: { user_id: 'u9' }, service_tier: 'default' })).status).toBe(
      200,
    )
    expect(world.mock.requests[0]?.body).toMatchObject({ metadata: { user_id: 'u9' }, service_tier: 'standard_only' })
  })
})

const values: [string, object, Record<keyof typeof models, object | RegExp>][] = [
  [
    'temperature above 1',
    { temperature: 1.5 },
    {
      chat: { temperature: 1.5 },
      responses: { temperature: 1.5 },
      messages: /^temperature of this value is not supported: test\/signed takes 1 at most\. Change it/,
    },
  ],
  [
    'temperature and top_p',
    { temperature: 0.5, top_p: 0.25 },
    {
      chat: { temperature: 0.5, top_p: 0.25 },
      responses: { temperature: 0.5, top_p: 0.25 },
      messages: { temperature: 0.5, top_p: 0.25 },
    },
  ],
  [
    'few tokens',
    { max_completion_tokens: 15 },
    {
      chat: { max_tokens: 15 },
      responses: { max_output_tokens: 16 },
      messages: { max_tokens: 15 },
    },
  ],
  [
    'the fewest tokens of all',
    { max_tokens: 16 },
    { chat: { max_tokens: 16 }, responses: { max_output_tokens: 16 }, messages: { max_tokens: 16 } },
  ],
]
describe.each(values)('%s', (_name, given, fates) => {
  test.each(Object.entries(models))('at an upstream of %s, as written or refused', async (format, model) => {
    const fate = fates[format as keyof typeof models] // the entries are of that object
    const { status, body } = await ask({ model, ...given })
    if (fate instanceof RegExp) {
      expect([status, body.error?.code]).toEqual([400, 'unsupported_parameter'])
      expect(body.error?.message).toMatch(fate)
      expect(world.mock.requests).toEqual([])
    } else {
      expect([status, body.error]).toEqual([200, undefined])
      expect(world.mock.requests[0]?.body).toMatchObject(fate)
    }
  })
})

test('a parameter that OpenAI does not document is ignored', async () => {
  expect((await ask({ model: models.chat, chat_template_kwargs: { a: 1 }, top_k: 5, extra: true })).status).toBe(200)
  expect(world.mock.requests[0]?.body).not.toHaveProperty('top_k')
})

test('of several upstreams only those that support the parameter are tried, also when they fail', async () => {
  const first = await world.post('/v1/chat/completions', { model: 'test/mixed', messages })
  expect([first.status, first.headers.get('x-berth-upstream')]).toEqual([200, 'openai'])
  const penalized = await world.post('/v1/chat/completions', { model: 'test/mixed', messages, frequency_penalty: 1 })
  expect([
    penalized.status,
    penalized.headers.get('x-berth-upstream'),
    penalized.headers.get('x-berth-attempts'),
  ]).toEqual([200, 'local', '1'])
  world.mock.script(...[500, 500].map((status) => ({ status, body: '{}' })))
  const failed = await world.post('/v1/chat/completions', { model: 'test/mixed', messages, frequency_penalty: 1 })
  expect([failed.status, failed.headers.get('x-berth-upstream')]).toEqual([502, 'local'])
  expect(world.mock.requests.map(({ format }) => format)).toEqual(['responses', 'chat', 'chat', 'chat'])
})

test('the UI message stream, which has no place for probabilities, refuses them, and takes the others', async () => {
  const ui = { model: models.chat, messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] }
  expect(await ask({ ...ui, logprobs: true }, '/v1/chat')).toMatchObject({
    status: 400,
    body: { error: { code: 'unsupported_parameter' } },
  })
  const answer = await world.post('/v1/chat', { ...ui, frequency_penalty: 1 })
  await answer.text()
  expect([answer.status, world.mock.requests[0]?.body['frequency_penalty']]).toEqual([200, 1])
})

describe('what comes back', () => {
  const token = (text: string): object => ({
    token: text,
    logprob: -0.5,
    bytes: [...Buffer.from(text)],
    top_logprobs: [{ token: 'Ho', logprob: -2, bytes: null }],
  })
  const whole = (
    message: object,
    logprobs: unknown,
  ): { status: number; headers: Record<string, string>; body: string } => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, logprobs, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  })
  const streamed = (...choices: object[]): { status: number; headers: Record<string, string>; body: string } => ({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: `${choices.map((choice) => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] })}\n\n`).join('')}data: [DONE]\n\n`,
  })
  const plain = { model: models.chat, messages: messages as OpenAI.ChatCompletionMessageParam[] }

  test('whole has what OpenAI’s own type has: refusal and logprobs, null where there are none', async () => {
    for (const model of ['berth/demo', ...Object.values(models)]) {
      const answer = await client.chat.completions.create({ ...plain, model })
      expect(answer.choices[0]).toMatchObject({
        message: { refusal: null, content: expect.any(String) },
        logprobs: null,
      })
      expect(
        problemsWith(answer.choices[0]?.message, { kind: 'named', name: 'ChatCompletionMessage' }, declarations),
        model,
      ).toEqual([])
    }
  })

  test('whole has a refusal and the probabilities of its tokens', async () => {
    world.mock.script(
      whole({ role: 'assistant', content: null, refusal: 'I will not.' }, { content: null, refusal: [token('I')] }),
      whole({ role: 'assistant', content: 'Hi', refusal: null }, { content: [token('Hi')], refusal: null }),
    )
    const refusing = await client.chat.completions.create({ ...plain, logprobs: true })
    expect(refusing.choices[0]).toMatchObject({
      message: { content: null, refusal: 'I will not.' },
      logprobs: { content: null, refusal: [token('I')] },
    })
    const answering = await client.chat.completions.create({ ...plain, logprobs: true, top_logprobs: 1 })
    expect(answering.choices[0]).toMatchObject({
      message: { content: 'Hi', refusal: null },
      logprobs: { content: [token('Hi')], refusal: null },
    })
    expect(world.mock.requests[1]?.body).toMatchObject({ logprobs: true, top_logprobs: 1 })
  })

  test('as a stream has them in its chunks, a token without text of its own too', async () => {
    world.mock.script(
      streamed(
        { delta: { role: 'assistant', content: 'H' }, logprobs: { content: [token('H')], refusal: null } },
        { delta: { content: '' }, logprobs: { content: [token('i')], refusal: null } },
        { delta: { refusal: 'No' }, logprobs: { content: null, refusal: [token('No')] } },
        { delta: {}, finish_reason: 'stop' },
      ),
    )
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of await client.chat.completions.create({ ...plain, stream: true, logprobs: true }))
      chunks.push(chunk)
    const choices = chunks.map(({ choices: [choice] }) => choice)
    expect(choices.map((choice) => choice?.delta.content ?? '').join('')).toBe('H')
    expect(choices.map((choice) => choice?.delta.refusal ?? '').join('')).toBe('No')
    expect(choices.flatMap((choice) => choice?.logprobs?.content ?? [])).toEqual([token('H'), token('i')])
    expect(choices.flatMap((choice) => choice?.logprobs?.refusal ?? [])).toEqual([token('No')])
  })

  test('of OpenAI’s responses has their probabilities as chat completions tell them', async () => {
    const { bytes: _bytes, ...bare } = token('Hi') as { bytes: unknown }
    world.mock.script({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi', logprobs: [bare] }] }],
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    })
    const answer = await client.chat.completions.create({ ...plain, model: models.responses, logprobs: true })
    expect(answer.choices[0]?.logprobs?.content).toEqual([
      { token: 'Hi', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'Ho', logprob: -2, bytes: null }] },
    ])
  })
})

/** `POST /v1/responses`: what is refused and how, what it costs, and that its description is true. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { idsOf } from '../support/makers.ts'
import { problemsOf, type Schema } from '../contract/json-schema.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const path = '/v1/responses'
const ask = (body: unknown, options?: Parameters<ChatWorld['post']>[2]): Promise<Response> =>
  world.post(path, body, options)
const told = async (answer: Response): Promise<string> => {
  const { error } = (await answer.json()) as { error: Record<string, string> }
  return `${answer.status} ${error['code']}: ${error['message']}`
}
const plain = { model: 'test/plain', input: 'Hello there' }
const user = { role: 'user', content: 'x' }
const call = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'c1', output: 'sunny' }
const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } }

/** The events of a stream. */
async function eventsOf(answer: Response): Promise<Record<string, unknown>[]> {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  const frames = (await answer.text()).split('\n\n').filter((frame) => frame.startsWith('event: '))
  return frames.map((frame) => {
    const [, name, data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? []
    const event = JSON.parse(data) as Record<string, unknown>
    expect(event['type']).toBe(name)
    return event
  })
}

async function ledgerRow(): Promise<Record<string, unknown>> {
  const org = encodeId('organization', idsOf(world.owner).organizationId)
  const { body } = await world.berth.ask(
    `{ inferenceRequests(organizationId: "${org}", first: 1) { nodes { modelId route status upstream inputTokens outputTokens } } }`,
    { token: world.owner },
  )
  return (body.data as { inferenceRequests: { nodes: Record<string, unknown>[] } }).inferenceRequests.nodes[0] ?? {}
}

describe('the description', () => {
  type Described = {
    requestBody: { content: Record<string, { schema: Schema }> }
    responses: Record<string, { content: Record<string, { schema: Schema }> }>
  }
  const rich = {
    model: 'test/signed',
    instructions: 'Be kind.',
    reasoning: { effort: 'high', summary: 'auto' },
    tools: [{ ...weather, description: 'x', strict: true }],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'weather' }] },
    text: { format: { type: 'text' } },
    metadata: { a: 'b' },
    max_output_tokens: 2_000,
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'x' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'y' }] },
      call,
      output,
    ],
  }
  const script = {
    parts: [
      { redacted: 'aGlkZGVu' },
      { reasoning: 'Hm.', signature: 'c2ln' },
      { text: 'Hi.' },
      { tool: 'weather', id: 't1', arguments: '{}' },
    ],
    finish: 'tool_calls',
  }

  test('is what is taken and answered, whole and streamed, and refuses what is refused', async () => {
    const { body: document } = await world.berth.call<Schema>('GET', '/llm/openapi.json')
    const { post } = (document as unknown as { paths: Record<string, { post: Described }> }).paths[path]!
    const check = (value: unknown, schema: Schema | undefined): string[] =>
      problemsOf(value, schema ?? {}, document, { closed: true })
    const taken = post.requestBody.content['application/json']?.schema
    const answered = post.responses['200']?.content
    expect(check(rich, taken)).toEqual([])
    world.mock.script(script, script, { parts: [{ text: 'half' }, { cut: true }] })
    expect(check(await (await ask(rich)).json(), answered?.['application/json']?.schema)).toEqual([])
    const events = [
      ...(await eventsOf(await ask({ ...rich, stream: true }))),
      ...(await eventsOf(await ask({ ...rich, stream: true }))),
    ]
    expect(events.length).toBeGreaterThan(20)
    expect(events.at(-1)?.['type']).toBe('error')
    expect(events.flatMap((event) => check(event, answered?.['text/event-stream']?.schema))).toEqual([])
    for (const wrong of [{}, { ...rich, store: true }, { ...rich, input: [] }, { ...rich, colour: 'red' }])
      expect(check(wrong, taken), JSON.stringify(wrong).slice(0, 50)).not.toEqual([])
    for (const status of ['400', '401', '402', '403', '409', '413', '429', '502', '503', '504'])
      expect(post.responses).toHaveProperty(status)
  })
})

describe('a request', () => {
  test('is in the ledger with its route, and its id is that of the response', async () => {
    const { id } = (await (await ask(plain)).json()) as { id: string }
    expect(await ledgerRow()).toMatchObject({ modelId: 'test/plain', route: 'RESPONSES', status: 'COMPLETED' })
    expect(id).toMatch(/^resp_/)
  })

  test('needs a key with the scope for chats', async () => {
    expect(await told(await ask(plain, { token: null }))).toContain('401 key_missing')
    const viewer = await world.berth.token('victor', 'acme', 'viewer')
    expect(await told(await ask(plain, { token: viewer }))).toContain('403 missing_scope')
  })

  test('is answered from the next upstream when one fails, and repeated under its Idempotency-Key', async () => {
    world.mock.script({ status: 500, body: '{}' }, { status: 500, body: '{}' })
    const headers = { 'idempotency-key': 'respond-once' }
    const body = { ...plain, model: 'test/doubled', stream: true }
    const first = await ask(body, { headers })
    expect(first.headers.get('x-berth-upstream')).toBe('spare')
    const answered = await first.text()
    const second = await ask(body, { headers })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await second.text()).toBe(answered)
    expect(world.mock.requests).toHaveLength(3)
  })

  test('whose caller leaves ends at the provider, and is charged what was seen', async () => {
    world.mock.script({ parts: [{ text: 'half of it' }, { hang: true }] })
    const leaving = new AbortController()
    const answer = await ask({ ...plain, stream: true }, { signal: leaving.signal })
    const reader = answer.body!.getReader()
    await reader.read()
    const asked = await world.mock.request(0)
    leaving.abort()
    await asked.ended
    expect(asked.outcome).toBe('aborted')
    await expect.poll(async () => (await ledgerRow())['status'], { timeout: 10_000 }).toBe('CUT_BY_CLIENT')
  })

  test('that is longer than the end of its stream can repeat is cut off with an error, and its upstream is left', async () => {
    world.mock.script({ parts: [{ text: Array.from({ length: 50 }, () => 'x'.repeat(100_000)) }, { hang: true }] })
    const answer = await world.post('/v1/responses', { model: 'test/plain', input: 'x', stream: true })
    const events = await eventsOf(answer)
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code: 'upstream_error',
      message: expect.stringContaining('more than 4194304 characters'),
      error: { service_id: 'local' },
    })
    const asked = await world.mock.request(0)
    await asked.ended
    expect([asked.outcome, (await ledgerRow())['status']]).toEqual(['aborted', 'CUT_BY_CLIENT'])
  })

  test('offers only the functions that its choice allows, and lists all of them in the answer', async () => {
    const other = { ...weather, name: 'other' }
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather' }] }
    const answer = await ask({ ...plain, tools: [weather, other], tool_choice: choice })
    expect(((await answer.json()) as { tools: unknown[] }).tools).toHaveLength(2)
    expect(world.mock.requests[0]?.body).toMatchObject({
      tools: [{ function: { name: 'weather' } }],
      tool_choice: 'required',
    })
  })

  test('may limit built-in tools, and say that only the model calls its functions: so it is here', async () => {
    const answer = await ask({ ...plain, max_tool_calls: 3, tools: [{ ...weather, allowed_callers: ['direct'] }] })
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { max_tool_calls: 3, tools: [{ name: 'weather' }] },
    ])
    expect(world.mock.requests[0]?.body).not.toHaveProperty('max_tool_calls')
    const other = await ask({ ...plain, tools: [{ ...weather, allowed_callers: ['direct', 'programmatic'] }] })
    expect(other.status).toBe(400)
  })

  test('gets log probabilities where it includes them', async () => {
    const logprobs = { content: [{ token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [] }] }
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' }, logprobs }]
    world.mock.script({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choices }),
    })
    const answer = await ask({ ...plain, include: ['message.output_text.logprobs'], top_logprobs: 1 })
    expect(await answer.json()).toMatchObject({ output: [{ content: [{ logprobs: logprobs.content }] }] })
    expect(world.mock.requests[0]?.body).toMatchObject({ logprobs: true, top_logprobs: 1 })
  })

  test('gets a refusal as a part of its own', async () => {
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: null, refusal: 'No.' } }]
    world.mock.script({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choices }),
    })
    expect(await (await ask(plain)).json()).toMatchObject({
      status: 'completed',
      output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }],
    })
  })
})

describe('a request is refused', () => {
  const withInput = (...input: unknown[]): object => ({ ...plain, input })
  const reasoning = (fields: object): object => ({ type: 'reasoning', id: 'rs_1', summary: [], ...fields })
  test.each<[unknown, string]>([
    [[], 'invalid_parameter: The body must be a JSON object'],
    [{ input: 'x' }, 'invalid_parameter: model is required'],
    [{ ...plain, model: 'none' }, 'unsupported_model: There is no such model'],
    [{ ...plain, model: 'test/vectors' }, 'unsupported_model: test/vectors makes embeddings'],
    [{ ...plain, messages: [] }, 'invalid_parameter: Unknown field messages. Leave it out'],
    [{ ...plain, max_output_token: 5 }, 'invalid_parameter: Unknown field max_output_token. Did you mean max_output_t'],
    [
      { ...plain, previous_response_id: 'resp_1' },
      'unsupported_parameter: previous_response_id is not supported: nothing',
    ],
    [{ ...plain, conversation: 'conv_1' }, 'unsupported_parameter: conversation is not supported'],
    [{ ...plain, prompt: { id: 'pmpt_1' } }, 'unsupported_parameter: prompt is not supported'],
    [{ ...plain, store: true }, 'unsupported_parameter: store is not supported: responses are not stored'],
    [{ ...plain, background: true }, 'unsupported_parameter: background is not supported'],
    [{ ...plain, truncation: 'auto' }, 'unsupported_parameter: truncation is not supported'],
    [{ ...plain, truncation: 'x' }, 'invalid_parameter: truncation must be disabled'],
    [{ ...plain, max_tool_calls: -1 }, 'invalid_parameter: max_tool_calls must be a whole number from 0.'],
    [
      { ...plain, reasoning: { summary: 'auto', generate_summary: 'x' } },
      'invalid_parameter: reasoning.generate_summary must',
    ],
    [
      { ...plain, text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: 1 } } },
      'invalid_parameter: text.format.strict must',
    ],
    [
      { ...plain, text: { format: { type: 'json_schema', name: 'n', schema: {}, description: 1 } } },
      'invalid_parameter: text.format.description must',
    ],
    [{ ...plain, include: ['file_search_call.results'] }, 'unsupported_parameter: include[0] is not supported'],
    [{ ...plain, include: 'x' }, 'invalid_parameter: include must be a list'],
    [{ ...plain, stream: 'yes' }, 'invalid_parameter: stream must be true or false'],
    [
      { ...plain, stream_options: { include_usage: true } },
      'invalid_parameter: Unknown field stream_options.include_usage',
    ],
    [{ ...plain, stream_options: { include_obfuscation: true } }, 'unsupported_parameter: stream_options.include_obf'],
    [{ ...plain, instructions: 5 }, 'invalid_parameter: instructions must be a string'],
    [{ ...plain, max_output_tokens: 0 }, 'invalid_parameter: max_output_tokens must be a whole number from 1'],
    [{ ...plain, temperature: 3 }, 'invalid_parameter: temperature must be a number from 0 to 2'],
    [{ ...plain, top_logprobs: 2 }, 'invalid_parameter: top_logprobs requires message.output_text.logprobs'],
    [{ ...plain, reasoning: { effort: 'huge' } }, 'invalid_parameter: reasoning_effort must be one of'],
    [{ ...plain, reasoning: { effort: 'high' } }, 'reasoning_effort_unsupported: reasoning_effort cannot be high'],
    [{ ...plain, reasoning: { summary: 'long' } }, 'invalid_parameter: reasoning.summary must be one of'],
    [{ ...plain, reasoning: { efort: 'low' } }, 'invalid_parameter: Unknown field reasoning.efort. Did you mean'],
    [{ ...plain, text: { format: { type: 'xml' } } }, 'invalid_parameter: text.format.type must be'],
    [
      { ...plain, text: { format: { type: 'json_schema', name: 'x' } } },
      'invalid_parameter: text.format.schema is requ',
    ],
    [{ ...plain, metadata: { a: 1 } }, 'invalid_parameter: metadata must be an object of at most 16 texts'],
    [{ ...plain, tools: [{ type: 'web_search' }] }, 'invalid_parameter: tools[0].type must be function'],
    [{ ...plain, tools: [{ type: 'function', name: 'a b' }] }, 'invalid_parameter: tools[0].name must have 1 to 64'],
    [{ ...plain, tools: [weather, weather] }, 'invalid_parameter: tools[1].name stands twice'],
    [{ ...plain, tools: [{ ...weather, function: {} }] }, 'invalid_parameter: Unknown field tools[0].function'],
    [{ ...plain, tools: [{ ...weather, async: true }] }, 'unsupported_parameter: tools[0].async is not supported'],
    [{ ...plain, model: 'test/mute', tools: [weather] }, 'invalid_parameter: tools cannot be used'],
    [
      { ...plain, tools: [weather], tool_choice: { type: 'function', name: 'x' } },
      'invalid_parameter: tool_choice.name',
    ],
    [{ ...plain, tools: [weather], tool_choice: { type: 'mcp' } }, 'invalid_parameter: tool_choice must be none, auto'],
    [{ model: plain.model }, 'invalid_messages: input is required'],
    [withInput(), 'invalid_messages: input is empty'],
    [withInput('x'), 'invalid_messages: input[0] must be an object'],
    [withInput({ content: 'x' }), 'invalid_messages: input[0].type must be one of message, function_call'],
    [withInput({ type: 'web_search_call' }), 'invalid_messages: input[0].type must be one of'],
    [withInput({ type: 'constructor' }), 'invalid_messages: input[0].type must be one of'],
    [withInput({ type: 'item_reference', id: 'msg_1' }), 'invalid_messages: input[0] refers to a stored item'],
    [withInput({ ...user, colour: 'red' }), 'invalid_messages: input[0] is not right: Unknown field colour'],
    [withInput({ ...user, role: 'tool' }), 'invalid_messages: input[0].role must be user, system'],
    [withInput({ role: 'user', content: [] }), 'invalid_messages: input[0].content is empty'],
    [withInput({ role: 'user', content: [{ type: 'text', text: 'x' }] }), 'invalid_messages: input[0].content[0].type'],
    [
      withInput({ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }),
      'invalid_messages: input[0].content[',
    ],
    [
      withInput({ role: 'user', content: [{ type: 'input_image', image_url: 'http://x' }] }),
      'invalid_messages: input[0].content[0].image_url must be an https address',
    ],
    [
      withInput({ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }),
      'invalid_messages: input[0].content[0].file_id cannot be used',
    ],
    [
      withInput({ role: 'user', content: [{ type: 'input_file', file_url: 'https://x' }] }),
      'invalid_messages: input[0].content[0].file_url cannot be used',
    ],
    [withInput(call), 'invalid_messages: input leaves a function_call without an output'],
    [withInput(call, user, output), 'invalid_messages: input[1] leaves a function_call without an output'],
    [withInput(output), 'invalid_messages: input[0].call_id is that of no function_call'],
    [withInput(call, output, output), 'invalid_messages: input[2].call_id is that of no function_call'],
    [withInput(call, call), 'invalid_messages: input[1].call_id is that of another call'],
    [withInput({ ...call, arguments: {} }), 'invalid_messages: input[0].arguments must be a string'],
    [{ ...withInput(reasoning({})), model: 'test/signed' }, 'invalid_messages: input[0] has no encrypted_content'],
    [
      { ...withInput(reasoning({ encrypted_content: 'eA==' })), model: 'test/signed' },
      'invalid_messages: input[0].encrypted_content was not received here',
    ],
    ...['berth1.', 'berth1.e30', 'berth1.****', `berth1.${'W1tbWw'.repeat(1000)}`].map((content): [unknown, string] => [
      withInput(reasoning({ encrypted_content: content })),
      'invalid_messages: input[0].encrypted_content was changed',
    ]),
  ])('%j', async (body, sentence) => {
    expect(await told(await ask(body))).toContain(`400 ${sentence}`)
    expect(world.mock.requests).toEqual([])
  })

  test('when it would make the answer repeat more than a mebibyte', async () => {
    expect(await told(await ask({ ...plain, instructions: 'x'.repeat(1_100_000) }))).toContain(
      '400 invalid_parameter: instructions, tools and text together have more than 1048576 characters',
    )
    const asked = { ...plain, input: [{ role: 'developer', content: 'x'.repeat(1_100_000) }, user] }
    expect((await ask(asked)).status).toBe(200)
  })

  test('when it wants a stored response, with a sentence', async () => {
    for (const [method, at] of [
      ['GET', '/v1/responses/resp_1'],
      ['DELETE', '/v1/responses/resp_1'],
      ['POST', '/v1/responses/resp_1/cancel'],
      ['GET', '/v1/responses/resp_1/input_items'],
    ] as const) {
      const { status, body } = await world.berth.call<{ error: { message: string } }>(method, `/llm${at}`, {
        token: world.key,
      })
      expect([at, status, body.error.message]).toEqual([at, 404, expect.stringContaining('Responses are not stored')])
    }
  })
})

test('a conversation is put together whatever the order in which items of one turn come', async () => {
  const answer = await ask({
    ...plain,
    input: [
      user,
      { ...call, call_id: 'c1' },
      { role: 'assistant', content: 'Looking.' },
      { ...call, call_id: 'c2' },
      { ...output, call_id: 'c2' },
      { ...output, call_id: 'c1' },
      { role: 'assistant', content: 'One.' },
      { role: 'assistant', content: 'Two.' },
      { role: 'user', content: 'On' },
    ],
  })
  expect(answer.status).toBe(200)
  expect(world.mock.requests[0]?.body['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: 'Looking.', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
    { role: 'tool', tool_call_id: 'c2' },
    { role: 'tool', tool_call_id: 'c1' },
    { role: 'assistant', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user' },
  ])
})

/** Anthropic's messages as an upstream: what is sent, thinking that is signed or redacted, and what the answer becomes. */
import { expect, test } from 'vitest'
import type { Message, ModelRequest } from '#src/drivers/models/model.ts'
import { mockOfFile } from '../../support/mock-upstream.ts'
import {
  askAll,
  askUntilError,
  blockOf,
  lastBody,
  requestOf,
  secretKey,
  summary,
  targetOf,
  userSays,
  weatherTool,
} from '../../support/model-questions.ts'

const mock = await mockOfFile()

const kind = 'anthropic'
const assistant = (changes: Partial<Extract<Message, { role: 'assistant' }>>): Message => ({
  role: 'assistant',
  reasoning: [],
  text: '',
  toolCalls: [],
  ...changes,
})
const bodyOf = async (
  changes: Partial<ModelRequest>,
  target = targetOf(mock),
): Promise<Readonly<Record<string, unknown>>> => {
  await askAll(kind, target, requestOf(changes))
  return lastBody(mock)
}

test('a request is in Anthropic’s format, and has nothing that was not requested', async () => {
  expect(await bodyOf({})).toEqual({
    model: 'mock',
    max_tokens: 32_000,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello there' }] }],
    stream: true,
  })
  expect(mock.requests.at(-1)).toMatchObject({
    path: '/v1/messages',
    headers: { 'x-api-key': secretKey, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
  })
  expect(
    await bodyOf({ maxTokens: 5, temperature: 0.7, topP: 0.5, stop: ['END'], user: 'u1', seed: 3, stream: false }),
  ).toEqual({
    model: 'mock',
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello there' }] }],
    stream: false,
    temperature: 0.7,
    top_p: 0.5,
    stop_sequences: ['END'],
    metadata: { user_id: 'u1' },
  })
  expect(
    await bodyOf({ responseFormat: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } }),
  ).toMatchObject({ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } })
})

test('turns alternate: neighbours are merged, results of tools are one user message, and the system stands apart', async () => {
  const body = await bodyOf({
    messages: [
      { role: 'system', text: 'Be short.' },
      { role: 'system', text: 'Be kind.' },
      userSays('a'),
      userSays(''),
      userSays('b'),
      assistant({
        text: 'Looking.',
        toolCalls: [
          { id: 'functions.weather:0', name: 'weather', arguments: '{"place":"A"}' },
          { id: 'c2', name: 'weather', arguments: '{"pla' },
          { id: 'c3', name: 'weather', arguments: '' },
        ],
      }),
      { role: 'tool', toolCallId: 'functions.weather:0', text: 'sunny', isError: false },
      { role: 'tool', toolCallId: 'c2', text: 'broken', isError: true },
      { role: 'tool', toolCallId: 'c3', text: '', isError: false },
      userSays('and?'),
    ],
  })
  expect(body).toMatchObject({
    system: [
      { type: 'text', text: 'Be short.' },
      { type: 'text', text: 'Be kind.' },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'functions_weather_0', name: 'weather', input: { place: 'A' } },
          { type: 'tool_use', id: 'c2', input: { invalid_arguments: '{"pla' } },
          { type: 'tool_use', id: 'c3', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'functions_weather_0', content: 'sunny' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'broken', is_error: true },
          { type: 'tool_result', tool_use_id: 'c3', content: '' },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
  })
})

test('images, PDFs and texts are sent; sound and other files are refused before anything is', async () => {
  const user = (...parts: Extract<Message, { role: 'user' }>['parts']): Message[] => [
    { role: 'user', name: null, parts },
  ]
  expect(
    (
      await bodyOf({
        messages: user(
          { type: 'image', url: 'https://example.test/a.png', detail: null },
          { type: 'image', url: 'data:image/png;base64,UE5H', detail: null },
          { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'UERG' },
          { type: 'file', filename: null, mediaType: 'text/csv', data: Buffer.from('a;ü').toString('base64') },
        ),
      })
    )['messages'],
  ).toEqual([
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'UE5H' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'UERG' }, title: 'a.pdf' },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a;ü' } },
      ],
    },
  ])
  const before = mock.requests.length
  for (const part of [
    { type: 'audio', format: 'wav', data: 'V0FW' },
    { type: 'file', filename: 'a.zip', mediaType: 'application/zip', data: 'UEs=' },
  ] as const) {
    expect((await askUntilError(kind, targetOf(mock), requestOf({ messages: user(part) }))).error).toMatchObject({
      code: 'invalid_parameter',
      details: { upstream: 'mock' },
    })
  }
  expect(mock.requests.length).toBe(before)
})

test('tools and the choice among them', async () => {
  const tools = [weatherTool]
  expect((await bodyOf({ tools }))['tools']).toEqual([
    { name: 'weather', description: 'The weather of a place.', input_schema: weatherTool.parameters },
  ])
  const choice = async (
    toolChoice: ModelRequest['toolChoice'],
    parallelToolCalls: boolean | null = null,
  ): Promise<unknown> => (await bodyOf({ tools, toolChoice, parallelToolCalls }))['tool_choice']
  expect(await choice(null)).toBeUndefined()
  expect(await choice('auto')).toEqual({ type: 'auto' })
  expect(await choice('none')).toEqual({ type: 'none' })
  expect(await choice('required', false)).toEqual({ type: 'any', disable_parallel_tool_use: true })
  expect(await choice({ name: 'weather' })).toEqual({ type: 'tool', name: 'weather' })
  expect(await choice(null, false)).toEqual({ type: 'auto', disable_parallel_tool_use: true })
  expect((await bodyOf({ tools, messages: [{ role: 'system', text: 'Long.' }, userSays('a')] }))['system']).toEqual([
    { type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } },
  ])
})

test.each([
  [0.5, 1, { temperature: 0.5 }],
  [1, 0.5, { top_p: 0.5 }],
  [1, 1, { temperature: 1 }],
  [0.5, 0.5, { temperature: 0.5, top_p: 0.5 }], // which a model that takes one only refuses, in its own words
])('of temperature %d and top_p %d the one that has no effect is left out', async (temperature, topP, sent) => {
  const { temperature: warm, top_p } = await bodyOf({ temperature, topP })
  expect({ temperature: warm, top_p }).toEqual({ temperature: undefined, top_p: undefined, ...sent })
})

test('a level of reasoning is a budget that fits below max_tokens, and what does not go with it is refused', async () => {
  const thinking = async (changes: Partial<ModelRequest>): Promise<unknown[]> => {
    const body = await bodyOf(changes)
    return [
      (body['thinking'] as { budget_tokens: number } | undefined)?.budget_tokens,
      body['max_tokens'],
      body['temperature'],
      body['top_p'],
    ]
  }
  expect(await thinking({ reasoningEffort: 'none', temperature: 0.5 })).toEqual([undefined, 32_000, 0.5, undefined])
  expect(await thinking({ reasoningEffort: 'high', temperature: 1, topP: 1 })).toEqual([24_576, 32_000, 1, undefined])
  expect(await thinking({ reasoningEffort: 'low', topP: 0.97 })).toEqual([4_096, 32_000, undefined, 0.97])
  expect(await thinking({ reasoningEffort: 'max' })).toEqual([30_976, 32_000, undefined, undefined])
  expect(await thinking({ reasoningEffort: 'high', maxTokens: 4_000 })).toEqual([2_976, 4_000, undefined, undefined])
  const before = mock.requests.length
  for (const [changes, says] of [
    [{ temperature: 0.5 }, /^temperature must be 1 while the model thinks/],
    [{ topP: 0.5 }, /^top_p must be 0.95 or more while the model thinks/],
    [{ maxTokens: 1_024 }, /^max_tokens must be more than 1024 for the model to think/],
  ] as const)
    expect(
      (await askUntilError(kind, targetOf(mock), requestOf({ reasoningEffort: 'high', ...changes }))).error,
    ).toMatchObject({ code: 'invalid_parameter', message: expect.stringMatching(says) })
  expect(mock.requests.length).toBe(before)
})

test.each([true, false])(
  'thinking comes with its signature, hidden thinking with its data, and goes back first and unchanged (stream: %s)',
  async (stream) => {
    const signature = 'EqQBCkYIBxgCKkD+/x8Yc2ln=='
    mock.script({
      parts: [
        { reasoning: ['Let me ', 'see.'], signature },
        { redacted: 'EmwKAhgBEgy3va==' },
        { reasoning: [], signature: 'b25seQ==' },
        { text: ['Look', 'ing.'] },
        { tool: 'weather', id: 'toolu_1', arguments: ['{"place":', '"A"}'] },
      ],
    })
    const events = summary(await askAll(kind, targetOf(mock), requestOf({ tools: [weatherTool], stream })))
    const blocks = [
      blockOf({ text: 'Let me see.', signature }),
      blockOf({ encryptedContent: 'EmwKAhgBEgy3va==', redacted: true }),
      blockOf({ signature: 'b25seQ==' }),
    ]
    expect(events).toMatchObject([
      { type: 'reasoning', index: 0, text: 'Let me see.' },
      { type: 'reasoning_end', index: 0, block: blocks[0] },
      { type: 'reasoning_end', index: 1, block: blocks[1] },
      { type: 'reasoning_end', index: 2, block: blocks[2] },
      { type: 'text', text: 'Looking.' },
      { type: 'tool', index: 0, id: 'toolu_1', name: 'weather' },
      { type: 'arguments', index: 0, text: '{"place":"A"}' },
      { type: 'end', finishReason: 'tool_calls' },
    ])

    const foreign = blockOf({ text: 'of another', signature: 'eA==', model: 'other/model' })
    const body = await bodyOf({
      tools: [weatherTool],
      messages: [
        userSays('a'),
        assistant({
          reasoning: [...blocks, foreign, blockOf({ text: 'unsigned' })],
          text: 'Looking.',
          toolCalls: [{ id: 'toolu_1', name: 'weather', arguments: '{"place":"A"}' }],
        }),
        { role: 'tool', toolCallId: 'toolu_1', text: 'sunny', isError: false },
      ],
    })
    expect(JSON.stringify((body['messages'] as object[])[1])).toBe(
      JSON.stringify({
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Let me see.', signature },
          { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va==' },
          { type: 'thinking', thinking: '', signature: 'b25seQ==' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { place: 'A' } },
        ],
      }),
    )
  },
)

test('tools are called in parallel, and one without arguments with an empty object', async () => {
  mock.script({
    parts: [
      { tool: 'weather', id: 't1', arguments: ['{"place"', ':"A"}'] },
      { tool: 'time', id: 't2', arguments: [] },
    ],
  })
  expect(summary(await askAll(kind, targetOf(mock)))).toMatchObject([
    { type: 'tool', index: 0, id: 't1', name: 'weather' },
    { type: 'arguments', index: 0, text: '{"place":"A"}' },
    { type: 'tool', index: 1, id: 't2', name: 'time' },
    { type: 'arguments', index: 1, text: '{}' },
    { type: 'end', finishReason: 'tool_calls' },
  ])
})

test.each([true, false])(
  'the input is what was read afresh, from the cache and into it (stream: %s)',
  async (stream) => {
    mock.script({ parts: [{ text: 'Hello' }], cacheReadTokens: 1, cacheWriteTokens: 1 })
    const events = await askAll(kind, targetOf(mock), requestOf({ stream }))
    expect(events.at(-1)).toEqual({
      type: 'end',
      finishReason: 'stop',
      usage: { inputTokens: 3, outputTokens: 2, cacheReadTokens: 1, cacheWriteTokens: 1, reasoningTokens: 0 },
    })
    if (stream) expect(events[0]).toMatchObject({ type: 'usage', usage: { inputTokens: 3 } })
    mock.script({ parts: [{ text: 'Hello' }], usage: 'none' })
    expect((await askAll(kind, targetOf(mock), requestOf({ stream }))).at(-1)).toMatchObject({
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  },
)

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['refusal', 'content_filter'],
  ['tool_use', 'tool_calls'],
  ['something_new', 'stop'],
])('the reason %s is %s', async (said, meant) => {
  mock.script({ parts: [{ text: 'x' }], finish: said })
  expect((await askAll(kind, targetOf(mock))).at(-1)).toMatchObject({ finishReason: meant })
})

test('the start of the message may come again; that of another one ends the answer with an error', async () => {
  const play = (...events: { type: string; [field: string]: unknown }[]): void => {
    const raw = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    mock.script({ parts: [{ raw }, { stop: true }] })
  }
  const start = (id: string) => ({ type: 'message_start', message: { id, content: [], usage: { input_tokens: 3 } } })
  const says = (text: string) => ({ type: 'content_block_start', index: 0, content_block: { type: 'text', text } })
  const over = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }
  play(start('msg_mock'), says('one'), over, { type: 'message_stop' })
  expect(summary(await askAll(kind, targetOf(mock)))).toMatchObject([{ text: 'one' }, { type: 'end' }])
  play(says('one'), start('msg_b'), says('two'), over, { type: 'message_stop' })
  const { events, error } = await askUntilError(kind, targetOf(mock))
  expect(summary(events)).toMatchObject([{ text: 'one' }])
  expect(error).toMatchObject({ code: 'upstream_error', message: expect.stringContaining('began another message') })
})

test('an answer to continue is sent without blanks at its end, and a chat of system messages only is refused', async () => {
  const said = (text: string): Message => ({ role: 'assistant', reasoning: [], text, toolCalls: [] })
  const turns = async (...messages: Message[]): Promise<unknown> => (await bodyOf({ messages }))['messages']
  const hello = { role: 'user', content: [{ type: 'text', text: 'Hello ' }] }
  expect(await turns(userSays('Hello '), said('It is \n\t '))).toEqual([
    hello,
    { role: 'assistant', content: [{ type: 'text', text: 'It is' }] },
  ])
  expect(await turns(userSays('Hello '), said(' \n'))).toEqual([hello])
  expect(await turns(userSays('Hello '), said('It is '), said(' \n'), said(' '))).toEqual([
    hello,
    { role: 'assistant', content: [{ type: 'text', text: 'It is' }] },
  ])
  expect(await turns(userSays('Hello '), said(' '), said(' \n'))).toEqual([hello])
  expect(await turns(userSays('Hello '), said('a '), userSays('b'))).toMatchObject([
    {},
    { content: [{ text: 'a ' }] },
    {},
  ])
  const before = mock.requests.length
  for (const messages of [[{ role: 'system', text: 'Be short.' } as const], [userSays('')], [said(' ')]])
    expect((await askUntilError(kind, targetOf(mock), requestOf({ messages }))).error).toMatchObject({
      code: 'invalid_messages',
      message: expect.stringContaining('Send one of the user that is not empty.'),
    })
  expect(mock.requests.length).toBe(before)
})

test('a tool’s strictness and a schema’s absence are told', async () => {
  const tools = [{ ...weatherTool, strict: true }]
  expect((await bodyOf({ tools }))['tools']).toMatchObject([{ strict: true }])
  const responseFormat = { type: 'json_schema', json_schema: { name: 'x' } }
  expect((await bodyOf({ responseFormat }))['system']).toMatchObject([{ text: expect.stringContaining('JSON object') }])
})

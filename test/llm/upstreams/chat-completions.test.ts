/** Chat completions as an upstream: what is sent, and what every dialect of the answer becomes. */
import { expect, test } from 'vitest'
import type { Message } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { mockOfFile, type MockPart } from '../../support/mock-upstream.ts'
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

const kind = 'openai-compatible'
const usageOf = (inputTokens: number, outputTokens: number, rest = {}): object => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  ...rest,
})

/** Plays these deltas, then what ends the answer. */
function script(
  deltas: readonly object[],
  rest: readonly string[] = ['{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]'],
): void {
  const frames = [...deltas.map((delta) => JSON.stringify({ choices: [{ index: 0, delta }] })), ...rest]
  mock.script({ parts: [{ raw: frames.map((frame) => `data: ${frame}\n\n`).join('') }, { stop: true }] })
}

test('a request is in OpenAI’s format, and has nothing that was not requested', async () => {
  await askAll(kind, targetOf(mock), requestOf())
  expect(lastBody(mock)).toEqual({
    model: 'mock',
    messages: [{ role: 'user', content: 'Hello there' }],
    stream: true,
    stream_options: { include_usage: true },
  })
  expect(mock.requests.at(-1)).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
  })
  await askAll(kind, targetOf(mock, { apiKey: null }), requestOf({ stream: false }))
  expect(lastBody(mock)).toEqual({ model: 'mock', messages: [{ role: 'user', content: 'Hello there' }], stream: false })
  expect(mock.requests.at(-1)?.headers['authorization']).toBeUndefined()
})

test('every message, tool and setting goes where it belongs', async () => {
  await askAll(
    kind,
    targetOf(mock),
    requestOf({
      messages: [
        { role: 'system', text: 'Be short.' },
        {
          role: 'user',
          name: 'ann',
          parts: [
            { type: 'text', text: 'Look' },
            { type: 'image', url: 'https://example.test/a.png', detail: 'low' },
            { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'UERG' },
            { type: 'audio', format: 'wav', data: 'V0FW' },
          ],
        },
        {
          role: 'assistant',
          reasoning: [blockOf({ text: 'hm' })],
          text: '',
          toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"place":' }],
        },
        { role: 'tool', toolCallId: 'call_1', text: 'sunny', isError: false },
      ],
      tools: [weatherTool],
      toolChoice: { name: 'weather' },
      parallelToolCalls: false,
      reasoningEffort: 'high',
      maxTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      stop: ['END'],
      responseFormat: { type: 'json_object' },
      seed: 7,
      user: 'u1',
    }),
  )
  expect(lastBody(mock)).toMatchObject({
    messages: [
      { role: 'system', content: 'Be short.' },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'https://example.test/a.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' } },
          { type: 'input_audio', input_audio: { data: 'V0FW', format: 'wav' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"place":' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'weather', description: 'The weather of a place.', parameters: weatherTool.parameters },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    reasoning_effort: 'high',
    max_tokens: 50,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    response_format: { type: 'json_object' },
    seed: 7,
    user: 'u1',
  })
  expect(JSON.stringify(lastBody(mock))).not.toContain('reasoning_details')
})

test('a text streams in the chunks in which it came, with the usage that was counted', async () => {
  mock.script({ parts: [{ text: ['Hel', 'lo ', 'Grüße 👋'] }], cacheReadTokens: 2 })
  const events = await askAll(kind, targetOf(mock))
  expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : []))).toEqual(['Hel', 'lo ', 'Grüße 👋'])
  expect(events.at(-1)).toEqual({ type: 'end', finishReason: 'stop', usage: usageOf(3, 4, { cacheReadTokens: 2 }) })
  mock.script({ parts: [{ text: 'Hello' }], finish: 'length' })
  expect(await askAll(kind, targetOf(mock), requestOf({ stream: false }))).toMatchObject([
    { type: 'text', text: 'Hello' },
    { type: 'usage' },
    { type: 'end', finishReason: 'length', usage: usageOf(3, 2) },
  ])
})

test('reasoning in each dialect is one block, closed where the answer begins', async () => {
  const seen = (text: string, changes = {}): object[] => [
    { type: 'reasoning', index: 0, text },
    { type: 'reasoning_end', index: 0, block: blockOf({ text, ...changes }) },
    { type: 'text', text: 'Yes' },
  ]
  for (const name of ['reasoning_content', 'reasoning']) {
    script([{ role: 'assistant', content: '' }, { [name]: 'Let me ' }, { [name]: 'see.' }, { content: 'Yes' }])
    expect(summary(await askAll(kind, targetOf(mock))).slice(0, 3)).toEqual(seen('Let me see.'))
  }
  script([
    { reasoning: 'Let', reasoning_details: [{ type: 'reasoning.text', text: 'Let', index: 0 }] },
    { reasoning_details: [{ type: 'reasoning.text', text: ' me', id: 'r1', signature: 'c2ln' }] },
    { content: 'Yes' },
  ])
  expect(summary(await askAll(kind, targetOf(mock))).slice(0, 3)).toEqual(
    seen('Let me', { id: 'r1', signature: 'c2ln' }),
  )
  script([
    {
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'In short' },
        { type: 'reasoning.encrypted', data: 'c2VhbGVk', id: 'rs_1' },
      ],
    },
    { content: 'Yes' },
  ])
  expect(summary(await askAll(kind, targetOf(mock))).slice(0, 3)).toEqual(
    seen('In short', { id: 'rs_1', encryptedContent: 'c2VhbGVk' }),
  )
  script([{ reasoning_content: 'only thoughts' }])
  expect(summary(await askAll(kind, targetOf(mock))).at(-1)).toMatchObject({
    type: 'end',
    usage: { outputTokens: 4, reasoningTokens: 4 },
  })
})

test('content that is a list of parts is read too, thoughts and text', async () => {
  const thinking = (text: string): object => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
  script([
    { role: 'assistant', content: [thinking('Two and ')] },
    { content: [thinking('two.'), { type: 'text', text: 'Fo' }] },
    { content: [{ type: 'text', text: 'ur' }, null, 5] },
    { content: '.' },
  ])
  expect(summary(await askAll(kind, targetOf(mock))).slice(0, 3)).toEqual([
    { type: 'reasoning', index: 0, text: 'Two and two.' },
    { type: 'reasoning_end', index: 0, block: blockOf({ text: 'Two and two.' }) },
    { type: 'text', text: 'Four.' },
  ])
})

test('an upstream that requires its reasoning back gets it unchanged, and never that of another model', async () => {
  const reasoning = [
    blockOf({ id: 'r1', text: 'Let me', signature: 'c2ln' }),
    blockOf({ id: 'rs_1', text: 'In short', encryptedContent: 'c2VhbGVk' }),
    blockOf({ text: 'foreign', signature: 'eA==', model: 'other/model' }),
  ]
  await askAll(
    kind,
    targetOf(mock, { reasoningReplay: 'signature' }),
    requestOf({ messages: [userSays('a'), { role: 'assistant', reasoning, text: 'b', toolCalls: [] }, userSays('c')] }),
  )
  expect(lastBody(mock)['messages']).toMatchObject([
    {},
    {
      content: 'b',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Let me', signature: 'c2ln', id: 'r1' },
        { type: 'reasoning.summary', summary: 'In short', id: 'rs_1' },
        { type: 'reasoning.encrypted', data: 'c2VhbGVk', id: 'rs_1' },
      ],
    },
    {},
  ])
})

/** Tool calls as servers write them, and what they all mean. */
const callOf = (
  index: number | undefined,
  id: string | null | undefined,
  name: string | null | undefined,
  text: string | object,
): object => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), arguments: text },
})
const dialects: Readonly<Record<string, object[]>> = {
  'whole, both at once': [{ tool_calls: [callOf(0, 'a', 'weather', '{"place":"A"}'), callOf(1, 'b', 'time', '{}')] }],
  'in pieces, one after the other': [
    { tool_calls: [callOf(0, 'a', 'weather', '')] },
    { tool_calls: [callOf(0, undefined, undefined, '{"place"')] },
    { tool_calls: [callOf(0, undefined, undefined, ':"A"}')] },
    { tool_calls: [callOf(1, 'b', 'time', '')] },
    { tool_calls: [callOf(1, undefined, undefined, '{}')] },
  ],
  'in turns': [
    { tool_calls: [callOf(0, 'a', 'weather', '{"place"')] },
    { tool_calls: [callOf(1, 'b', 'time', '{')] },
    { tool_calls: [callOf(0, undefined, undefined, ':"A"}'), callOf(1, undefined, undefined, '}')] },
  ],
  'with the name in pieces': [
    { tool_calls: [callOf(0, 'a', 'wea', '')] },
    { tool_calls: [callOf(0, undefined, 'ther', '{"place":"A"}')] },
    { tool_calls: [callOf(1, 'b', 'time', '')] },
  ],
  'with the name again in each piece': [
    { tool_calls: [callOf(0, 'a', 'weather', '')] },
    { tool_calls: [callOf(0, 'a', 'weather', '{"place":')] },
    { tool_calls: [callOf(0, 'a', 'weather', '"A"}')] },
    { tool_calls: [callOf(1, 'b', 'time', '{}')] },
  ],
  'with the name at their end': [
    { tool_calls: [callOf(0, 'a', undefined, '{"place":')] },
    { tool_calls: [callOf(0, 'a', 'weather', '"A"}')] },
    { tool_calls: [callOf(1, 'b', undefined, '{')] },
    { tool_calls: [callOf(1, undefined, 'time', '}')] },
  ],
  'without indexes': [
    { tool_calls: [callOf(undefined, 'a', 'weather', '{"place":"A"}')] },
    { tool_calls: [callOf(undefined, 'b', 'time', '{}')] },
  ],
  'without indexes, together': [
    { tool_calls: [callOf(undefined, 'a', 'weather', '{"place":"A"}'), callOf(undefined, 'b', 'time', '{}')] },
  ],
  'with objects for arguments': [
    { tool_calls: [callOf(0, 'a', 'weather', { place: 'A' }), callOf(1, 'b', 'time', {})] },
  ],
}
test.each(Object.entries(dialects))('tools are called %s', async (_name, deltas) => {
  script(deltas, ['{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}', '[DONE]'])
  const events = await askAll(kind, targetOf(mock), requestOf({ tools: [weatherTool] }))
  const calls = events.flatMap((event) => (event.type === 'tool' ? [[event.index, event.id, event.name]] : []))
  const texts = [0, 1].map((index) =>
    events.flatMap((event) => (event.type === 'arguments' && event.index === index ? [event.text] : [])).join(''),
  )
  expect({ calls, texts }).toEqual({
    calls: [
      [0, 'a', 'weather'],
      [1, 'b', 'time'],
    ],
    texts: ['{"place":"A"}', '{}'],
  })
  expect(events.at(-1)).toMatchObject({ finishReason: 'tool_calls' })
})

const indexes = ['numbered', 'from five', 'all zero', 'none'] as const
const ids = ['once', 'in each piece', 'changing', 'shared', 'null', 'none'] as const
const cuts: readonly ((text: string) => string[])[] = [
  (text) => [text],
  (text) => ['', text],
  (text) => [text.slice(0, 1), text.slice(1)],
  (text) => ['', ...text.split('')],
]
const pairs = [
  [
    { name: 'weather', text: '{"a":["}{",1]}' },
    { name: 'time', text: '{}' },
  ],
  [
    { name: 'weather', text: '{"a":1}' },
    { name: 'weather', text: '{"a":2}' },
  ],
]

test.each(indexes)('two calls stay two however they are told, with indexes %s', async (index) => {
  for (const id of ids)
    for (const isNamedInEach of [false, true])
      for (const cut of cuts)
        for (const calls of pairs) {
          if (id === 'changing' && isNamedInEach) continue // each piece is as the first of another call
          const deltas = calls.flatMap(({ name, text }, number) =>
            cut(text).map((piece, at) => {
              const said = { once: at === 0 ? `c${number}` : undefined, 'in each piece': `c${number}`, shared: 'c' }
              const others = { changing: `c${number}.${at}`, null: at === 0 ? `c${number}` : null, none: undefined }
              return {
                tool_calls: [
                  callOf(
                    { numbered: number, 'from five': number + 5, 'all zero': 0, none: undefined }[index],
                    { ...said, ...others }[id],
                    at === 0 || isNamedInEach ? name : id === 'null' ? null : undefined,
                    piece,
                  ),
                ],
              }
            }),
          )
          script(deltas)
          const events = await askAll(kind, targetOf(mock), requestOf({ tools: [weatherTool] }))
          const told = events.flatMap((event) => (event.type === 'tool' ? [event] : []))
          expect(
            told.map(({ name, index: at }) => ({
              name,
              text: events.flatMap((one) => (one.type === 'arguments' && one.index === at ? [one.text] : [])).join(''),
            })),
            JSON.stringify(deltas),
          ).toEqual(calls)
          expect(new Set(told.map((one) => one.id)).size).toBe(2)
        }
})

test('a call without an id gets one, and an answer that calls tools has that as its reason, whatever is said', async () => {
  script([{ tool_calls: [callOf(0, undefined, 'weather', '{}')] }])
  const events = summary(await askAll(kind, targetOf(mock)))
  expect(events).toMatchObject([
    { type: 'tool', id: expect.stringMatching(/^call_[0-9a-f]{32}$/), name: 'weather' },
    {},
    { type: 'end', finishReason: 'tool_calls' },
  ])
})

test.each([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['length', 'length'],
  ['MAX_TOKENS', 'length'],
  ['content_filter', 'content_filter'],
  ['something new', 'stop'],
])('the reason %s is %s', async (said, meant) => {
  mock.script({ parts: [{ text: 'x' }], finish: said })
  expect((await askAll(kind, targetOf(mock))).at(-1)).toMatchObject({ finishReason: meant })
})

test('an answer is complete with a finish reason or with [DONE]; with neither it was cut off', async () => {
  const finish = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
  script([{ content: 'a' }], [finish])
  expect(summary(await askAll(kind, targetOf(mock)))).toMatchObject([
    { text: 'a' },
    { type: 'end', finishReason: 'stop' },
  ])
  script([{ content: 'a' }], ['[DONE]'])
  expect(summary(await askAll(kind, targetOf(mock)))).toMatchObject([
    { text: 'a' },
    { type: 'end', finishReason: 'stop' },
  ])
  script([{ content: 'a' }], [])
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({
    events: [{ text: 'a' }],
    error: { code: 'upstream_error', details: { upstream: 'mock' } },
  })
  script([{ tool_calls: [callOf(0, 'a', 'weather', '')] }], ['[DONE]'])
  expect(summary(await askAll(kind, targetOf(mock)))).toMatchObject([
    { id: 'a' },
    { text: '{}' },
    { type: 'end', finishReason: 'tool_calls' },
  ])
  script([], ['[DONE]'])
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({ events: [], error: { code: 'upstream_error' } })
})

test('a call without a name is an error', async () => {
  script([{ tool_calls: [callOf(0, 'a', undefined, '{}')] }])
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({
    events: [],
    error: { code: 'upstream_error', message: expect.stringContaining('without a name') },
  })
})

test('arguments without a name are kept up to a limit only', async () => {
  const piece = 'x'.repeat(limits.answerArgumentsLength / 4)
  script(Array.from({ length: 5 }, () => ({ tool_calls: [callOf(0, 'a', undefined, piece)] })))
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({
    events: [],
    error: { code: 'upstream_error', message: expect.stringContaining('more tool arguments') },
  })
})

test('usage that the upstream does not report is estimated', async () => {
  const parts: MockPart[] = [{ reasoning: 'thinking about it' }, { text: ['one ', 'two ', 'three'] }]
  for (const stream of [true, false]) {
    mock.script({ parts, usage: 'none' })
    const events = await askAll(kind, targetOf(mock), requestOf({ stream }))
    const { inputTokens, outputTokens, reasoningTokens } = mock.requests.at(-1)!
    expect(events.at(-1)).toMatchObject({ usage: usageOf(inputTokens, outputTokens, { reasoningTokens }) })
    expect(outputTokens).toBe(9)
  }
})

test.each([
  ['beside the output', 12, 2, 340, 354, 342],
  ['within the output', 12, 342, 340, 354, 342],
  ['within the output, without a total', 12, 342, 340, undefined, 342],
])('reasoning that is counted %s is charged once', async (_where, input, output, reasoning, total, charged) => {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
  const finish = { index: 0, delta: {}, finish_reason: 'stop' }
  script([{ content: 'Hi' }], [JSON.stringify({ choices: [finish], usage }), '[DONE]'])
  expect((await askAll(kind, targetOf(mock))).at(-1)).toMatchObject({
    usage: usageOf(input, charged, { reasoningTokens: reasoning }),
  })
})

test.each([
  ['gemini-3-pro-preview', 342],
  ['models/gemini-2.5-flash', 342],
  ['llama-4', 2],
])(
  'what the total of %s has more, without a number for it, is charged as %i of output',
  async (upstreamModel, output) => {
    const usage = { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 }
    const finish = { index: 0, delta: {}, finish_reason: 'stop' }
    script([{ content: 'Hi' }], [JSON.stringify({ choices: [finish], usage }), '[DONE]'])
    const end = (await askAll(kind, targetOf(mock, { upstreamModel }))).at(-1)
    expect(end).toMatchObject({ usage: usageOf(12, output, { reasoningTokens: output - 2 }) })
  },
)

test('impossible counts are ignored', async () => {
  script(
    [{ content: 'four' }],
    [
      '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
      '{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"prompt_tokens_details":{"cached_tokens":900}}}',
      '[DONE]',
    ],
  )
  expect((await askAll(kind, targetOf(mock))).at(-1)).toMatchObject({ usage: usageOf(3, 1, { cacheReadTokens: 3 }) })
})

test('a character that is split between two writes arrives whole', async () => {
  const bytes = Buffer.from(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'ü👋漢' }, finish_reason: 'stop' }] })}\n\n`,
  )
  mock.script({
    parts: [
      ...Array.from(bytes, (byte): MockPart[] => [{ raw: Buffer.from([byte]) }, { pauseMs: 0 }]).flat(),
      { stop: true },
    ],
  })
  expect(summary(await askAll(kind, targetOf(mock)))[0]).toEqual({ type: 'text', text: 'ü👋漢' })
})

test('that a tool failed is said in its text', async () => {
  const result = (text: string, isError: boolean): Message => ({ role: 'tool', toolCallId: 'c', text, isError })
  for (const [text, isError, told] of [
    ['no such file', true, 'Error: no such file'],
    ['', true, 'Error'],
    ['ERROR: it is away', true, 'ERROR: it is away'],
    ['no such file', false, 'no such file'],
  ] as const) {
    await askAll(kind, targetOf(mock), requestOf({ messages: [userSays('a'), result(text, isError)] }))
    expect(Object.values(lastBody(mock)['messages'] as object).at(-1)).toMatchObject({ content: told })
  }
})

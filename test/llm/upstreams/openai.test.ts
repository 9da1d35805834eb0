/** OpenAI's responses as an upstream: stateless, with reasoning that comes sealed and goes back sealed. */
import { expect, test } from 'vitest'
import type { Message } from '#src/drivers/models/model.ts'
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

const kind = 'openai'
const reasons = (): ReturnType<typeof targetOf> => targetOf(mock, { reasoningReplay: 'encrypted_content' })

test('a request is in OpenAI’s format, stores nothing, and has nothing that was not requested', async () => {
  await askAll(kind, targetOf(mock))
  expect(lastBody(mock)).toEqual({
    model: 'mock',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] }],
    stream: true,
    store: false,
  })
  expect(mock.requests.at(-1)).toMatchObject({
    path: '/v1/responses',
    headers: { authorization: `Bearer ${secretKey}` },
  })
  await askAll(kind, reasons(), requestOf({ reasoningEffort: 'high', stream: false }))
  expect(lastBody(mock)).toMatchObject({
    stream: false,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'high', summary: 'auto' },
  })
  await askAll(kind, reasons(), requestOf({ reasoningEffort: 'none' }))
  expect(lastBody(mock)['reasoning']).toEqual({ effort: 'none' })
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
          name: null,
          parts: [
            { type: 'text', text: 'Look' },
            { type: 'image', url: 'data:image/png;base64,UE5H', detail: null },
            { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'UERG' },
          ],
        },
        {
          role: 'assistant',
          reasoning: [],
          text: 'Looking.',
          toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"place":' }],
        },
        { role: 'tool', toolCallId: 'call_1', text: 'sunny', isError: false },
      ],
      tools: [weatherTool],
      toolChoice: { name: 'weather' },
      parallelToolCalls: false,
      maxTokens: 16,
      temperature: 0.5,
      topP: 0.9,
      user: 'u1',
      responseFormat: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: { type: 'object' } } },
    }),
  )
  expect(lastBody(mock)).toMatchObject({
    input: [
      { role: 'system', content: 'Be short.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,UE5H', detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' },
        ],
      },
      { role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"place":' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
    ],
    tools: [
      {
        type: 'function',
        name: 'weather',
        description: 'The weather of a place.',
        parameters: weatherTool.parameters,
        strict: false,
      },
    ],
    tool_choice: { type: 'function', name: 'weather' },
    parallel_tool_calls: false,
    max_output_tokens: 16,
    temperature: 0.5,
    top_p: 0.9,
    user: 'u1',
    text: { format: { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object' } } },
  })
})

test('stop sequences and sound, which this format does not support, are refused before anything is sent', async () => {
  const before = mock.requests.length
  const wrong = [
    requestOf({ stop: ['END'] }),
    requestOf({ messages: [{ role: 'user', name: null, parts: [{ type: 'audio', format: 'wav', data: 'V0FW' }] }] }),
  ]
  for (const request of wrong)
    expect((await askUntilError(kind, targetOf(mock), request)).error).toMatchObject({
      code: 'invalid_parameter',
      details: { upstream: 'mock' },
    })
  expect(mock.requests.length).toBe(before)
})

test.each([true, false])(
  'reasoning comes with its id and sealed content, and goes back unchanged before the answer (stream: %s)',
  async (stream) => {
    const encrypted = 'gAAAAABo+/sealed=='
    mock.script({
      parts: [
        { reasoning: ['Let me ', 'see.'], id: 'rs_1', encrypted },
        { reasoning: [], id: 'rs_2', encrypted: 'c2lsZW50' },
        { text: ['Look', 'ing.'] },
        { tool: 'weather', id: 'call_1', arguments: ['{"place":', '"A"}'] },
        { tool: 'time', id: 'call_2', arguments: [] },
      ],
    })
    const events = summary(await askAll(kind, reasons(), requestOf({ tools: [weatherTool], stream })))
    const blocks = [
      blockOf({ id: 'rs_1', text: 'Let me see.', encryptedContent: encrypted }),
      blockOf({ id: 'rs_2', encryptedContent: 'c2lsZW50' }),
    ]
    expect(events).toMatchObject([
      { type: 'reasoning', index: 0, text: 'Let me see.' },
      { type: 'reasoning_end', index: 0, block: blocks[0] },
      { type: 'reasoning_end', index: 1, block: blocks[1] },
      { type: 'text', text: 'Looking.' },
      { type: 'tool', index: 0, id: 'call_1', name: 'weather' },
      { type: 'arguments', index: 0, text: '{"place":"A"}' },
      { type: 'tool', index: 1, id: 'call_2', name: 'time' },
      { type: 'arguments', index: 1, text: '{}' },
      { type: 'end', finishReason: 'tool_calls', usage: { reasoningTokens: 3 } },
    ])

    const foreign = blockOf({ id: 'rs_9', encryptedContent: 'eA==', model: 'other/model' })
    await askAll(
      kind,
      reasons(),
      requestOf({
        messages: [
          userSays('a'),
          {
            role: 'assistant',
            reasoning: [...blocks, foreign, blockOf({ text: 'unsealed' })],
            text: '',
            toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"place":"A"}' }],
          },
          { role: 'tool', toolCallId: 'call_1', text: 'sunny', isError: false },
        ],
      }),
    )
    expect(JSON.stringify((lastBody(mock)['input'] as object[]).slice(1))).toBe(
      JSON.stringify([
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'Let me see.' }],
          encrypted_content: encrypted,
        },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'c2lsZW50' },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"place":"A"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
      ]),
    )
  },
)

test.each([
  ['the second', 1, 'msg_2', 'Two.One.'],
  ['the first, without a number', undefined, 'msg_1', 'One.Two.'],
])('of two items %s is streamed: the other comes at the end, and none twice', async (_name, output_index, id, said) => {
  const item = (which: string, text: string): object => ({
    type: 'message',
    id: which,
    content: [{ type: 'output_text', text }],
  })
  const frames = [
    { type: 'response.output_item.added', output_index, item: { type: 'message', id, content: [] } },
    { type: 'response.output_text.delta', output_index, delta: id === 'msg_1' ? 'One.' : 'Two.' },
    {
      type: 'response.completed',
      response: { status: 'completed', output: [item('msg_1', 'One.'), item('msg_2', 'Two.')] },
    },
  ]
  mock.script({
    parts: [{ raw: frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') }, { stop: true }],
  })
  const events = await askAll(kind, reasons())
  expect(events.map((event) => (event.type === 'text' ? event.text : '')).join('')).toBe(said)
})

test('an item of a server that counts from one is told once', async () => {
  const message = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'One.' }] }
  const frames = [
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.output_text.delta', output_index: 1, delta: 'One.' },
    { type: 'response.completed', response: { status: 'completed', output: [message] } },
  ]
  mock.script({
    parts: [{ raw: frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') }, { stop: true }],
  })
  const events = await askAll(kind, reasons())
  expect(events.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'One.' }])
})

test('parts of a summary are separate, and what was not streamed comes at the end', async () => {
  const frames = [
    { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs_1' } },
    { type: 'response.reasoning_summary_part.added', output_index: 0 },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'One' },
    { type: 'response.reasoning_summary_part.added', output_index: 0 },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Two' },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs_1', encrypted_content: 'eA==' },
    },
    {
      type: 'response.output_item.done',
      output_index: 1,
      item: { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
    },
    { type: 'response.some_news', output_index: 7 },
    {
      type: 'response.completed',
      response: {
        status: 'completed',
        usage: {
          input_tokens: 9,
          output_tokens: 8,
          input_tokens_details: { cached_tokens: 4 },
          output_tokens_details: { reasoning_tokens: 6 },
        },
      },
    },
  ]
  mock.script({
    parts: [{ raw: frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') }, { stop: true }],
  })
  expect(summary(await askAll(kind, reasons()))).toMatchObject([
    { type: 'reasoning', text: 'One\n\nTwo' },
    { type: 'reasoning_end', block: { id: 'rs_1', text: 'One\n\nTwo', encryptedContent: 'eA==' } },
    { type: 'text', text: 'No.' },
    {
      type: 'end',
      finishReason: 'content_filter',
      usage: { inputTokens: 9, outputTokens: 8, cacheReadTokens: 4, cacheWriteTokens: 0, reasoningTokens: 6 },
    },
  ])
})

test.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content_filter', 'content_filter'],
])('an answer that ended with %s says so', async (finish, meant) => {
  for (const stream of [true, false]) {
    mock.script({ parts: [{ text: 'x' }], finish })
    expect((await askAll(kind, targetOf(mock), requestOf({ stream }))).at(-1)).toMatchObject({
      finishReason: meant,
      usage: { inputTokens: 3, outputTokens: 1 },
    })
  }
})

test('a response that failed says why, before anything or in the middle', async () => {
  mock.script({
    parts: [{ text: 'so far' }, { error: { type: 'failed', code: 'rate_limit_exceeded', message: 'slow down' } }],
  })
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({
    events: [{ type: 'text', text: 'so far' }],
    error: { code: 'upstream_rate_limited' },
  })
  mock.script({ parts: [{ error: { type: 'failed', code: 'server_error', message: 'sorry' } }] })
  expect(await askUntilError(kind, targetOf(mock))).toMatchObject({ events: [], error: { code: 'upstream_error' } })
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
    expect(Object.values(lastBody(mock)['input'] as object).at(-1)).toMatchObject({ output: told })
  }
})

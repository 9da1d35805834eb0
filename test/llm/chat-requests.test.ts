/** Bodies of `POST /v1/chat/completions`, without their messages: every documented field, every refusal, and where it says that it is. */
import { afterAll, describe, expect, test } from 'vitest'
import { readChatRequest } from '#src/resources/llm/chats/requests.ts'
import { makeConfig, refusal } from './chat-makers.ts'

const { config, remove } = makeConfig()
afterAll(remove)

const user = { role: 'user', content: 'Hello' }
const tool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    strict: true,
  },
}
const read = (body: Record<string, unknown>): ReturnType<typeof readChatRequest> =>
  readChatRequest(config, { model: 'test/signed', messages: [user], ...body })
const refused = (body: Record<string, unknown>): string => {
  const { code, message } = refusal(() => read(body))
  return `${code}: ${message}`
}

describe('a body', () => {
  test('with a model and a message leaves everything else to the provider', () => {
    expect(read({})).toEqual({
      model: expect.objectContaining({ id: 'test/signed' }),
      includeUsage: false,
      isJoined: false,
      request: {
        messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }], name: null }],
        tools: [],
        toolChoice: null,
        parallelToolCalls: null,
        reasoningEffort: null,
        maxTokens: null,
        temperature: null,
        topP: null,
        stop: [],
        responseFormat: null,
        seed: null,
        user: null,
        stream: false,
      },
    })
  })

  test('with every field is parsed completely', () => {
    const { request, includeUsage } = read({
      stream: true,
      stream_options: { include_usage: true },
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
      stop: ['a', 'b', 'c', 'd'],
      temperature: 2,
      top_p: 0,
      max_tokens: 7,
      response_format: { type: 'json_object' },
      seed: -1,
      user: 'u',
      metadata: { a: 'b' },
      n: 1,
      model: 'test/plain',
      reasoning_effort: null,
    })
    expect(includeUsage).toBe(true)
    expect(request).toMatchObject({
      tools: [{ name: 'weather', description: 'The weather', parameters: tool.function.parameters, strict: true }],
      toolChoice: { name: 'weather' },
      parallelToolCalls: false,
      reasoningEffort: null,
      maxTokens: 7,
      temperature: 2,
      topP: 0,
      stop: ['a', 'b', 'c', 'd'],
      responseFormat: { type: 'json_object' },
      seed: -1,
      user: 'u',
      stream: true,
      passed: { metadata: { a: 'b' } },
    })
    expect(read({ stream: true, reasoning_effort: 'high' }).request.reasoningEffort).toBe('high')
  })

  test('may use null for absent, the newer name of max_tokens, a single stop text, and unknown fields', () => {
    const nothing = Object.fromEntries(
      [
        'stream',
        'stream_options',
        'reasoning_effort',
        'tools',
        'tool_choice',
        'parallel_tool_calls',
        'stop',
        'temperature',
        'top_p',
        'max_tokens',
        'max_completion_tokens',
        'response_format',
        'seed',
        'user',
        'metadata',
        'n',
      ].map((name) => [name, null]),
    )
    expect(read(nothing)).toEqual(read({}))
    expect(
      read({ max_completion_tokens: 5, max_tokens: 9, stop: 'x', logit_bias: {}, no_such_field: [1] }).request,
    ).toMatchObject({ maxTokens: 5, stop: ['x'] })
    expect(read({ max_tokens: 1_000_000 }).request.maxTokens).toBe(4096)
    expect(
      read({ response_format: { type: 'text' }, tools: [], tool_choice: 'none', reasoning_effort: 'none' }).request,
    ).toMatchObject({ responseFormat: null, tools: [], toolChoice: null, reasoningEffort: 'none' })
    expect(read({ model: 'test/plain', reasoning_effort: 'none' }).request.reasoningEffort).toBeNull()
    expect(read({ model: 'signed' }).model.id).toBe('test/signed')
    expect(
      read({ stream: true, tools: [{ type: 'function', function: { name: 'x' } }], tool_choice: 'auto' }).request,
    ).toMatchObject({
      tools: [{ name: 'x', description: null, parameters: { type: 'object', properties: {} }, strict: null }],
      toolChoice: 'auto',
    })
  })

  test.each<[string, Record<string, unknown>]>([
    ['invalid_parameter: model is', { model: undefined }],
    ['invalid_parameter: model is', { model: 5 }],
    ['invalid_parameter: model is', { model: '' }],
    ['unsupported_model: ', { model: 'test/absent' }],
    ['unsupported_model: ', { model: '__proto__' }],
    ['unsupported_model: ', { model: 'x'.repeat(1_000_000) }],
    ['invalid_parameter: stream must', { stream: 'yes' }],
    ['invalid_parameter: stream_options must', { stream: true, stream_options: [] }],
    ['invalid_parameter: stream_options must', { stream_options: 'x' }],
    ['invalid_parameter: stream_options.include_usage must', { stream_options: { include_usage: 'x' } }],
    [
      'invalid_parameter: stream_options.include_obfuscation must',
      { stream: true, stream_options: { include_obfuscation: 1 } },
    ],
    [
      'unsupported_parameter: stream_options.include_obfuscation is',
      { stream: true, stream_options: { include_obfuscation: true } },
    ],
    ['invalid_parameter: metadata must', { metadata: { a: 1 } }],
    ['invalid_parameter: stream_options.include_usage must', { stream: true, stream_options: { include_usage: 1 } }],
    ['invalid_parameter: n must', { n: 2 }],
    ['invalid_parameter: n must', { n: '1' }],
    ['invalid_parameter: user must', { user: 5 }],
    ['invalid_parameter: metadata must', { metadata: [] }],
    ['invalid_parameter: temperature must', { temperature: 2.1 }],
    ['invalid_parameter: temperature must', { temperature: '1' }],
    ['invalid_parameter: top_p must', { top_p: -0.1 }],
    ['invalid_parameter: seed must', { seed: 0.5 }],
    ['invalid_parameter: max_tokens must', { max_tokens: 0 }],
    ['invalid_parameter: max_tokens must', { max_tokens: 1.5 }],
    ['invalid_parameter: max_completion_tokens must', { max_completion_tokens: '9' }],
    ['invalid_parameter: stop must', { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['invalid_parameter: stop must', { stop: [''] }],
    ['invalid_parameter: stop must', { stop: 5 }],
    ['invalid_parameter: stop must', { stop: ['a', 'x'.repeat(1001)] }],
    ['invalid_parameter: response_format.type must', { response_format: 'json' }],
    ['invalid_parameter: response_format.type must', { response_format: { type: 'xml' } }],
    [
      'invalid_parameter: response_format.json_schema must',
      { response_format: { type: 'json_schema', json_schema: null } },
    ],
    [
      'invalid_parameter: response_format.json_schema.name is',
      { response_format: { type: 'json_schema', json_schema: {} } },
    ],
    ...['', 7, null].map((name): [string, Record<string, unknown>] => [
      'invalid_parameter: response_format.json_schema.name is',
      { response_format: { type: 'json_schema', json_schema: { name } } },
    ]),
    [
      'invalid_parameter: response_format.json_schema.schema must',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: true } } },
    ],
    [
      'invalid_parameter: response_format.json_schema.strict must',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', strict: 'yes' } } },
    ],
    [
      'invalid_parameter: response_format.json_schema.description must',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', description: [] } } },
    ],
    ['invalid_parameter: reasoning_effort must', { reasoning_effort: 'extreme', stream: true }],
    ['reasoning_requires_streaming: ', { reasoning_effort: 'low' }],
    ['reasoning_effort_unsupported: ', { reasoning_effort: 'max', stream: true }],
    ['reasoning_effort_unsupported: ', { model: 'test/plain', reasoning_effort: 'low', stream: true }],
    ['reasoning_effort_unsupported: ', { model: 'test/sealed', reasoning_effort: 'none' }],
    ['tools_require_streaming: ', { tools: [tool] }],
    ['tools_require_streaming: ', { tool_choice: 'auto' }],
    ['invalid_parameter: tools cannot', { model: 'test/mute', tools: [tool], stream: true }],
    ['invalid_parameter: tools must', { tools: {}, stream: true }],
    ['invalid_parameter: tools has more than 128', { tools: Array(129).fill(tool), stream: true }],
    ['invalid_parameter: tools[0] must', { tools: [null], stream: true }],
    ['invalid_parameter: tools[0].type must', { tools: [{ type: 'custom', custom: { name: 'x' } }], stream: true }],
    ['invalid_parameter: tools[0].function must', { tools: [{ type: 'function' }], stream: true }],
    [
      'invalid_parameter: tools[0].function.name must',
      { tools: [{ type: 'function', function: { name: 'x y' } }], stream: true },
    ],
    [
      'invalid_parameter: tools[0].function.name must',
      { tools: [{ type: 'function', function: { name: 'x'.repeat(1_000_000) } }], stream: true },
    ],
    ['invalid_parameter: tools[1].function.name stands twice', { tools: [tool, tool], stream: true }],
    [
      'invalid_parameter: tools[0].function.description must',
      { tools: [{ type: 'function', function: { name: 'x', description: 5 } }], stream: true },
    ],
    [
      'invalid_parameter: tools[0].function.parameters must',
      { tools: [{ type: 'function', function: { name: 'x', parameters: [] } }], stream: true },
    ],
    [
      'invalid_parameter: tools[0].function.strict must',
      { tools: [{ type: 'function', function: { name: 'x', strict: 1 } }], stream: true },
    ],
    ['invalid_parameter: tool_choice must', { tools: [tool], tool_choice: 'any', stream: true }],
    ['invalid_parameter: tool_choice must', { tools: [tool], tool_choice: { type: 'function' }, stream: true }],
    [
      'invalid_parameter: tool_choice.function.name names',
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'other' } }, stream: true },
    ],
    ['invalid_parameter: tool_choice requires a tool', { tool_choice: 'required', stream: true }],
    ['invalid_parameter: parallel_tool_calls must', { tools: [tool], parallel_tool_calls: 'no', stream: true }],
  ])('is refused with %s', (begins, body) => {
    const sentence = refused(body)
    expect(sentence.startsWith(begins), sentence).toBe(true)
    expect(sentence.length).toBeLessThan(300) // nothing of the caller's is quoted
  })

  test('is refused when it is not an object; for an unknown model the error names some available ones', () => {
    for (const body of [undefined, null, 'x', 5, [], true])
      expect(refusal(() => readChatRequest(config, body)).code).toBe('invalid_parameter')
    expect(refused({ model: 'gpt-99' })).toContain('berth/demo')
  })
})

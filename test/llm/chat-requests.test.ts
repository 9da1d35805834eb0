/** Bodies of `POST /v1/chat/completions`: every documented field, every refusal, and where it says that it is. */
import { afterAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
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
const readAll = (...messages: unknown[]): ReturnType<typeof readChatRequest>['request']['messages'] =>
  read({ messages, stream: true }).request.messages
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

const signed = { type: 'reasoning', id: 'r1', text: 'hm', model: 'test/signed', signature: 'sig' }
const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
const png = 'data:image/png;base64,iVBORw0KGgo='

describe('messages', () => {
  test('of every role and part are read', () => {
    expect(
      readAll(
        { role: 'system', content: 'Be short.' },
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'And ' },
            { type: 'text', text: 'kind.' },
          ],
        },
        {
          role: 'user',
          name: 'bob',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: png } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
            { type: 'file', file: { file_data: 'JVBERi0=' } },
            { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
          ],
        },
        {
          role: 'assistant',
          content: [signed, { type: 'text', text: 'I ' }, { type: 'refusal', refusal: 'see.' }],
          tool_calls: [call],
          reasoning_content: 'shown',
        },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [
            { type: 'text', text: 'sun' },
            { type: 'text', text: 'ny' },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'c2' }] },
        { role: 'tool', tool_call_id: 'c2', content: '' },
        { role: 'assistant', content: '' },
      ),
    ).toEqual([
      { role: 'system', text: 'Be short.' },
      { role: 'system', text: 'And kind.' },
      {
        role: 'user',
        name: 'bob',
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', url: 'https://example.com/a.png', detail: 'low' },
          { type: 'image', url: png, detail: null },
          { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'JVBERi0=' },
          { type: 'file', filename: null, mediaType: 'application/pdf', data: 'JVBERi0=' },
          { type: 'audio', format: 'wav', data: 'UklGRg==' },
        ],
      },
      {
        role: 'assistant',
        reasoning: [
          { id: 'r1', text: 'hm', model: 'test/signed', signature: 'sig', encryptedContent: null, redacted: false },
        ],
        text: 'I see.',
        toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' }],
      },
      { role: 'tool', toolCallId: 'c1', text: 'sunny', isError: false },
      {
        role: 'assistant',
        reasoning: [],
        text: '',
        toolCalls: [{ id: 'c2', name: 'weather', arguments: '{"city":"Rome"}' }],
      },
      { role: 'tool', toolCallId: 'c2', text: '', isError: false },
      { role: 'assistant', reasoning: [], text: '', toolCalls: [] },
    ])
  })

  test('may have a refusal as OpenAI’s clients store it: beside a null content', () => {
    expect(
      read({ messages: [user, { role: 'assistant', content: null, refusal: 'I will not.' }, user] }).request
        .messages[1],
    ).toMatchObject({ role: 'assistant', text: 'I will not.' })
    expect(
      read({ messages: [user, { role: 'assistant', content: 'Yes.', refusal: null }, user] }).request.messages[1],
    ).toMatchObject({ text: 'Yes.' })
  })

  test('may replay reasoning as OpenRouter’s details, whose pieces of one block are put together', () => {
    const details = (model: string, ...reasoning_details: unknown[]): unknown =>
      (
        read({ model, messages: [user, { role: 'assistant', content: 'x', reasoning_details }] }).request
          .messages[1] as { reasoning: unknown }
      ).reasoning
    expect(
      details(
        'test/signed',
        { type: 'reasoning.text', text: 'a', index: 0 },
        { type: 'reasoning.text', text: 'b', signature: 's', index: 0 },
        { type: 'reasoning.encrypted', data: 'hidden', index: 1 },
      ),
    ).toEqual([
      { id: null, text: 'ab', model: 'test/signed', signature: 's', encryptedContent: null, redacted: false },
      { id: null, text: '', model: 'test/signed', signature: null, encryptedContent: 'hidden', redacted: true },
    ])
    expect(
      details(
        'test/sealed',
        { type: 'reasoning.summary', summary: 'a', id: 'rs_1' },
        { type: 'reasoning.encrypted', data: 'e', id: 'rs_1', model: 'test/sealed' },
      ),
    ).toEqual([
      { id: 'rs_1', text: 'a', model: 'test/sealed', signature: null, encryptedContent: 'e', redacted: false },
    ])
    expect(details('test/signed', { type: 'reasoning.text', text: 'of a stream that was cut' })).toEqual([])
  })

  const assistant = (content: unknown): unknown[] => [user, { role: 'assistant', content }]
  const userPart = (part: unknown): unknown[] => [{ role: 'user', content: [part] }]
  const calls = (...tool_calls: unknown[]): unknown[] => [user, { role: 'assistant', tool_calls }]
  test.each<[string, unknown]>([
    ['messages must', undefined],
    ['messages must', {}],
    ['messages is empty', []],
    [`messages has more than ${limits.chatMessagesMax}`, Array(100_000).fill(user)],
    ['messages[0] must', [null]],
    ['messages[0] must', [[user]]],
    ['messages[1] must', [user, 'hello']],
    ['messages[0].role must', [{ content: 'x' }]],
    ['messages[0].role must', [{ role: 'robot', content: 'x' }]],
    ['messages[0].role must', [{ role: '__proto__', content: 'x' }]],
    ['messages[0].role function', [{ role: 'function', name: 'x', content: 'x' }]],
    ['messages[0].content must', [{ role: 'system' }]],
    ['messages[0].content must', [{ role: 'system', content: { text: 'x' } }]],
    ['messages[0].content[0].type must', [{ role: 'system', content: [{ type: 'image_url' }] }]],
    ['messages[0].content[0].text must', [{ role: 'developer', content: [{ type: 'text' }] }]],
    ['messages[0].content must', [{ role: 'user', content: null }]],
    ['messages[0].content must', [{ role: 'user', content: 5 }]],
    ['messages[0].content is empty', [{ role: 'user', content: [] }]],
    ['messages[0].content has more than', [{ role: 'user', content: Array(2000).fill({ type: 'text', text: '' }) }]],
    ['messages[0].name must', [{ ...user, name: 5 }]],
    ['messages[0].content[0] must', userPart('text')],
    ['messages[0].content[0].type must', userPart({ type: 'video' })],
    ['messages[0].content[0].type must', userPart({})],
    ['messages[0].content[0].text must', userPart({ type: 'text', text: 5 })],
    ['messages[0].content[0].image_url must', userPart({ type: 'image_url', image_url: 'https://x' })],
    ['messages[0].content[0].image_url.url must', userPart({ type: 'image_url', image_url: {} })],
    [
      'messages[0].content[0].image_url.url must',
      userPart({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
    ],
    [
      'messages[0].content[0].image_url.url must',
      userPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,***' } }),
    ],
    [
      'messages[0].content[0].image_url.url must',
      userPart({ type: 'image_url', image_url: { url: 'data:text/html;base64,PGI+' } }),
    ],
    [
      'messages[0].content[0].image_url.detail must',
      userPart({ type: 'image_url', image_url: { url: png, detail: 'huge' } }),
    ],
    ['messages[0].content[0].file must', userPart({ type: 'file' })],
    ['messages[0].content[0].file.file_id cannot', userPart({ type: 'file', file: { file_id: 'file-1' } })],
    ['messages[0].content[0].file.file_data must', userPart({ type: 'file', file: {} })],
    ['messages[0].content[0].file.file_data must', userPart({ type: 'file', file: { file_data: 'https://x/a.pdf' } })],
    ['messages[0].content[0].file.filename must', userPart({ type: 'file', file: { filename: 1, file_data: 'QQ==' } })],
    ['messages[0].content[0].input_audio must', userPart({ type: 'input_audio' })],
    [
      'messages[0].content[0].input_audio.format must',
      userPart({ type: 'input_audio', input_audio: { data: 'QQ==', format: 'ogg' } }),
    ],
    [
      'messages[0].content[0].input_audio.data must',
      userPart({ type: 'input_audio', input_audio: { data: '', format: 'mp3' } }),
    ],
    ['messages[1] is empty', assistant(undefined)],
    ['messages[1] is empty', assistant([])],
    ['messages[1].content must', assistant(5)],
    ['messages[1].content[0] must', assistant([null])],
    ['messages[1].content[0].type must', assistant([{ type: 'image_url' }])],
    ['messages[1].content[0].text must', assistant([{ type: 'text' }])],
    ['messages[1].content[0].refusal must', assistant([{ type: 'refusal' }])],
    ['messages[1].content[1] is reasoning after text', assistant([{ type: 'text', text: 'x' }, signed])],
    ['messages[1].content[0].model must', assistant([{ ...signed, model: undefined }])],
    ['messages[1].content[0].text must', assistant([{ ...signed, text: 5 }])],
    ['messages[1].content[0].signature must', assistant([{ ...signed, signature: 5 }])],
    ['messages[1].content[0].encrypted_content must', assistant([{ ...signed, encrypted_content: {} }])],
    ['messages[1].content[0].redacted must', assistant([{ ...signed, redacted: 'yes' }])],
    ['messages[1].content[0].id must', assistant([{ ...signed, id: 5 }])],
    ['messages[1].content[0] has neither', assistant([{ ...signed, signature: undefined }])],
    ['messages[1].reasoning_content must', [user, { role: 'assistant', content: 'x', reasoning_content: {} }]],
    ['messages[1].reasoning_details must', [user, { role: 'assistant', content: 'x', reasoning_details: {} }]],
    [
      'messages[1].reasoning_details[0].type must',
      [user, { role: 'assistant', content: 'x', reasoning_details: [{}] }],
    ],
    [
      'messages[1].reasoning_details[0].data must',
      [user, { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.encrypted' }] }],
    ],
    ['messages[1].refusal must', [user, { role: 'assistant', content: 'x', refusal: 1 }]],
    ['messages[1].name must', [user, { role: 'assistant', content: 'x', name: 1 }]],
    ['messages[1].audio cannot', [user, { role: 'assistant', content: 'x', audio: { id: 'audio_1' } }]],
    [
      'messages[1].function_call is no longer',
      [user, { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }],
    ],
    ['messages[1].tool_calls must', [user, { role: 'assistant', tool_calls: {} }]],
    ['messages[1].tool_calls[0] must', calls('x')],
    ['messages[1].tool_calls[0].type must', calls({ ...call, type: 'custom' })],
    ['messages[1].tool_calls[0].id must', calls({ ...call, id: '' })],
    ['messages[1].tool_calls[0].id must', calls({ ...call, id: 'x'.repeat(1_000_000) })],
    ['messages[1].tool_calls[1].id appears twice', calls(call, call)],
    ['messages[1].tool_calls[0].function must', calls({ ...call, function: null })],
    [
      'messages[1].tool_calls[0].function.name must',
      calls({ ...call, function: { name: 'x'.repeat(1_000_000), arguments: '' } }),
    ],
    ['messages[1].tool_calls[0].function.arguments must', calls({ ...call, function: { name: 'x', arguments: {} } })],
    ['messages[1].tool_calls has more than 128', calls(...(Array(129).fill(call) as unknown[]))],
    ['messages[1].tool_call_id must', [user, { role: 'tool', content: 'x' }]],
    ['messages[1].tool_call_id answers no tool call', [user, { role: 'tool', tool_call_id: 'c1', content: 'x' }]],
    [
      'messages[3].tool_call_id answers no',
      [
        ...calls(call),
        { role: 'tool', tool_call_id: 'c1', content: 'x' },
        { role: 'tool', tool_call_id: 'c1', content: 'x' },
      ],
    ],
    ['messages[2].content must', [...calls(call), { role: 'tool', tool_call_id: 'c1' }]],
    ['messages leaves a tool call', calls(call)],
    ['messages[2] leaves a tool call', [...calls(call), user]],
  ])('are refused: %s', (begins, messages) => {
    const { code, message } = refusal(() => read({ messages }))
    expect(code).toBe('invalid_messages')
    expect(message.startsWith(begins), message).toBe(true)
    expect(message.length).toBeLessThan(300)
  })

  test('may not replay reasoning of another model, or without the id that its provider requires; this is refused before anything is sent', () => {
    const replay = (model: string, block: unknown): unknown =>
      refusal(() =>
        readChatRequest(config, {
          model,
          messages: [user, { role: 'assistant', content: [block, { type: 'text', text: 'x' }] }],
        }),
      )
    expect(replay('test/plain', signed)).toMatchObject({
      code: 'reasoning_model_mismatch',
      message: expect.stringContaining('messages[1].content[0]'),
    })
    expect(replay('test/signed', { ...signed, model: 'test/absent' })).toMatchObject({
      code: 'reasoning_model_mismatch',
    })
    expect(
      replay('test/sealed', { type: 'reasoning', text: '', model: 'test/sealed', encrypted_content: 'e' }),
    ).toMatchObject({ code: 'reasoning_id_missing', message: expect.stringContaining('messages[1].content[0]') })
    const bare = readChatRequest(config, {
      model: 'test/signed',
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { ...signed, model: 'signed' },
            { type: 'text', text: 'x' },
          ],
        },
      ],
    })
    expect(bare.request.messages[1]).toMatchObject({ reasoning: [{ model: 'test/signed' }] })
  })
})

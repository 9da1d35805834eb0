/** Bodies of `POST /v1/messages`: what becomes of every field, every refusal, and where it says that it is. */
import { afterAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { messagesLimits } from '#src/platform/limits/messages.ts'
import { readCountRequest, readMessagesRequest } from '#src/resources/llm/messages/requests.ts'
import { makeConfig, refusal } from '../chat-makers.ts'

const { config, remove } = makeConfig()
afterAll(remove)

type Body = Record<string, unknown>
const user = { role: 'user', content: 'Hello' }
const read = (body: Body): ReturnType<typeof readMessagesRequest> =>
  readMessagesRequest(config, { model: 'test/signed', max_tokens: 4000, messages: [user], ...body })
const readAll = (...messages: unknown[]): unknown => read({ messages }).request.messages
const refused = (body: Body): string => {
  const { code, message } = refusal(() => read(body))
  return `${code}: ${message}`
}
const refusedMessages = (...messages: unknown[]): string => refused({ messages })
const says = (...content: unknown[]): Body => ({ role: 'user', content })
const answered = (...content: unknown[]): Body => ({ role: 'assistant', content })
const call = { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Rome' } }
const result = { type: 'tool_result', tool_use_id: 'c1', content: 'sunny' }
const tool = { name: 'weather', description: 'x', input_schema: { type: 'object' } }

describe('a body', () => {
  test('with a model, a limit and a message leaves everything else to the provider', () => {
    expect(read({}).request).toEqual({
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }], name: null }],
      tools: [],
      toolChoice: null,
      parallelToolCalls: null,
      reasoningEffort: null,
      maxTokens: 4000,
      temperature: null,
      topP: null,
      stop: [],
      responseFormat: null,
      seed: null,
      user: null,
      stream: false,
      native: {
        kind: 'anthropic',
        only: null,
        body: { model: 'test/signed', max_tokens: 4000, messages: [user], stream: false },
      },
    })
  })

  test('with every field is parsed, and is kept for upstreams of its format as it was written', () => {
    const body = {
      model: 'test/signed',
      max_tokens: 3000,
      stream: true,
      system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
      messages: [user],
      tools: [{ ...tool, strict: true, cache_control: { type: 'ephemeral', ttl: '5m' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
      metadata: { user_id: 'u1' },
      stop_sequences: ['a', 'b'],
      temperature: 1,
      top_p: 0.9,
      service_tier: 'auto',
      cache_control: { type: 'ephemeral' },
    }
    const { request } = read(body)
    expect(request).toMatchObject({
      messages: [{ role: 'system', text: 'Be short.' }, { role: 'user' }],
      tools: [{ name: 'weather', description: 'x', parameters: { type: 'object' }, strict: true }],
      toolChoice: 'required',
      parallelToolCalls: false,
      reasoningEffort: 'low',
      responseFormat: {
        type: 'json_schema',
        json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
      },
      maxTokens: 3000,
      temperature: 1,
      topP: 0.9,
      stop: ['a', 'b'],
      user: 'u1',
      stream: true,
      native: { body, only: null },
    })
    expect(request.native?.body).toEqual(body)
  })

  test('may have null for what is optional, and more tokens than the model has', () => {
    const absent = { system: null, tools: null, tool_choice: null, thinking: null, output_config: null, metadata: null }
    const rest = { stop_sequences: null, temperature: null, top_p: null, top_k: null, service_tier: null, stream: null }
    const { request } = read({ ...absent, ...rest, cache_control: null, container: null, max_tokens: 1_000_000 })
    expect(request.native?.body).toEqual({ model: 'test/signed', max_tokens: 4096, messages: [user], stream: false })
    expect(read({ speed: 'standard' }).request.native?.body).not.toHaveProperty('speed')
  })

  test.each<[Body, string]>([
    [{ model: 5 }, 'invalid_parameter: model is required'],
    [{ model: 'x/y' }, 'unsupported_model: There is no such model here'],
    [{ max_tokens: undefined }, 'invalid_parameter: max_tokens is required: a whole number from 1.'],
    [{ max_tokens: 0 }, 'invalid_parameter: max_tokens is required'],
    [{ max_token: 5 }, 'invalid_parameter: Unknown field max_token. Did you mean max_tokens?'],
    [{ stream: 'yes' }, 'invalid_parameter: stream must be true or false.'],
    [{ temperature: 1.1 }, 'invalid_parameter: temperature must be a number from 0 to 1.'],
    [{ top_p: -1 }, 'invalid_parameter: top_p must be a number from 0 to 1.'],
    [{ top_k: 1.5 }, 'invalid_parameter: top_k must be a whole number from 0.'],
    [{ stop_sequences: 'x' }, 'invalid_parameter: stop_sequences must be a list of at most 64 strings'],
    [{ stop_sequences: [''] }, 'invalid_parameter: stop_sequences must be'],
    [{ stop_sequences: ['x'.repeat(1001)] }, 'invalid_parameter: stop_sequences must be'],
    [{ metadata: { user: 'x' } }, 'invalid_parameter: Unknown field metadata.user. Did you mean metadata.user_id?'],
    [{ metadata: { user_id: 5 } }, 'invalid_parameter: metadata.user_id must be a string.'],
    [{ service_tier: 'flex' }, 'invalid_parameter: service_tier must be auto or standard_only.'],
    [{ cache_control: { type: 'x' } }, 'invalid_parameter: cache_control.type must be ephemeral.'],
    [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, 'unsupported_parameter: cache_control.ttl is not supported'],
    [{ cache_control: { type: 'ephemeral', ttl: '2h' } }, 'invalid_parameter: cache_control.ttl must be 5m.'],
    [{ container: 'x' }, 'unsupported_parameter: container is not supported'],
    [{ mcp_servers: [] }, 'unsupported_parameter: mcp_servers is not supported'],
    [{ context_management: {} }, 'unsupported_parameter: context_management is not supported'],
    [{ inference_geo: 'eu' }, 'unsupported_parameter: inference_geo is not supported'],
    [{ thread: { type: 'create' } }, 'unsupported_parameter: thread is not supported: conversations are not stored.'],
    [{ speed: 'fast' }, 'unsupported_parameter: speed is not supported'],
    [{ thinking: 'on' }, 'invalid_parameter: thinking must be an object.'],
    [{ thinking: { type: 'x' } }, 'invalid_parameter: thinking.type must be enabled'],
    [{ thinking: { type: 'enabled' } }, 'invalid_parameter: thinking.budget_tokens must be a whole number from 1024.'],
    [
      { thinking: { type: 'enabled', budget_tokens: 1023 } },
      'invalid_parameter: thinking.budget_tokens must be a whole',
    ],
    [{ thinking: { type: 'enabled', budget_tokens: 4000 } }, 'invalid_parameter: thinking.budget_tokens must be less'],
    [{ thinking: { type: 'adaptive', budget_tokens: 2000 } }, 'invalid_parameter: thinking.budget_tokens is only'],
    [{ thinking: { type: 'adaptive', display: 'x' } }, 'invalid_parameter: thinking.display must be'],
    [{ thinking: { type: 'disabled', x: 1 } }, 'invalid_parameter: Unknown field thinking.x. Leave it out.'],
    [
      { model: 'test/plain', thinking: { type: 'adaptive' } },
      'reasoning_effort_unsupported: thinking cannot be used: test/plain does not reason.',
    ],
    [
      { model: 'test/sealed', thinking: { type: 'disabled' } },
      'reasoning_effort_unsupported: thinking cannot be disabled: test/sealed offers low, high.',
    ],
    [{ output_config: { effort: 'medium' } }, 'reasoning_effort_unsupported: output_config.effort cannot be medium'],
    [{ output_config: { effort: 'none' } }, 'invalid_parameter: output_config.effort must be one of'],
    [{ output_config: { format: { type: 'text' } } }, 'invalid_parameter: output_config.format must be'],
    [{ system: 5 }, 'invalid_messages: system must be a string or a list of content blocks.'],
    [{ system: [{ type: 'image' }] }, 'invalid_messages: system[0].type must be text.'],
  ])('%j is refused', (body, sentence) => {
    expect(refused(body)).toContain(sentence)
  })

  test('that is no object is refused', () => {
    for (const body of [null, [], 'x', 5])
      expect(refusal(() => readMessagesRequest(config, body)).code).toBe('invalid_parameter')
  })
})

describe('thinking becomes a level of the model', () => {
  test.each<[Body, string | null]>([
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'low'],
    [{ thinking: { type: 'adaptive' } }, 'low'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }, 'high'],
    [{ output_config: { effort: 'high' } }, 'high'],
    [{ thinking: { type: 'disabled' } }, 'none'],
    [{ thinking: { type: 'disabled' }, model: 'test/plain' }, null],
    [{ model: 'berth/demo', thinking: { type: 'enabled', budget_tokens: 11_000 }, max_tokens: 50_000 }, 'medium'],
    [{ model: 'berth/demo', thinking: { type: 'enabled', budget_tokens: 30_000 }, max_tokens: 50_000 }, 'high'],
    [{ model: 'berth/demo', thinking: { type: 'adaptive' } }, 'medium'],
  ])('%j', (body, level) => {
    expect(read(body).request.reasoningEffort).toBe(level)
  })
})

describe('messages', () => {
  test('of every kind are parsed', () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    expect(
      readAll(
        says(
          { type: 'text', text: 'Look' },
          { type: 'image', source: image, cache_control: { type: 'ephemeral' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } },
          { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'body' } },
          { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'inner' }] } },
          {
            type: 'search_result',
            title: 'S',
            source: 'https://s.example',
            content: [{ type: 'text', text: 'found' }],
          },
        ),
        answered(
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'redacted_thinking', data: 'eA==' },
          { type: 'text', text: 'One.', citations: null },
          { ...call, caller: { type: 'direct' } },
        ),
        says(
          {
            ...result,
            is_error: true,
            content: [
              { type: 'text', text: 'a' },
              { type: 'image', source: image },
            ],
          },
          { type: 'text', text: 'Go on' },
        ),
        { role: 'system', content: 'Be quick.' },
      ),
    ).toEqual([
      {
        role: 'user',
        name: null,
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=', detail: null },
          { type: 'image', url: 'https://example.com/a.png', detail: null },
          { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'aGk=' },
          { type: 'text', text: 'T\n\nbody' },
          { type: 'text', text: 'inner' },
          { type: 'text', text: 'S\n\nhttps://s.example\n\nfound' },
        ],
      },
      {
        role: 'assistant',
        reasoning: [
          { id: null, text: 'hm', model: 'test/signed', signature: 'c2ln', encryptedContent: null, redacted: false },
          { id: null, text: '', model: 'test/signed', signature: null, encryptedContent: 'eA==', redacted: true },
        ],
        text: 'One.',
        toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' }],
      },
      {
        role: 'tool',
        toolCallId: 'c1',
        text: 'a',
        isError: true,
        images: [{ type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=', detail: null }],
      },
      { role: 'user', name: null, parts: [{ type: 'text', text: 'Go on' }] },
      { role: 'system', text: 'Be quick.' },
    ])
  })

  test('with results in two user messages are one turn', () => {
    const other = { ...call, id: 'c2' }
    const messages = [
      user,
      answered(call, other),
      says(result),
      says({ ...result, tool_use_id: 'c2', content: undefined }),
    ]
    expect(readAll(...messages)).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool' },
      { role: 'tool', text: '' },
    ])
  })

  const block = (content: unknown): string => refusedMessages(says(content))
  test.each<[string, () => string, string]>([
    ['no list', () => refused({ messages: 'x' }), 'messages must be a list.'],
    ['none', () => refused({ messages: [] }), 'messages is empty.'],
    ['too many', () => refused({ messages: Array(limits.chatMessagesMax + 1).fill(user) }), 'has more than 10000'],
    ['no object', () => refusedMessages(5), 'messages[0] must be an object.'],
    ['a role', () => refusedMessages({ role: 'tool', content: 'x' }), 'messages[0].role must be user or assistant.'],
    ['a field', () => refusedMessages({ ...user, name: 'x' }), 'Unknown field messages[0].name. Leave it out.'],
    ['no content', () => refusedMessages({ role: 'user' }), 'messages[0].content must be a string or a list'],
    ['empty content', () => refusedMessages(says()), 'messages[0].content is empty.'],
    ['a block', () => block('x'), 'messages[0].content[0] must be an object.'],
    ['a kind', () => block({ type: 'audio' }), 'messages[0].content[0].type must be text, image, document'],
    ['a text', () => block({ type: 'text', text: 5 }), 'messages[0].content[0].text must be a string.'],
    ['a field of it', () => block({ type: 'text', text: 'x', txt: 1 }), 'Unknown field messages[0].content[0].txt.'],
    [
      'a media type',
      () => block({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'aGk=' } }),
      'source.media_type must be one of image/jpeg',
    ],
    [
      'base64',
      () => block({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '!' } }),
      'source.data must be base64.',
    ],
    [
      'an address',
      () => block({ type: 'image', source: { type: 'url', url: 'http://x.example' } }),
      'source.url must be an https address',
    ],
    [
      'a file',
      () => block({ type: 'document', source: { type: 'file', file_id: 'f' } }),
      'source.type cannot be file: the gateway keeps no files.',
    ],
    [
      'citations',
      () =>
        block({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'x' },
          citations: { enabled: true },
        }),
      'unsupported_parameter: messages[0].content[0].citations.enabled is not supported',
    ],
    [
      'an address of a document',
      () => block({ type: 'document', source: { type: 'url', url: 'http://x.example' } }),
      'source.url must be an https address of at most 8192 characters.',
    ],
    ['a result of nothing', () => block(result), 'content[0].tool_use_id answers no tool_use block'],
    ['no result', () => refusedMessages(user, answered(call)), 'messages leaves a tool_use block without a result.'],
    ['a late result', () => refusedMessages(user, answered(call), user), 'messages[2].content leaves a tool_use block'],
    [
      'a result after a text',
      () => refusedMessages(user, answered(call), says({ type: 'text', text: 'x' }, result)),
      'messages[2].content[0] leaves a tool_use block without a result.',
    ],
    [
      'the same id twice',
      () => refusedMessages(user, answered(call, call)),
      'messages[1] has two tool_use blocks with the same id.',
    ],
    [
      'a tool of a provider',
      () => refusedMessages(user, answered({ type: 'server_tool_use', id: 'x', name: 'web_search', input: {} })),
      'tools that run at a provider are not supported.',
    ],
    [
      'an input',
      () => refusedMessages(user, answered({ ...call, input: 'x' })),
      'messages[1].content[0].input must be an object.',
    ],
    [
      'a large input',
      () => refusedMessages(user, answered({ ...call, input: { a: 'x'.repeat(messagesLimits.toolInputLength) } })),
      'messages[1].content[0].input is too large',
    ],
    [
      'an unsigned thought',
      () => refusedMessages(user, answered({ type: 'thinking', thinking: 'hm', signature: '' })),
      'messages[1].content[0].signature is empty',
    ],
    [
      'a changed signature',
      () => refusedMessages(user, answered({ type: 'thinking', thinking: 'hm', signature: 'berth:%:x:y' })),
      'messages[1].content[0].signature was changed.',
    ],
    [
      'a thought of another model',
      () => refusedMessages(user, answered({ type: 'thinking', thinking: 'hm', signature: 'berth:test%2Fsealed:r:e' })),
      'reasoning_model_mismatch: messages[1].content[0] is reasoning of another model than test/signed',
    ],
  ])('with %s are refused', (_name, work, sentence) => {
    expect(work()).toContain(sentence)
  })
})

describe('tools', () => {
  test.each<[unknown, string]>([
    ['x', 'tools must be a list.'],
    [[5], 'tools[0] must be an object.'],
    [[{ ...tool, name: 'a b' }], 'tools[0].name must have 1 to 64 letters'],
    [[tool, tool], 'tools[1].name appears twice.'],
    [[{ ...tool, input_schema: undefined }], 'tools[0].input_schema must be a JSON Schema with "type": "object".'],
    [[{ ...tool, parameters: {} }], 'Unknown field tools[0].parameters.'],
    [[{ ...tool, defer_loading: true }], 'tools[0].defer_loading is not supported'],
    [[{ ...tool, allowed_callers: ['code_execution_20250825'] }], 'tools[0].allowed_callers is not supported'],
    [[{ type: 'web_search_20250305', name: 'web_search' }], 'tools[0].type is not supported: tools that run at'],
    [Array(limits.chatToolsMax + 1).fill(tool), 'tools has more than 128 tools.'],
  ])('%j are refused', (tools, sentence) => {
    expect(refused({ tools })).toContain(sentence)
  })

  test.each<[unknown, string]>([
    ['auto', 'tool_choice must be an object with a type.'],
    [{ type: 'required' }, 'tool_choice.type must be auto, any, tool or none.'],
    [{ type: 'tool', name: 'x' }, 'tool_choice.name names no tool of tools.'],
    [{ type: 'auto', disable_parallel_tool_use: 1 }, 'tool_choice.disable_parallel_tool_use must be true or false.'],
  ])('the choice %j is refused', (choice, sentence) => {
    expect(refused({ tools: [tool], tool_choice: choice })).toContain(sentence)
  })

  test('are refused for a model that cannot call them', () => {
    expect(refused({ model: 'test/mute', tools: [tool] })).toContain('tools cannot be used: test/mute')
    expect(refused({ tool_choice: { type: 'any' } })).toContain('tool_choice requires a tool, but tools has none.')
  })
})

describe('what only Anthropic’s format can express', () => {
  const bodies: readonly [string, Body][] = [
    ['top_k', { top_k: 5 }],
    ['stop_sequences', { stop_sequences: ['1', '2', '3', '4', '5'] }],
    ['thinking.display', { thinking: { type: 'adaptive', display: 'omitted' } }],
    ['tools[0].type', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    ['tools[0].input_examples', { tools: [{ ...tool, input_examples: [{}] }] }],
    [
      'messages[0].content[0].source',
      { messages: [says({ type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } })] },
    ],
    [
      'messages[0].content[0].transformations',
      {
        messages: [
          says({
            type: 'image',
            source: { type: 'url', url: 'https://x.example/a' },
            transformations: { oversized_image: 'error' },
          }),
        ],
      },
    ],
  ]
  test.each(bodies)('goes to its upstreams alone: %s', (place, body) => {
    expect(read(body).request.native).toMatchObject({ only: place, body })
  })

  test.each(bodies)('is refused for a model without one: %s', (place, body) => {
    expect(refused({ model: 'berth/demo', ...body })).toBe(
      `unsupported_parameter: ${place} is not supported: no upstream of berth/demo supports it. Leave it out, or choose another model.`,
    )
  })

  test('is not a stop sequence, but OpenAI’s responses have none', () => {
    expect(read({ model: 'test/plain', stop_sequences: ['x'] }).request.stop).toEqual(['x'])
    expect(refused({ model: 'test/sealed', stop_sequences: ['x'] })).toContain('stop_sequences is not supported')
  })
})

test('a conversation with ids that are not Anthropic’s is rewritten for it', () => {
  const foreign = 'functions.weather:0'
  const messages = [user, answered({ ...call, id: foreign }), says({ ...result, tool_use_id: foreign })]
  expect(read({ messages }).request.native).toBeUndefined()
})

describe('a body to count', () => {
  test('has what the model reads, and nothing else', () => {
    const body = { model: 'test/signed', messages: [user], system: 'x', tools: [tool], thinking: { type: 'adaptive' } }
    expect(readCountRequest(config, body).request.native?.body).toEqual(body)
    expect(refusal(() => readCountRequest(config, { ...body, max_tokens: 5 })).message).toContain(
      'Unknown field max_tokens',
    )
  })
})

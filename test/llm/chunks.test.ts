/** The streams of both routes, byte for byte. */
import { describe, expect, test } from 'vitest'
import { chunkFailure, chunkText, completionBody } from '#rest-compat/llm/chunks.ts'
import { attemptHeaders, llmEnvelope, llmErrorHeaders } from '#rest-compat/llm/envelope.ts'
import { uiChunkFailure, uiChunkText } from '#rest-compat/llm/ui-chunks.ts'
import type { ModelEvent, ReasoningBlock } from '#src/drivers/models/model.ts'
import { BerthError, retryAfterOf } from '#src/platform/errors.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

const answering = { id: 'chatcmpl-x', createdSeconds: 7, model: { id: 'a/b', speed: 'standard' } as Model } // all that a stream says of its model
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 }
const usageText =
  '{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}}'
const block = (rest: Partial<ReasoningBlock>): ReasoningBlock => ({
  id: null,
  text: 'hm',
  model: 'a/b',
  signature: null,
  encryptedContent: null,
  redacted: false,
  ...rest,
})
const everything: readonly (readonly ModelEvent[])[] = [
  [
    { type: 'reasoning', index: 0, text: 'h' },
    { type: 'reasoning', index: 0, text: 'm' },
  ],
  [
    { type: 'reasoning_end', index: 0, block: block({ signature: 'sig' }) },
    { type: 'usage', usage: {} },
    { type: 'text', text: 'a "b"\n' },
  ],
  [
    { type: 'tool', index: 0, id: 'c1', name: 'weather' },
    { type: 'arguments', index: 0, text: '{"a"' },
  ],
  [
    { type: 'arguments', index: 0, text: ':1}' },
    { type: 'end', finishReason: 'tool_calls', usage },
  ],
]
const error = new BerthError('upstream_overloaded', 'Try later.', { upstream: 'openai' })

describe('a stream of chunks', () => {
  const line = (delta: string, finish = 'null', rest = ''): string =>
    `data: {"id":"chatcmpl-x","object":"chat.completion.chunk","created":7,"model":"a/b","choices":[{"index":0,"delta":${delta},"finish_reason":${finish},"logprobs":null}]${rest}}\n\n`
  const expected = (rest: string): string[] => [
    line('{"role":"assistant","content":""}', 'null', rest) +
      line('{"reasoning_content":"h"}', 'null', rest) +
      line('{"reasoning_content":"m"}', 'null', rest),
    line(
      '{"reasoning_meta":{"id":null,"index":0,"model":"a/b","signature":"sig"},"reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"sig","id":null,"index":0,"model":"a/b"}]}',
      'null',
      rest,
    ) + line('{"content":"a \\"b\\"\\n"}', 'null', rest),
    line(
      '{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}]}',
      'null',
      rest,
    ) + line('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\""}}]}', 'null', rest),
    line('{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}', 'null', rest) +
      line('{}', '"tool_calls"', rest),
  ]

  test('is as documented, one text for each batch', () => {
    const text = chunkText(answering, false)
    const pieces = everything.map((batch) => text.batch(batch))
    expect(pieces).toEqual(expected('').map((piece, at) => (at === 3 ? `${piece}data: [DONE]\n\n` : piece)))
  })

  test('that begins with a call has no content, as at OpenAI', () => {
    const call: ModelEvent = { type: 'tool', index: 0, id: 'c1', name: 'weather' }
    for (const [first, content] of [
      [[{ type: 'usage', usage: {} }, call], null],
      [[{ type: 'text', text: 'a' }, call], ''],
      [[{ type: 'end', finishReason: 'stop', usage }], ''],
    ] satisfies [readonly ModelEvent[], string | null][]) {
      const [opening] = chunkText(answering, false).batch(first).split('\n\n')
      expect(`${opening}\n\n`).toBe(line(JSON.stringify({ role: 'assistant', content })))
    }
  })

  test('ends with its usage on request, which is null before', () => {
    const text = chunkText(answering, true)
    const last = `data: {"id":"chatcmpl-x","object":"chat.completion.chunk","created":7,"model":"a/b","choices":[],"usage":${usageText}}\n\ndata: [DONE]\n\n`
    expect(everything.map((batch) => text.batch(batch))).toEqual(
      expected(',"usage":null').map((piece, at) => (at === 3 ? piece + last : piece)),
    )
  })

  test('has each kind of finished reasoning once, in the form for its replay', () => {
    const meta = (one: ReasoningBlock): unknown => {
      const [, second = ''] = chunkText(answering, false)
        .batch([{ type: 'reasoning_end', index: 2, block: one }])
        .split('\n\n')
      return (JSON.parse(second.slice('data: '.length)) as { choices: { delta: unknown }[] }).choices[0]?.delta
    }
    const shared = { index: 2, model: 'a/b' }
    expect(meta(block({ signature: 's', text: '' }))).toEqual({
      reasoning_meta: { id: null, ...shared, signature: 's' },
      reasoning_details: [{ type: 'reasoning.text', text: '', signature: 's', id: null, ...shared }],
    })
    expect(meta(block({ id: 'rs_1', encryptedContent: 'e' }))).toEqual({
      reasoning_meta: { id: 'rs_1', ...shared, encrypted_content: 'e' },
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'hm', id: 'rs_1', ...shared },
        { type: 'reasoning.encrypted', data: 'e', id: 'rs_1', ...shared },
      ],
    })
    expect(meta(block({ encryptedContent: 'e', redacted: true, text: '' }))).toEqual({
      reasoning_meta: { id: null, ...shared, encrypted_content: 'e', redacted: true },
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'e', id: null, ...shared, redacted: true }],
    })
    expect(meta(block({}))).toEqual({
      reasoning_meta: { id: null, ...shared },
      reasoning_details: [{ type: 'reasoning.text', text: 'hm', id: null, ...shared }],
    })
  })

  test('that fails has the error in the form of OpenAI’s clients, and ends', () => {
    expect(chunkFailure(error, 'req_1')).toBe(
      'data: {"error":{"type":"overloaded_error","code":"upstream_overloaded","message":"Try later.","param":null,"request_id":"req_1","service_id":"openai"}}\n\ndata: [DONE]\n\n',
    )
  })

  test('that is not requested is one body, without reasoning', () => {
    expect(
      JSON.stringify(
        completionBody(answering, { text: 'Hi', refusal: '', logprobs: null, finishReason: 'stop', usage }),
      ),
    ).toBe(
      `{"id":"chatcmpl-x","object":"chat.completion","created":7,"model":"a/b","speed":"standard","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":${usageText}}`,
    )
  })
})

describe('a UI message stream', () => {
  const lines = (...chunks: unknown[]): string => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
  const finish = (finishReason: string): unknown[] => [
    { type: 'finish-step' },
    { type: 'finish', messageMetadata: { finishReason, usage: JSON.parse(usageText) as unknown, model: 'a/b' } },
  ]

  test('is as documented, one text for each batch', () => {
    const text = uiChunkText(answering, 'm1')
    expect(everything.map((batch) => text.batch(batch))).toEqual([
      lines(
        { type: 'start', messageId: 'm1' },
        { type: 'start-step' },
        { type: 'reasoning-start', id: 'reasoning-0' },
        { type: 'reasoning-delta', id: 'reasoning-0', delta: 'h' },
        { type: 'reasoning-delta', id: 'reasoning-0', delta: 'm' },
      ),
      lines(
        {
          type: 'reasoning-end',
          id: 'reasoning-0',
          providerMetadata: { anthropic: { signature: 'sig' }, berth: { model: 'a/b' } },
        },
        { type: 'text-start', id: 'text-0' },
        { type: 'text-delta', id: 'text-0', delta: 'a "b"\n' },
      ),
      lines(
        { type: 'text-end', id: 'text-0' },
        { type: 'tool-input-start', toolCallId: 'c1', toolName: 'weather' },
        { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"a"' },
      ),
      `${lines({ type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: ':1}' }, { type: 'tool-input-available', toolCallId: 'c1', toolName: 'weather', input: { a: 1 } }, ...finish('tool_calls'))}data: [DONE]\n\n`,
    ])
  })

  test('closes open parts before it starts others, and has hidden reasoning', () => {
    const text = uiChunkText(answering, 'm1')
    const told = text.batch([
      { type: 'text', text: 'a' },
      { type: 'reasoning_end', index: 0, block: block({ encryptedContent: 'e', redacted: true, text: '' }) },
      { type: 'reasoning', index: 1, text: 'b' },
      { type: 'reasoning_end', index: 1, block: block({ id: 'rs', encryptedContent: 'e' }) },
      { type: 'text', text: 'c' },
      { type: 'end', finishReason: 'length', usage },
    ])
    expect(told).toBe(
      `${lines(
        { type: 'start', messageId: 'm1' },
        { type: 'start-step' },
        { type: 'text-start', id: 'text-0' },
        { type: 'text-delta', id: 'text-0', delta: 'a' },
        { type: 'text-end', id: 'text-0' },
        { type: 'reasoning-start', id: 'reasoning-0' },
        {
          type: 'reasoning-end',
          id: 'reasoning-0',
          providerMetadata: { anthropic: { redactedData: 'e' }, berth: { model: 'a/b' } },
        },
        { type: 'reasoning-start', id: 'reasoning-1' },
        { type: 'reasoning-delta', id: 'reasoning-1', delta: 'b' },
        {
          type: 'reasoning-end',
          id: 'reasoning-1',
          providerMetadata: { openai: { itemId: 'rs', reasoningEncryptedContent: 'e' }, berth: { model: 'a/b' } },
        },
        { type: 'text-start', id: 'text-1' },
        { type: 'text-delta', id: 'text-1', delta: 'c' },
        { type: 'text-end', id: 'text-1' },
        ...finish('length'),
      )}data: [DONE]\n\n`,
    )
  })

  test('reports arguments that are not JSON as an error of the input, and absent ones as an empty object', () => {
    const told = uiChunkText(answering, 'm1').batch([
      { type: 'tool', index: 0, id: 'c1', name: 'x' },
      { type: 'arguments', index: 0, text: '{bad' },
      { type: 'tool', index: 1, id: 'c2', name: 'y' },
      { type: 'end', finishReason: 'tool_calls', usage },
    ])
    expect(told).toContain(
      lines(
        {
          type: 'tool-input-error',
          toolCallId: 'c1',
          toolName: 'x',
          input: '{bad',
          errorText: 'The model wrote arguments that are not JSON.',
        },
        { type: 'tool-input-available', toolCallId: 'c2', toolName: 'y', input: {} },
      ),
    )
  })

  test('that fails says so, finishes and ends', () => {
    expect(uiChunkFailure(error)).toBe(
      `${lines({ type: 'error', errorText: 'Try later.' }, { type: 'finish' })}data: [DONE]\n\n`,
    )
  })
})

describe('an error', () => {
  const told = (code: ConstructorParameters<typeof BerthError>[0], details = {}): string => {
    const { type, code: shown, service_id: service } = llmEnvelope(new BerthError(code, 'x', details), 'r').error
    return [type, shown, service].map(String).join(' ')
  }
  test.each<[ConstructorParameters<typeof BerthError>[0], Record<string, unknown>, string]>([
    ['unauthorized', { keyCode: 'key_missing' }, 'authentication_error key_missing gateway'],
    ['unauthorized', { keyCode: 'key_revoked' }, 'authentication_error key_revoked gateway'],
    ['unauthorized', {}, 'authentication_error key_invalid gateway'],
    ['authentication_invalid', {}, 'authentication_error authentication_invalid gateway'],
    ['forbidden', {}, 'permission_error missing_scope gateway'],
    ['not_permitted_for_role', {}, 'permission_error missing_scope gateway'],
    ['rate_limited', {}, 'rate_limit_error key_rate_limited gateway'],
    ['upstream_rate_limited', { upstream: 'openai' }, 'rate_limit_error upstream_rate_limited openai'],
    ['service_unavailable', {}, 'api_error credential_authority_unavailable gateway'],
    ['upstream_overloaded', { upstream: 'anthropic' }, 'overloaded_error upstream_overloaded anthropic'],
    ['upstream_timeout', { upstream: 'local' }, 'timeout_error upstream_timeout local'],
    ['upstream_error', { upstream: 'local' }, 'api_error upstream_error local'],
    ['internal_error', {}, 'api_error internal gateway'],
    ['not_found', {}, 'not_found_error route_not_found gateway'],
    ['invalid_request', {}, 'invalid_request_error invalid_parameter gateway'],
    ['request_too_large', {}, 'request_too_large request_too_large gateway'],
    ['budget_exceeded', {}, 'billing_error budget_exceeded gateway'],
  ])('%s %j is told as %s', (code, details, expected) => {
    expect(told(code, details)).toBe(expected)
  })

  test('says when to retry, when not to, and which upstream was tried', () => {
    expect(llmErrorHeaders(new BerthError('no_active_plan', 'x'))).toEqual({ 'x-should-retry': 'false' })
    expect(llmErrorHeaders(new BerthError('idempotency_conflict', 'x'))).toEqual({ 'x-should-retry': 'false' })
    expect(llmErrorHeaders(new BerthError('service_unavailable', 'x'))).toEqual({})
    expect(retryAfterOf(new BerthError('service_unavailable', 'x'))).toBe(2)
    expect(retryAfterOf(new BerthError('invalid_request', 'x'))).toBeUndefined()
    expect(
      llmErrorHeaders(
        new BerthError('upstream_rate_limited', 'x', {
          upstream: 'b',
          retryAfterSeconds: 7,
          attempts: [
            { upstream: 'a', status: 'upstream_error' },
            { upstream: 'b', status: 'upstream_rate_limited' },
          ],
        }),
      ),
    ).toEqual({
      'x-berth-upstream': 'b',
      'x-berth-attempts': '2',
      'x-berth-failed': 'a upstream_error, b upstream_rate_limited',
    })
    expect(attemptHeaders('a', [{ upstream: 'a', status: 'ok' }])).toEqual({
      'x-berth-upstream': 'a',
      'x-berth-attempts': '1',
    })
  })
})

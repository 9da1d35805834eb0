/** Bodies of `POST /v1/chat`: UI messages of ai 5, 6 and 7, with what their clients add and what only they show. */
import { afterAll, describe, expect, test } from 'vitest'
import { readUiChatRequest } from '#src/resources/llm/chats/requests.ts'
import { makeConfig, refusal } from './chat-makers.ts'

const { config, remove } = makeConfig()
afterAll(remove)

const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
const assistant = (...parts: unknown[]): unknown => ({ id: 'a1', role: 'assistant', parts })
const read = (messages: unknown, rest: Record<string, unknown> = {}): ReturnType<typeof readUiChatRequest> =>
  readUiChatRequest(config, { model: 'test/signed', messages, ...rest })
const readAll = (...messages: unknown[]): unknown => read(messages).request.messages
const hello = { role: 'user', parts: [{ type: 'text', text: 'Hello' }], name: null }
const toolPart = (fields: Record<string, unknown>): unknown => ({
  type: 'tool-weather',
  toolCallId: 'c1',
  input: { city: 'Rome' },
  ...fields,
})
const reasoning = (providerMetadata: unknown, text = 'hm'): unknown => ({
  type: 'reasoning',
  text,
  providerMetadata,
  state: 'done',
})
const signed = { anthropic: { signature: 'sig' }, berth: { model: 'test/signed' } }

describe('a body', () => {
  test('is streamed whether it says so or not, ignores what the transport adds, and refuses stream: false', () => {
    const body = {
      id: 'chat1',
      trigger: 'submit-message',
      messageId: 'm1',
      tools: [{ type: 'function', function: { name: 'weather' } }],
      reasoning_effort: 'low',
    }
    expect(read([user], body)).toMatchObject({
      continuedId: null,
      request: { stream: true, reasoningEffort: 'low', tools: [{ name: 'weather' }], messages: [hello] },
    })
    expect(read([user], { stream: true }).request.stream).toBe(true)
    expect(refusal(() => read([user], { stream: false })).code).toBe('stream_required')
    expect(refusal(() => read([user], { stream: 'no' })).code).toBe('invalid_parameter')
  })

  test('continues the assistant’s message when that is the last', () => {
    const answered = assistant(toolPart({ state: 'output-available', output: 1 }))
    expect(read([user, answered]).continuedId).toBe('a1')
    expect(read([user, { ...(answered as object), id: 'x'.repeat(10_000) }]).continuedId).toBeNull()
    expect(read([user, answered, user]).continuedId).toBeNull()
  })
})

describe('messages', () => {
  test('of every role and part are read, and what is only shown is dropped', () => {
    expect(
      readAll(
        {
          id: 's',
          role: 'system',
          parts: [
            { type: 'text', text: 'Be ' },
            { type: 'text', text: 'short.' },
          ],
        },
        {
          id: 'u',
          role: 'user',
          metadata: { at: 1 },
          parts: [
            { type: 'text', text: 'Look', state: 'done' },
            { type: 'data-cursor', data: 1 },
            { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
            { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
            { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', url: 'data:application/pdf;base64,QQ==' },
            { type: 'file', mediaType: 'audio/mpeg', url: 'data:audio/mpeg;base64,QQ==' },
          ],
        },
        assistant(
          { type: 'step-start' },
          reasoning(signed),
          { type: 'text', text: 'I see.' },
          { type: 'source-url', sourceId: '1', url: 'https://x' },
          { type: 'source-document', sourceId: '2' },
          { type: 'data-x', data: {} },
          { type: 'custom', kind: 'a.b' },
          { type: 'reasoning-file', mediaType: 'image/png', url: 'x' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
        ),
        { id: 'e', role: 'assistant', parts: [] },
        { id: 'f', role: 'user', parts: [{ type: 'data-x', data: 1 }] },
        user,
      ),
    ).toEqual([
      { role: 'system', text: 'Be short.' },
      {
        role: 'user',
        name: null,
        parts: [
          { type: 'text', text: 'Look' },
          { type: 'image', url: 'https://example.com/a.png', detail: null },
          { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=', detail: null },
          { type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: 'QQ==' },
          { type: 'audio', format: 'mp3', data: 'QQ==' },
        ],
      },
      {
        role: 'assistant',
        reasoning: [
          { id: null, text: 'hm', model: 'test/signed', signature: 'sig', encryptedContent: null, redacted: false },
        ],
        text: 'I see.',
        toolCalls: [],
      },
      hello,
    ])
  })

  test('of several steps become as many of the model’s, each followed by what its tools answered', () => {
    const call = (id: string, text: string): unknown => ({ id, name: 'weather', arguments: text })
    expect(
      readAll(
        user,
        assistant(
          { type: 'step-start' },
          reasoning(signed),
          toolPart({ state: 'output-available', output: { sunny: true } }),
          toolPart({ toolCallId: 'c2', state: 'output-error', errorText: 'no such city' }),
          { type: 'step-start' },
          { type: 'dynamic-tool', toolName: 'other', toolCallId: 'c3', state: 'output-denied', input: undefined },
          toolPart({
            toolCallId: 'c4',
            state: 'output-error',
            input: undefined,
            rawInput: '{bad',
            errorText: 'not JSON',
          }),
          toolPart({ toolCallId: 'c5', state: 'approval-responded', approval: { id: 'x', approved: false } }),
          { type: 'step-start' },
          toolPart({ toolCallId: 'c6', state: 'output-available', output: 'text as it is' }),
          { type: 'steering-message', id: 'st', parts: [{ type: 'text', text: 'Faster' }] },
          { type: 'step-start' },
          { type: 'text', text: 'Sunny.' },
        ),
      ),
    ).toEqual([
      hello,
      {
        role: 'assistant',
        text: '',
        reasoning: [expect.objectContaining({ signature: 'sig' })],
        toolCalls: [call('c1', '{"city":"Rome"}'), call('c2', '{"city":"Rome"}')],
      },
      { role: 'tool', toolCallId: 'c1', text: '{"sunny":true}', isError: false },
      { role: 'tool', toolCallId: 'c2', text: 'no such city', isError: true },
      {
        role: 'assistant',
        text: '',
        reasoning: [],
        toolCalls: [{ id: 'c3', name: 'other', arguments: '{}' }, call('c4', '{bad'), call('c5', '{"city":"Rome"}')],
      },
      { role: 'tool', toolCallId: 'c3', text: 'denied', isError: true },
      { role: 'tool', toolCallId: 'c4', text: 'not JSON', isError: true },
      { role: 'tool', toolCallId: 'c5', text: 'denied', isError: true },
      { role: 'assistant', text: '', reasoning: [], toolCalls: [call('c6', '{"city":"Rome"}')] },
      { role: 'tool', toolCallId: 'c6', text: 'text as it is', isError: false },
      { role: 'user', name: null, parts: [{ type: 'text', text: 'Faster' }] },
      { role: 'assistant', text: 'Sunny.', reasoning: [], toolCalls: [] },
    ])
  })

  test.each(['input-available', 'input-streaming', 'approval-requested'])(
    'with a call in state %s are refused when the assistant spoke last, and lose that call when not',
    (state) => {
      const waiting = assistant({ type: 'text', text: 'Wait.' }, toolPart({ state }))
      for (const messages of [
        [user, waiting],
        [user, waiting, user],
      ]) {
        expect(refusal(() => read(messages))).toEqual({
          code: 'invalid_messages',
          message: expect.stringMatching(/^messages\[1\]\.parts\[1\] is a tool call without a result/),
        })
      }
      expect(readAll(user, waiting, user, assistant({ type: 'text', text: 'Done.' }))).toMatchObject([
        hello,
        { role: 'assistant', text: 'Wait.', toolCalls: [] },
        hello,
        { role: 'assistant', text: 'Done.' },
      ])
    },
  )

  test('replay reasoning of both families, hidden text too, and drop what a cut stream left', () => {
    const replayed = (model: string, ...metadata: unknown[]): unknown =>
      (
        read([user, assistant(...metadata.map((one) => reasoning(one)), { type: 'text', text: 'x' })], { model })
          .request.messages[1] as { reasoning: unknown }
      ).reasoning
    expect(replayed('test/signed', { anthropic: { redactedData: 'hidden' }, berth: { model: 'test/signed' } })).toEqual(
      [{ id: null, text: 'hm', model: 'test/signed', signature: null, encryptedContent: 'hidden', redacted: true }],
    )
    expect(
      replayed('test/sealed', {
        openai: { itemId: 'rs_1', reasoningEncryptedContent: 'e' },
        berth: { model: 'test/sealed' },
      }),
    ).toEqual([
      { id: 'rs_1', text: 'hm', model: 'test/sealed', signature: null, encryptedContent: 'e', redacted: false },
    ])
    expect(
      replayed('test/signed', undefined, null, {}, { other: { x: 1 } }, { berth: { model: 'test/signed' } }),
    ).toEqual([])
    expect(replayed('test/plain', { berth: { model: 'test/plain' } })).toMatchObject([{ text: 'hm', signature: null }])
  })

  test.each<[string, string, unknown]>([
    [
      'reasoning_model_mismatch',
      'messages[1].parts[0] is reasoning of another model',
      reasoning({ ...signed, berth: { model: 'test/plain' } }),
    ],
    [
      'invalid_messages',
      'messages[1].parts[0].providerMetadata.berth is missing',
      reasoning({ anthropic: { signature: 's' } }),
    ],
    ['invalid_messages', 'messages[1].parts[0].providerMetadata must', reasoning('x')],
    ['invalid_messages', 'messages[1].parts[0].providerMetadata.anthropic must', reasoning({ anthropic: 'x' })],
    [
      'invalid_messages',
      'messages[1].parts[0].providerMetadata.anthropic.signature must',
      reasoning({ anthropic: { signature: 5 } }),
    ],
    ['invalid_messages', 'messages[1].parts[0].providerMetadata.berth.model must', reasoning({ berth: {} })],
    ['invalid_messages', 'messages[1].parts[0].text must', { type: 'reasoning' }],
    ['invalid_messages', 'messages[1].parts[0].text must', { type: 'text', text: null }],
    ['invalid_messages', 'messages[1].parts[0].type is not a known kind', { type: 'video' }],
    ['invalid_messages', 'messages[1].parts[0].type must be a string', { text: 'x' }],
    ['invalid_messages', 'messages[1].parts[0] must', 'x'],
    ['invalid_messages', 'messages[1].parts[0].state must', toolPart({ state: 'done' })],
    [
      'invalid_messages',
      'messages[1].parts[0].toolCallId must',
      toolPart({ toolCallId: 5, state: 'output-available' }),
    ],
    [
      'invalid_messages',
      'messages[1].parts[0].type must name a tool',
      { type: `tool-${'x'.repeat(1_000_000)}`, toolCallId: 'c', state: 'output-available' },
    ],
    [
      'invalid_messages',
      'messages[1].parts[0].toolName must name',
      { type: 'dynamic-tool', toolName: 'a b', toolCallId: 'c', state: 'output-available' },
    ],
    ['invalid_messages', 'messages[1].parts[0].errorText must', toolPart({ state: 'output-error' })],
  ])('of the assistant are refused with %s: %s', (code, begins, part) => {
    const refused = refusal(() => read([user, assistant(part, { type: 'text', text: 'x' })]))
    expect(refused.code).toBe(code)
    expect(refused.message.startsWith(begins), refused.message).toBe(true)
    expect(refused.message.length).toBeLessThan(300)
  })

  test.each<[string, unknown]>([
    ['messages is required', undefined],
    ['messages is empty', []],
    ['messages is empty', [assistant()]],
    ['messages[0] must', ['x']],
    ['messages[0].parts is required', [{ role: 'user', content: 'x' }]],
    ['messages[0].role must', [{ role: 'tool', parts: [] }]],
    ['messages[0].parts[0].type must be text', [{ role: 'system', parts: [{ type: 'file' }] }]],
    [
      'messages[0].parts[0].type is not allowed in a user message',
      [{ role: 'user', parts: [{ type: 'reasoning', text: 'x' }] }],
    ],
    [
      'messages[0].parts[0].url must',
      [{ role: 'user', parts: [{ type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' }] }],
    ],
    [
      'messages[0].parts[0].url must',
      [{ role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: 'http://169.254.169.254/' }] }],
    ],
    ['messages[0].parts[0].mediaType must', [{ role: 'user', parts: [{ type: 'file', url: 'data:a/b;base64,QQ==' }] }]],
    ['messages has more than', Array(100_000).fill(user)],
    ['messages[0].parts has more than', [{ role: 'user', parts: Array(2000).fill({ type: 'text', text: '' }) }]],
  ])('are refused: %s', (begins, messages) => {
    const { code, message } = refusal(() => read(messages))
    expect(code).toBe('invalid_messages')
    expect(message.startsWith(begins), message).toBe(true)
  })

  test('may miss the id of reasoning only where its provider wants none', () => {
    const messages = [
      user,
      assistant(reasoning({ openai: { reasoningEncryptedContent: 'e' }, berth: { model: 'test/sealed' } }), {
        type: 'text',
        text: 'x',
      }),
    ]
    expect(refusal(() => read(messages, { model: 'test/sealed' })).code).toBe('reasoning_id_missing')
  })
})

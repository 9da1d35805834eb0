/** Messages in bodies of `POST /v1/chat/completions`: every role and part, every refusal, and reasoning that is replayed. */
import { afterAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { readChatRequest } from '#src/resources/llm/chats/requests.ts'
import { makeConfig, refusal } from './chat-makers.ts'

const { config, remove } = makeConfig()
afterAll(remove)

const user = { role: 'user', content: 'Hello' }
const read = (body: Record<string, unknown>): ReturnType<typeof readChatRequest> =>
  readChatRequest(config, { model: 'test/signed', ...body })
const readAll = (...messages: unknown[]): ReturnType<typeof readChatRequest>['request']['messages'] =>
  read({ messages, stream: true }).request.messages

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
    ['messages is required', undefined],
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

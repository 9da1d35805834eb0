/** The AI SDK's own chat of versions 5, 6 and 7, unmodified, against `/v1/chat`: what `useChat` runs on, without the page. */
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

/** What the three versions have in common, as far as a page uses it; their own types differ in what does not matter here. */
type Part = {
  type: string
  text?: string
  state?: string
  toolCallId?: string
  input?: unknown
  output?: unknown
  errorText?: string
  providerMetadata?: unknown
}
type UiMessage = {
  id: string
  role: string
  metadata?: { finishReason?: string; usage?: { total_tokens: number }; model?: string }
  parts: Part[]
}
type Transport = {
  reconnectToStream: (options: { chatId: string }) => Promise<ReadableStream | null>
  sendMessages: (options: {
    trigger: 'submit-message'
    chatId: string
    messageId: undefined
    messages: UiMessage[]
    abortSignal: AbortSignal | undefined
  }) => Promise<ReadableStream>
}
type Chat = {
  messages: UiMessage[]
  status: string
  error: Error | undefined
  resumeStream: () => Promise<void>
  sendMessage: (message: { text: string }) => Promise<void>
  stop: () => Promise<void>
  addToolOutput: (output: { tool: string; toolCallId: string; output: unknown }) => Promise<void>
}
type ChatOptions = {
  transport: Transport
  state: object
  onToolCall?: (call: { toolCall: { toolName: string; toolCallId: string } }) => void
  sendAutomaticallyWhen?: unknown
}
type Sdk = {
  DefaultChatTransport: new (options: {
    api: string
    headers: Record<string, string>
    body: Record<string, unknown>
  }) => Transport
  AbstractChat: new (options: ChatOptions) => Chat
  readUIMessageStream: (options: {
    stream: ReadableStream
    onError?: (error: unknown) => void
    terminateOnError?: boolean
  }) => AsyncIterable<UiMessage>
  lastAssistantMessageIsCompleteWithToolCalls: unknown
}
const versions: [string, Sdk][] = [
  ['ai 5', ai5 as unknown as Sdk],
  ['ai 6', ai6 as unknown as Sdk],
  ['ai 7', ai7 as unknown as Sdk],
]

const tools = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const demo = 'berth/demo'

describe.each(versions)('%s', (_name, sdk) => {
  const transport = (body: Record<string, unknown>): Transport =>
    new sdk.DefaultChatTransport({
      api: `${world.berth.url}/llm/v1/chat`,
      headers: { authorization: `Bearer ${world.key}` },
      body,
    })

  /** A chat as `useChat` keeps it. With `answer`, the client's tool answers so. */
  function startChat(body: Record<string, unknown>, answer?: unknown): Chat {
    const state = {
      status: 'ready',
      error: undefined as Error | undefined,
      messages: [] as UiMessage[],
      pushMessage: (message: UiMessage) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index: number, message: UiMessage) =>
        void (state.messages = state.messages.with(index, message)),
      snapshot: (thing: unknown) => structuredClone(thing),
    }
    class PageChat extends sdk.AbstractChat {}
    const chat: Chat = new PageChat({
      transport: transport(body),
      state,
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolName, toolCallId } }) =>
        void (answer !== undefined && chat.addToolOutput({ tool: toolName, toolCallId, output: answer })),
    })
    return chat
  }
  const settled = async (
    chat: Chat,
    messages: number,
    done: (last: UiMessage | undefined) => boolean,
  ): Promise<void> => {
    await expect
      .poll(
        () =>
          chat.status === 'error'
            ? String(chat.error)
            : `${chat.status} ${chat.messages.length} ${done(chat.messages.at(-1))}`,
        { timeout: 10_000, interval: 20 },
      )
      .toBe(`ready ${messages} true`)
  }
  const textOf = (message: UiMessage | undefined): string =>
    message?.parts
      .filter(({ type }) => type === 'text')
      .map(({ text }) => text)
      .join('') ?? ''

  test('reads an answer, with its reason to end, its tokens and its model', async () => {
    const chat = startChat({ model: demo })
    await chat.sendMessage({ text: '!say Hello from the script' })
    await settled(chat, 2, (last) => last?.role === 'assistant')
    const last = chat.messages.at(-1)
    expect(textOf(last)).toContain('Hello from the script')
    expect(last).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      metadata: { finishReason: 'stop', model: demo, usage: { total_tokens: expect.any(Number) } },
    })
    expect(last?.parts.every(({ state }) => state === undefined || state === 'done')).toBe(true)
  })

  test('that comes back and asks for an answer that is still being written is told that there is none', async () => {
    expect(await transport({ model: demo }).reconnectToStream({ chatId: 'chat 1/é' })).toBeNull()
    const chat = startChat({ model: demo })
    await chat.resumeStream()
    expect([chat.status, chat.error, chat.messages]).toEqual(['ready', undefined, []])
    const nobody = await fetch(`${world.berth.url}/llm/v1/chat/x/stream`)
    expect([nobody.status, ((await nobody.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      'key_missing',
    ])
  })

  test('runs a tool of its own, sends the result, and goes on in the same message', async () => {
    const chat = startChat({ model: demo, tools }, { sky: 'blue' })
    await chat.sendMessage({ text: '!say Let me look.\n!tool weather {"city":"Rome"}\n!say It is done.' })
    await settled(chat, 2, (last) => textOf(last).includes('It is done.'))
    const last = chat.messages.at(-1)
    expect(last?.parts.find(({ type }) => type === 'tool-weather')).toMatchObject({
      state: 'output-available',
      input: { city: 'Rome' },
      output: { sky: 'blue' },
    })
    expect(textOf(last)).toMatch(/Let me look\.[^]*It is done\./)
    expect(last?.metadata).toMatchObject({ finishReason: 'stop' })
  })

  test('replays signed reasoning to Anthropic’s format with the result of its tool, and hidden reasoning too', async () => {
    world.mock.script(
      {
        parts: [
          { redacted: 'aGlkZGVu' },
          { reasoning: ['Let me ', 'look.'], signature: 'c2ln' },
          { tool: 'weather', id: 'toolu_1', arguments: ['{"city":', '"Rome"}'] },
        ],
        finish: 'tool_calls',
      },
      { parts: [{ text: 'Sunny.' }] },
      { parts: [{ text: 'Bye.' }] },
    )
    const chat = startChat({ model: 'test/signed', tools, reasoning_effort: 'high' }, 'sunny')
    await chat.sendMessage({ text: 'Weather?' })
    await settled(chat, 2, (last) => textOf(last) === 'Sunny.')
    expect(
      chat.messages
        .at(-1)
        ?.parts.filter(({ type }) => type === 'reasoning')
        .map(({ text }) => text),
    ).toEqual(['', 'Let me look.'])
    const replayed = [
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'redacted_thinking', data: 'aGlkZGVu' },
          { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ]
    expect(world.mock.requests[1]?.body['messages']).toMatchObject(replayed)
    await chat.sendMessage({ text: 'Thanks' })
    await settled(chat, 4, (last) => textOf(last) === 'Bye.')
    expect(world.mock.requests[2]?.body['messages']).toMatchObject([
      ...replayed,
      { role: 'assistant' },
      { role: 'user' },
    ])
  })

  test('replays encrypted reasoning to OpenAI’s format', async () => {
    world.mock.script(
      { parts: [{ reasoning: 'Hm.', id: 'rs_9', encrypted: 'ZW5j' }, { text: 'One.' }] },
      { parts: [{ text: 'Two.' }] },
    )
    const chat = startChat({ model: 'test/sealed', reasoning_effort: 'high' })
    await chat.sendMessage({ text: 'Count' })
    await settled(chat, 2, (last) => textOf(last) === 'One.')
    await chat.sendMessage({ text: 'On' })
    await settled(chat, 4, (last) => textOf(last) === 'Two.')
    const sent = JSON.stringify(world.mock.requests[1]?.body['input'])
    expect(sent).toContain('"encrypted_content":"ZW5j"')
    expect(sent).toContain('rs_9')
  })

  test('shows arguments that are not JSON as an error of the call, and can go on from it', async () => {
    const chat = startChat({ model: demo, tools })
    await chat.sendMessage({ text: '!tool weather {"city": Rome\n!say After all.' })
    await settled(chat, 2, (last) => textOf(last).includes('After all.'))
    expect(chat.messages.at(-1)?.parts.find(({ type }) => /tool/.test(type))).toMatchObject({
      state: 'output-error',
      errorText: expect.stringContaining('not JSON'),
    })
  })

  test('is shown why it was refused, before the stream and in it', async () => {
    const refused = startChat({ model: 'absent' })
    await refused.sendMessage({ text: 'x' })
    expect(refused.error?.message).toContain('unsupported_model')
    world.mock.script({ parts: [{ text: 'half' }, { cut: true }] })
    const cut = startChat({ model: 'test/plain' })
    await cut.sendMessage({ text: 'x' })
    expect([cut.status, textOf(cut.messages.at(-1))]).toEqual(['error', 'half'])
    expect(cut.error?.message).toContain('local')
  })

  test('that stops ends the request at the provider, and keeps what came', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    const chat = startChat({ model: 'test/plain' })
    const sending = chat.sendMessage({ text: 'x' })
    await expect.poll(() => textOf(chat.messages.at(-1)), { timeout: 10_000, interval: 10 }).toBe('half')
    await chat.stop()
    await sending
    const asked = await world.mock.request(0)
    await asked.ended
    expect([asked.outcome, chat.status, textOf(chat.messages.at(-1))]).toEqual(['aborted', 'ready', 'half'])
  })

  test('reads the stream of its transport message by message', async () => {
    const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: '!reason Thinking.\n!say Said.' }] }]
    const stream = await transport({ model: demo, reasoning_effort: 'low' }).sendMessages({
      trigger: 'submit-message',
      chatId: 'c1',
      messageId: undefined,
      messages,
      abortSignal: undefined,
    })
    let last: UiMessage | undefined
    for await (const message of sdk.readUIMessageStream({ stream, terminateOnError: true })) last = message
    expect(last?.parts.map(({ type }) => type)).toEqual(['step-start', 'reasoning', 'text'])
    expect(last?.parts[1]).toMatchObject({
      text: expect.stringContaining('Thinking.'),
      providerMetadata: { berth: { model: demo } },
    })
  })
})

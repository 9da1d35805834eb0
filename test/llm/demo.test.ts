/** The built-in model: every line of its script, what a request asks of it, and that the same conversation gives the same bytes. */
import { describe, expect, test } from 'vitest'
import { askDemo } from '#src/drivers/models/demo.ts'
import type { Message, ModelEvent, ModelRequest, Tool, UpstreamTarget } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'

const target: UpstreamTarget = {
  slug: 'berth',
  baseUrl: '',
  apiKey: null,
  upstreamModel: 'demo',
  model: 'berth/demo',
  maxOutputTokens: 1_000_000,
  reasoningReplay: 'signature',
}
const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }], name: null })
const tool = (name: string, parameters: Tool['parameters'] = { type: 'object', properties: {} }): Tool => ({
  name,
  description: null,
  parameters,
  strict: null,
})
const defaults: Omit<ModelRequest, 'messages'> = {
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
  stream: true,
}

type Answer = {
  batches: ModelEvent[][]
  events: ModelEvent[]
  text: string
  reasoning: string
  blocks: Extract<ModelEvent, { type: 'reasoning_end' }>['block'][]
  calls: { id: string; name: string; arguments: string }[]
  end: Extract<ModelEvent, { type: 'end' }>
}
async function ask(
  messages: string | Message[],
  more: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<Answer> {
  const batches: ModelEvent[][] = []
  for await (const batch of await askDemo(
    target,
    { ...defaults, messages: typeof messages === 'string' ? [user(messages)] : messages, ...more },
    signal,
  ))
    batches.push([...batch])
  const events = batches.flat()
  const of = <Type extends ModelEvent['type']>(type: Type): Extract<ModelEvent, { type: Type }>[] =>
    events.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type)
  expect(of('end')).toHaveLength(1)
  expect(events.at(-1)?.type).toBe('end')
  return {
    batches,
    events,
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    reasoning: of('reasoning')
      .map(({ text }) => text)
      .join(''),
    blocks: of('reasoning_end').map(({ block }) => block),
    calls: of('tool').map(({ index, id, name }) => ({
      id,
      name,
      arguments: of('arguments')
        .filter((one) => one.index === index)
        .map(({ text }) => text)
        .join(''),
    })),
    end: of('end')[0]!,
  }
}
/** The conversation with the answer and a result for each of its calls, as a client goes on. */
const continued = (messages: Message[], answer: Answer, result = 'done'): Message[] => [
  ...messages,
  { role: 'assistant', reasoning: answer.blocks, text: answer.text, toolCalls: answer.calls },
  ...answer.calls.map(({ id }): Message => ({ role: 'tool', toolCallId: id, text: result, isError: false })),
]
const tools = [tool('read'), tool('bash')]
const refusal = async (asking: Promise<unknown>): Promise<BerthError> =>
  asking.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: unknown) => error as BerthError,
  )

describe('without a script', () => {
  test('it says what it is, repeats the last text, and counts by four characters', async () => {
    const { text, end, calls, reasoning } = await ask([
      { role: 'system', text: 'Be kind.' },
      user('first'),
      { role: 'assistant', reasoning: [], text: 'yes', toolCalls: [] },
      user('Hello 🦊!'),
    ])
    expect(text).toBe(
      'I am the built-in demo model of Berth: I do not think, I follow scripts and repeat what I hear. You said: Hello 🦊!',
    )
    expect([calls, reasoning, end.finishReason]).toEqual([[], '', 'stop'])
    expect(end.usage).toEqual({
      inputTokens: 2 + 2 + 1 + 3,
      outputTokens: Math.ceil(text.length / 4),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    })
  })

  test('it says what it ignores, and shortens what is long', async () => {
    const { text } = await ask([
      {
        role: 'user',
        name: null,
        parts: [
          { type: 'text', text: 'x'.repeat(5_000) },
          { type: 'image', url: 'https://example.test/a.png', detail: null },
        ],
      },
    ])
    expect(text).toContain(`${'x'.repeat(2_000)}… You attached 1 thing that I do not look at.`)
  })

  test('it reports the last tool’s result, or failure', async () => {
    const messages = [
      user('go'),
      { role: 'assistant', reasoning: [], text: '', toolCalls: [{ id: 'a', name: 'read', arguments: '{}' }] },
    ] satisfies Message[]
    expect(
      (await ask([...messages, { role: 'tool', toolCallId: 'a', text: 'y'.repeat(600), isError: false }])).text,
    ).toMatch(/You said: go The last tool answered: y{500}…$/)
    expect((await ask([...messages, { role: 'tool', toolCallId: 'a', text: 'no', isError: true }])).text).toMatch(
      /The last tool failed: no$/,
    )
  })

  test('the same conversation gives the same bytes, in small pieces', async () => {
    const once = await ask('A longer text, so that there are several pieces of it.', { reasoningEffort: 'high', tools })
    expect(
      await ask('A longer text, so that there are several pieces of it.', { reasoningEffort: 'high', tools }),
    ).toEqual(once)
    expect(once.batches.length).toBeGreaterThan(2)
    expect(Math.max(...once.events.map((event) => ('text' in event ? event.text.length : 0)))).toBeLessThanOrEqual(48)
  })
})

describe('a script', () => {
  test('says its lines, each on its own, and nothing else of the message', async () => {
    const { text, end } = await ask('Please:\n!say one\r\nnot this !say two\n!say three\n!saying\n!shout four')
    expect([text, end.finishReason]).toEqual(['one\nthree', 'stop'])
  })

  test('calls a tool in each turn, goes on where the conversation is, and then answers as usual', async () => {
    let messages = [
      user(
        'Fix it.\n!say I look.\n!tool read {"path": "a"}\n!tool bash {"command": "x"}\n!tool+ read {"path": "b"}\n!say All is well.',
      ),
    ]
    const first = await ask(messages, { tools })
    expect([first.text, first.calls.map((call) => [call.name, call.arguments]), first.end.finishReason]).toEqual([
      'I look.',
      [['read', '{"path": "a"}']],
      'tool_calls',
    ])
    messages = continued(messages, first)
    const second = await ask(messages, { tools })
    expect([second.text, second.calls.map((call) => [call.name, call.arguments])]).toEqual([
      '',
      [
        ['bash', '{"command": "x"}'],
        ['read', '{"path": "b"}'],
      ],
    ])
    messages = continued(messages, second, 'the result')
    const third = await ask(messages, { tools })
    expect([third.text, third.calls, third.end.finishReason]).toEqual(['All is well.', [], 'stop'])
    expect(new Set([...first.calls, ...second.calls].map(({ id }) => id)).size).toBe(3)
    const after = await ask(continued(messages, third), { tools })
    expect(after.text).toMatch(/^I am the built-in demo model.*You said: Fix it\.$/)
  })

  test('that ends with a call is followed by the usual answer with the result', async () => {
    const messages = [user('!tool read {}')]
    expect(
      (await ask(continued(messages, await ask(messages, { tools }), 'text of the file'), { tools })).text,
    ).toMatch(/hear\. The last tool answered: text of the file$/)
  })

  test('in the system message works too, until a user’s message has one', async () => {
    const system: Message = { role: 'system', text: 'You are an agent.\n!say from the system' }
    expect((await ask([system, user('hi')])).text).toBe('from the system')
    expect((await ask([system, user('!say from the user')])).text).toBe('from the user')
  })

  test('passes on arguments that are not JSON, unknown tools, and {} when there are none', async () => {
    const { calls } = await ask('!tool unknown {"a": \n!tool+ read not json\n!tool+ read', { tools })
    expect(calls.map((call) => [call.name, call.arguments])).toEqual([
      ['unknown', '{"a": '],
      ['read', 'not json'],
      ['read', '{}'],
    ])
  })

  test('may call tools without end', async () => {
    let messages = [user('!say once\n!tool read {}\n!forever bash {"command": "true"}\n!say never')]
    const seen = new Set<string>()
    for (let turn = 0; turn < 20; turn++) {
      const answer = await ask(messages, { tools })
      expect(answer.calls.map(({ name }) => name)).toEqual([turn === 0 ? 'read' : 'bash'])
      seen.add(answer.calls[0]!.id)
      messages = continued(messages, answer)
    }
    expect(seen.size).toBe(20)
  })

  test('repeats a text, even a megabyte of it, without generating it at once', async () => {
    const { text, end } = await ask('!say a\n!repeat 3 xy\n!repeat 262144 🦊 ok')
    expect(text.slice(0, 14)).toBe('a\nxyxyxy\n🦊 ok')
    expect(text.length).toBe(9 + 262_144 * 5)
    expect(end.usage.outputTokens).toBe(Math.ceil(text.length / 4))
  })

  test('reasons as it says, in blocks where text comes between', async () => {
    const { blocks, text, events } = await ask('!reason first\n!reason thought\n!say now\n!reason second')
    expect([blocks.map((block) => block.text), text]).toEqual([['first\nthought', 'second'], 'now'])
    expect(
      events.flatMap((event): unknown[] =>
        event.type === 'reasoning_end' ? [event.index] : event.type === 'text' ? ['text'] : [],
      ),
    ).toEqual([0, 'text', 1])
  })

  test('waits between pieces, and stops waiting when the client has disconnected', async () => {
    const started = performance.now()
    const { batches } = await ask('!pace 10\n!repeat 60 abcd')
    expect(performance.now() - started).toBeGreaterThan(90)
    expect(batches.length).toBeGreaterThan(9)
    const leaving = new AbortController()
    const asking = ask('!pace 60000\n!say late', {}, leaving.signal)
    leaving.abort()
    await expect(asking).rejects.toThrow(/abort/i)
  })

  test.each([
    '!tool',
    '!tool+',
    '!forever',
    '!repeat x',
    '!repeat 5',
    '!repeat 99999999 x',
    '!pace',
    '!pace fast',
    '!pace 60001',
  ])('is refused with the line that cannot be read: %s', async (line) => {
    const error = await refusal(ask(`!say fine\n${line}`))
    expect([error.code, error.message]).toEqual([
      'invalid_messages',
      expect.stringMatching(/^Line 2 of the script must be: /),
    ])
  })
})

describe('a request', () => {
  test('that wants no calls, or has no tools, gets none', async () => {
    for (const more of [{ tools, toolChoice: 'none' }, { tools: [] }] as const) {
      expect((await ask('!say hello\n!tool read {}', more)).text).toBe('hello')
      const alone = await ask('Do.\n!tool read {}', more)
      expect([alone.calls, alone.end.finishReason]).toEqual([[], 'stop'])
      expect(alone.text).toMatch(/You said: Do\.$/)
    }
  })

  test('that requires a call gets one, with arguments that fit the tool’s schema', async () => {
    const schema = {
      type: 'object',
      required: ['path', 'depth', 'mode', 'options', 'tags'],
      properties: {
        path: { type: 'string' },
        depth: { type: 'integer', minimum: 2 },
        mode: { enum: ['fast', 'slow'] },
        options: { $ref: '#/$defs/options' },
        tags: { type: 'array', minItems: 2, items: { type: 'boolean' } },
        more: { type: 'string' },
      },
      $defs: {
        options: {
          type: 'object',
          required: ['deep'],
          properties: { deep: { anyOf: [{ type: 'null' }, { type: 'string' }] } },
        },
      },
    }
    const both = [tool('read', schema), tool('bash')]
    const required = await ask('look', { tools: both, toolChoice: 'required' })
    expect(required.calls.map(({ name }) => name)).toEqual(['read'])
    expect(JSON.parse(required.calls[0]!.arguments)).toEqual({
      path: 'look',
      depth: 2,
      mode: 'fast',
      options: { deep: null },
      tags: [false, false],
    })
    expect(
      (await ask('look', { tools: both, toolChoice: { name: 'bash' } })).calls.map((call) => [
        call.name,
        call.arguments,
      ]),
    ).toEqual([['bash', '{}']])
    expect(
      (await ask('!tool read {"a":1}\n!tool+ bash {"b":2}', { tools: both, toolChoice: { name: 'bash' } })).calls.map(
        (call) => call.arguments,
      ),
    ).toEqual(['{"b":2}'])
  })

  test('with a schema that refers to itself many times is answered at once, and briefly', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `p${at}`)
    const holdsItself = {
      type: 'object',
      required: names,
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
    }
    const long = { type: 'array', minItems: 1_000_000, items: { default: 'x'.repeat(100_000) } }
    for (const schema of [
      holdsItself,
      { type: 'array', minItems: 1e9, items: { $ref: '#' } },
      { type: 'object', required: ['long'], properties: { long } },
    ]) {
      const { calls } = await ask('x', { tools: [tool('read', schema)], toolChoice: 'required' })
      expect(calls[0]?.arguments.length).toBeLessThan(200_000)
    }
  })

  test('that wants one call at a time gets one', async () => {
    expect(
      (await ask('!tool read {}\n!tool+ bash {}', { tools, parallelToolCalls: false })).calls.map(({ name }) => name),
    ).toEqual(['read'])
  })

  test('is answered up to its token limit, also within reasoning and arguments', async () => {
    const cut = await ask('!repeat 100 abcd', { maxTokens: 7 })
    expect([cut.text, cut.end.finishReason, cut.end.usage.outputTokens]).toEqual(['abcd'.repeat(7), 'length', 7])
    const whole = await ask('!repeat 7 abcd', { maxTokens: 7 })
    expect([whole.text.length, whole.end.finishReason]).toEqual([28, 'stop'])
    const thinking = await ask('!reason 0123456789\n!say never', { maxTokens: 2 })
    expect([thinking.reasoning, thinking.text, thinking.end.finishReason, thinking.blocks.length]).toEqual([
      '01234567',
      '',
      'length',
      1,
    ])
    const calling = await ask('!tool read {"path": "a long one"}\n!tool+ read {}', { tools, maxTokens: 2 })
    expect([calling.calls.map((call) => call.arguments), calling.end.finishReason]).toEqual([['{"path":'], 'length'])
    expect((await ask('!say ab🦊', { maxTokens: 1 })).text).toBe('ab🦊')
    expect((await ask('!say abc🦊', { maxTokens: 1 })).text).toBe('abc')
  })

  test('is answered up to its first stop text, wherever that lies', async () => {
    const script = `!say ${'a'.repeat(23)}STOP and more\n!tool read {}`
    const stopped = await ask(script, { stop: ['nothing', 'STOP'], tools })
    expect([stopped.text, stopped.calls, stopped.end.finishReason]).toEqual(['a'.repeat(23), [], 'stop'])
    expect((await ask(script, { stop: ['a'], tools })).text).toBe('')
    expect((await ask('!say one\n!say two', { stop: ['\ntw'] })).text).toBe('one')
    expect((await ask('!say one', { stop: ['two'] })).text).toBe('one')
  })

  test('for JSON gets an object', async () => {
    expect(JSON.parse((await ask('hi', { responseFormat: { type: 'json_object' } })).text)).toMatchObject({
      model: 'berth/demo',
    })
    const schema = {
      type: 'object',
      required: ['city', 'days'],
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
    }
    expect(
      JSON.parse(
        (await ask('Oslo', { responseFormat: { type: 'json_schema', json_schema: { name: 'x', schema } } })).text,
      ),
    ).toEqual({ city: 'Oslo', days: 0 })
    for (const odd of [null, 5, {}, { schema: 'x' }])
      expect(
        JSON.parse((await ask('x', { responseFormat: { type: 'json_schema', json_schema: odd } })).text),
      ).toBeTypeOf('object')
  })
})

describe('reasoning', () => {
  test('is given at every level but none, the same each time, and counted', async () => {
    for (const reasoningEffort of ['low', 'medium', 'high'] as const) {
      const { reasoning, blocks, end, events } = await ask('hi', { reasoningEffort })
      expect(reasoning).toContain(`effort ${reasoningEffort}`)
      expect(blocks).toMatchObject([
        {
          text: reasoning,
          model: 'berth/demo',
          redacted: false,
          encryptedContent: null,
          signature: expect.stringMatching(/^[\w-]{43}$/),
        },
      ])
      expect(end.usage.reasoningTokens).toBe(Math.ceil(reasoning.length / 4))
      expect(events.findIndex(({ type }) => type === 'reasoning_end')).toBeLessThan(
        events.findIndex(({ type }) => type === 'text'),
      )
    }
    for (const reasoningEffort of ['none', null] as const)
      expect((await ask('hi', { reasoningEffort })).blocks).toEqual([])
    expect((await ask('!reason x\n!say y', { reasoningEffort: 'none' })).blocks).toEqual([])
    expect((await ask('!reason mine\n!say y', { reasoningEffort: 'low' })).reasoning).toBe('mine')
  })

  test('that is sent back unchanged is accepted; changed, unsigned or another model’s, it is refused', async () => {
    const messages = [user('!reason because\n!tool read {}')]
    const answer = await ask(messages, { tools, reasoningEffort: 'low' })
    const back = continued(messages, answer)
    expect((await ask(back, { tools, reasoningEffort: 'low' })).end.finishReason).toBe('stop')
    const [block] = answer.blocks
    for (const wrong of [
      { text: 'because!' },
      { signature: null },
      { signature: 'x' },
      { signature: `${block?.signature?.slice(0, -2)}AA` },
    ]) {
      const changed = back.map(
        (message): Message =>
          message.role === 'assistant' ? { ...message, reasoning: [{ ...block!, ...wrong }] } : message,
      )
      expect((await refusal(ask(changed, { tools }))).code).toBe('invalid_messages')
    }
  })
})

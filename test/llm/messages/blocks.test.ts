/** The events of a stream in Anthropic's format, byte for byte, and the order of its blocks. */
import { describe, expect, test } from 'vitest'
import { messageBody, messageEventText, messageFailure } from '#rest-compat/llm/message-events.ts'
import type { ModelEvent, ReasoningBlock } from '#src/drivers/models/model.ts'
import { WholeAnswer } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

const answering = { id: 'chatcmpl-x', createdSeconds: 7, model: { id: 'a/b', speed: 'standard' } as Model } // all that a stream says of its model
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2, reasoningTokens: 1 }
const end = (rest: Partial<Extract<ModelEvent, { type: 'end' }>> = {}): ModelEvent => ({
  type: 'end',
  finishReason: 'stop',
  usage,
  ...rest,
})
const closed = (index: number, rest: Partial<ReasoningBlock>): ModelEvent => ({
  type: 'reasoning_end',
  index,
  block: { id: null, text: 'hm', model: 'a/b', signature: null, encryptedContent: null, redacted: false, ...rest },
})
const said = (text: string): ModelEvent => ({ type: 'text', text })
const thought = (index: number, text: string): ModelEvent => ({ type: 'reasoning', index, text })
const call = (index: number, id: string): ModelEvent => ({ type: 'tool', index, id, name: 'weather' })
const input = (index: number, text: string): ModelEvent => ({ type: 'arguments', index, text })

const asked = { messages: [{ role: 'system' as const, text: 'Be short.' }], tools: [], stop: [] }
const streamed = (events: readonly ModelEvent[], stops: readonly string[] = []): Record<string, unknown>[] =>
  messageEventText(answering, { ...asked, stop: stops })
    .batch(events)
    .split('\n\n')
    .filter((one) => one !== '')
    .map((one) => {
      const [name, data = ''] = one.split('\n')
      const event = JSON.parse(data.slice('data: '.length)) as Record<string, unknown>
      expect(name).toBe(`event: ${String(event['type'])}`)
      return event
    })
const whole = (events: readonly ModelEvent[], stops: readonly string[] = []): Promise<Record<string, unknown>> => {
  const completion: Completion = { ...answering, upstream: 'u', attempts: [], events: new WholeAnswer(events) }
  return messageBody(completion, stops)
}
/** Each block as its kind and what was written into it; fails unless blocks begin and end one after the other. */
function blocksOf(events: readonly Record<string, unknown>[]): string[] {
  const blocks: string[] = []
  let isOpen = false
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') {
      expect([isOpen, index]).toEqual([false, blocks.length])
      isOpen = true
      blocks.push(`${(block as { type: string }).type} `)
    } else if (type === 'content_block_delta') {
      expect([isOpen, index]).toEqual([true, blocks.length - 1])
      const [, piece = ''] = Object.values(delta as Record<string, string>)
      blocks.push((blocks.pop() ?? '') + piece)
    } else if (type === 'content_block_stop') isOpen = false
  }
  expect(isOpen).toBe(false)
  return blocks
}

describe('a stream', () => {
  test('has each piece as an event, and the usage that was known, then the final one', () => {
    const text = messageEventText(answering, asked)
    const first = text.batch([{ type: 'usage', usage: { inputTokens: 10, cacheReadTokens: 3 } }, said('a "b"\n')])
    expect(first).toBe(
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_x","type":"message","role":"assistant","model":"a/b","container":null,"diagnostics":null,"context_management":null,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,"iterations":null,"fallback_credit":null,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"service_tier":null,"inference_geo":null,"speed":"standard"}}}\n\n' +
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}\n\n' +
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a \\"b\\"\\n"}}\n\n',
    )
    expect(text.batch([end()])).toBe(
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n' +
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":5,"output_tokens_details":{"thinking_tokens":1},"server_tool_use":null,"iterations":null,"fallback_credit":null},"context_management":null}\n\n' +
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    )
  })

  test('begins with an estimate where the provider has reported nothing', () => {
    const [start] = streamed([said('a')])
    expect(start).toMatchObject({ message: { usage: { input_tokens: 3, output_tokens: 0 } } })
  })

  test('that fails ends with the error', () => {
    const error = new BerthError('upstream_overloaded', 'Try later.', { upstream: 'anthropic' })
    expect(messageFailure(error, 'req_1')).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Try later.","code":"upstream_overloaded","service_id":"anthropic"},"request_id":"req_1"}\n\n',
    )
  })
})

describe('blocks', () => {
  const thinking = [thought(0, 'h'), thought(0, 'm'), closed(0, { signature: 'sig' })]
  test('follow each other, each complete before the next', () => {
    const events = [
      ...thinking,
      said('a'),
      call(0, 'c1'),
      input(0, '{"a"'),
      input(0, ':1}'),
      call(1, 'c2'),
      input(1, '{}'),
    ]
    expect(blocksOf(streamed([...events, end({ finishReason: 'tool_calls' })]))).toEqual([
      'thinking hmsig',
      'text a',
      'tool_use {"a":1}',
      'tool_use {}',
    ])
  })

  test('of calls whose arguments come in turns wait for each other, and lose nothing', () => {
    const events = [
      call(0, 'c1'),
      input(0, '{"a":"}\\"'),
      call(1, 'c2'),
      input(1, '{"b"'),
      call(2, 'c3'),
      input(2, '{}'),
      input(0, '"}'),
      input(1, ':[{}]}'),
    ]
    const expected = ['tool_use {"a":"}\\""}', 'tool_use {"b":[{}]}', 'tool_use {}']
    expect(blocksOf(streamed([...events, end()]))).toEqual(expected)
    // One that is never complete does not keep the others from being sent.
    expect(blocksOf(streamed([...events.slice(0, 6), end()]))).toEqual([
      'tool_use {"a":"}\\"',
      'tool_use {"b"',
      'tool_use {}',
    ])
  })

  test('of words that come among the arguments of a call wait for its end', () => {
    const events = [call(0, 'c1'), input(0, '{"a"'), said('wo'), said('rds'), call(1, 'c2'), input(1, '{}'), said('.')]
    expect(blocksOf(streamed([...events, input(0, ':1}'), end()]))).toEqual([
      'tool_use {"a":1}',
      'text words',
      'tool_use {}',
      'text .',
    ])
    expect(blocksOf(streamed([...events, end()]))).toEqual(['tool_use {"a"', 'text words', 'tool_use {}', 'text .'])
  })

  test('of thinking carry what their provider needs back', () => {
    const events = [
      thought(0, 'x'),
      closed(0, { id: 'r:1', encryptedContent: 'ENC', model: 'a/b' }),
      closed(1, { text: '', encryptedContent: 'hidden', redacted: true }),
      closed(2, { text: '', encryptedContent: 'E2' }),
      closed(3, { text: '' }),
      thought(4, 'y'),
      closed(4, {}),
      end(),
    ]
    expect(blocksOf(streamed(events))).toEqual([
      'thinking xberth:a%2Fb:r%3A1:ENC',
      'redacted_thinking ',
      'thinking berth:a%2Fb::E2',
      'thinking y',
    ])
  })

  test('of a whole answer are the same', async () => {
    expect(
      await whole([
        ...thinking,
        said('a'),
        said('b'),
        call(0, 'c1'),
        input(0, '{"a":1}'),
        call(1, 'c2'),
        input(1, 'no'),
        end(),
      ]),
    ).toMatchObject({
      id: 'msg_x',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'text', text: 'ab' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: { a: 1 }, caller: { type: 'direct' } },
        { type: 'tool_use', id: 'c2', input: { invalid_arguments: 'no' } },
      ],
      usage: { input_tokens: 5, cache_creation_input_tokens: 2, cache_read_input_tokens: 3, output_tokens: 5 },
    })
  })
})

describe('an answer says why it ended', () => {
  test.each<[ModelEvent[], string, string | null]>([
    [[end()], 'end_turn', null],
    [[end({ finishReason: 'length' })], 'max_tokens', null],
    [[end({ finishReason: 'tool_calls' })], 'tool_use', null],
    [[end({ finishReason: 'content_filter' })], 'refusal', null],
    [[{ type: 'text', text: 'No.', refusal: true }, end()], 'refusal', null],
    [[end({ stopSequence: 'STOP' })], 'stop_sequence', 'STOP'],
    [[end({ stopSequence: 'other' })], 'end_turn', null], // a provider’s own word, which nobody asked for
  ])('%j', async (events, reason, sequence) => {
    expect(await whole(events, ['STOP'])).toMatchObject({ stop_reason: reason, stop_sequence: sequence })
    expect(streamed(events, ['STOP']).find(({ type }) => type === 'message_delta')).toMatchObject({
      delta: { stop_reason: reason, stop_sequence: sequence },
    })
  })
})

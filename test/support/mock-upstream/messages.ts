/** Anthropic's messages, as a mock upstream writes them. */
import { piecesOf, type Frame, type MakeWriter } from './formats.ts'

const frameOf = (value: { type: string }): string => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Writes a message in content blocks; a block's delta frames stand between its start and stop. */
export const messagesWriter: MakeWriter = (request, script) => {
  const blocks: Record<string, unknown>[] = []
  const cached = (script.cacheReadTokens ?? 0) + (script.cacheWriteTokens ?? 0)
  const inputUsage = (): object =>
    script.usage === 'none'
      ? {}
      : {
          input_tokens: request.inputTokens - cached,
          cache_creation_input_tokens: script.cacheWriteTokens ?? 0,
          cache_read_input_tokens: script.cacheReadTokens ?? 0,
        }
  const stopReason = (): string | null => {
    if (script.finish === undefined) return blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
    return script.finish === null ? null : (stopReasons[script.finish] ?? script.finish)
  }
  const message = (rest: object): object => ({
    id: 'msg_mock',
    type: 'message',
    role: 'assistant',
    model: request.model,
    stop_reason: null,
    stop_sequence: null,
    ...rest,
  })
  const block = (
    start: Record<string, unknown>,
    deltas: { delta: object; characters: number }[],
    whole: Record<string, unknown>,
    reasoning = false,
  ): Frame[] => {
    const index = blocks.push(whole) - 1
    const quiet = { characters: 0, reasoning }
    return [
      { frame: frameOf({ type: 'content_block_start', index, content_block: start } as { type: string }), ...quiet },
      ...deltas.map(({ delta, characters }) => ({
        frame: frameOf({ type: 'content_block_delta', index, delta } as { type: string }),
        characters,
        reasoning,
      })),
      { frame: frameOf({ type: 'content_block_stop', index } as { type: string }), ...quiet },
    ]
  }
  return {
    start: () =>
      `${frameOf({ type: 'message_start', message: message({ content: [], usage: { ...inputUsage(), ...(script.usage !== 'none' && { output_tokens: 1 }) } }) } as { type: string })}${frameOf({ type: 'ping' })}`,
    frames(part) {
      if ('text' in part) {
        const deltas = piecesOf(part.text).map((text) => ({
          delta: { type: 'text_delta', text },
          characters: text.length,
        }))
        return block({ type: 'text', text: '' }, deltas, { type: 'text', text: piecesOf(part.text).join('') })
      }
      if ('reasoning' in part) {
        const thinking = piecesOf(part.reasoning).join('')
        const deltas: { delta: object; characters: number }[] = piecesOf(part.reasoning)
          .filter((text) => text !== '')
          .map((text) => ({ delta: { type: 'thinking_delta', thinking: text }, characters: text.length }))
        if (part.signature !== undefined)
          deltas.push({ delta: { type: 'signature_delta', signature: part.signature }, characters: 0 })
        return block(
          { type: 'thinking', thinking: '', signature: '' },
          deltas,
          { type: 'thinking', thinking, signature: part.signature ?? '' },
          true,
        )
      }
      if ('redacted' in part)
        return block(
          { type: 'redacted_thinking', data: part.redacted },
          [],
          { type: 'redacted_thinking', data: part.redacted },
          true,
        )
      const id = part.id ?? `toolu_${blocks.length}`
      const deltas = ['', ...piecesOf(part.arguments)].map((text) => ({
        delta: { type: 'input_json_delta', partial_json: text },
        characters: text.length,
      }))
      return block({ type: 'tool_use', id, name: part.tool, input: {} }, deltas, {
        type: 'tool_use',
        id,
        name: part.tool,
        input: JSON.parse(piecesOf(part.arguments).join('') || '{}') as unknown,
      })
    },
    error: (error) => frameOf({ type: 'error', error } as { type: string }),
    end: () =>
      `${frameOf({ type: 'message_delta', delta: { stop_reason: stopReason(), stop_sequence: script.stopSequence ?? null }, usage: script.usage === 'none' ? {} : { output_tokens: request.outputTokens } } as { type: string })}${frameOf({ type: 'message_stop' })}`,
    whole: () =>
      message({
        content: blocks,
        stop_reason: stopReason(),
        stop_sequence: script.stopSequence ?? null,
        usage: script.usage === 'none' ? {} : { ...inputUsage(), output_tokens: request.outputTokens },
      }),
  }
}

/** The answer to a count. */
export const countWriter: MakeWriter = (request) => ({
  start: () => '',
  frames: () => [],
  error: () => '',
  end: () => '',
  whole: () => ({ input_tokens: request.inputTokens }),
})

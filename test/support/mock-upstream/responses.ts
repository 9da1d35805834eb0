/** OpenAI's responses, as a mock upstream writes them. */
import { piecesOf, type Frame, type MakeWriter } from './formats.ts'

/** Writes a response in output items; an item's delta frames stand between `added` and `done`. */
export const responsesWriter: MakeWriter = (request, script) => {
  const items: Record<string, unknown>[] = []
  let sequence = 0
  const frameOf = (type: string, rest: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...rest })}\n\n`
  const usage = (): object =>
    script.usage === 'none'
      ? {}
      : {
          usage: {
            input_tokens: request.inputTokens,
            input_tokens_details: { cached_tokens: script.cacheReadTokens ?? 0 },
            output_tokens: request.outputTokens,
            output_tokens_details: { reasoning_tokens: request.reasoningTokens },
            total_tokens: request.inputTokens + request.outputTokens,
          },
        }
  const incomplete = (): string | null =>
    script.finish === 'length' ? 'max_output_tokens' : script.finish === 'content_filter' ? 'content_filter' : null
  const response = (status: string, rest: object = {}): object => ({
    id: 'resp_mock',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    model: request.model,
    error: null,
    incomplete_details: null,
    output: items,
    ...rest,
  })
  const last = (): object =>
    incomplete()
      ? response('incomplete', { incomplete_details: { reason: incomplete() }, ...usage() })
      : response('completed', usage())
  const item = (
    added: Record<string, unknown>,
    deltas: (outputIndex: number) => { frame: string; characters: number }[],
    done: Record<string, unknown>,
    reasoning = false,
  ): Frame[] => {
    const outputIndex = items.push(done) - 1
    const start = frameOf('response.output_item.added', { output_index: outputIndex, item: added })
    const middle = deltas(outputIndex)
    return [
      { frame: start, characters: 0, reasoning },
      ...middle.map((one) => ({ ...one, reasoning })),
      {
        frame: frameOf('response.output_item.done', { output_index: outputIndex, item: done }),
        characters: 0,
        reasoning,
      },
    ]
  }
  const delta = (
    type: string,
    itemId: string,
    outputIndex: number,
    text: string,
    rest: object = {},
  ): { frame: string; characters: number } => ({
    frame: frameOf(type, { item_id: itemId, output_index: outputIndex, ...rest, delta: text }),
    characters: text.length,
  })
  return {
    start: () =>
      `${frameOf('response.created', { response: response('in_progress') })}${frameOf('response.in_progress', { response: response('in_progress') })}`,
    frames(part) {
      const at = items.length
      if ('text' in part) {
        const id = `msg_${at}`
        const done = {
          id,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: piecesOf(part.text).join(''), annotations: [] }],
        }
        return item(
          { ...done, status: 'in_progress', content: [] },
          (index) =>
            piecesOf(part.text).map((text) =>
              delta('response.output_text.delta', id, index, text, { content_index: 0 }),
            ),
          done,
        )
      }
      if ('reasoning' in part) {
        const id = part.id ?? `rs_${at}`
        const text = piecesOf(part.reasoning).join('')
        const done = {
          id,
          type: 'reasoning',
          summary: text ? [{ type: 'summary_text', text }] : [],
          ...(part.encrypted !== undefined && { encrypted_content: part.encrypted }),
        }
        const deltas = (index: number): { frame: string; characters: number }[] =>
          text === ''
            ? []
            : [
                {
                  frame: frameOf('response.reasoning_summary_part.added', {
                    item_id: id,
                    output_index: index,
                    summary_index: 0,
                    part: { type: 'summary_text', text: '' },
                  }),
                  characters: 0,
                },
                ...piecesOf(part.reasoning).map((piece) =>
                  delta('response.reasoning_summary_text.delta', id, index, piece, { summary_index: 0 }),
                ),
              ]
        return item({ id, type: 'reasoning', summary: [] }, deltas, done, true)
      }
      if ('redacted' in part) return []
      const done = {
        id: `fc_${at}`,
        type: 'function_call',
        call_id: part.id ?? `call_${at}`,
        name: part.tool,
        arguments: piecesOf(part.arguments).join(''),
        status: 'completed',
      }
      return item(
        { ...done, arguments: '', status: 'in_progress' },
        (index) =>
          piecesOf(part.arguments).map((text) => delta('response.function_call_arguments.delta', done.id, index, text)),
        done,
      )
    },
    error: ({ type, message, code }) =>
      type === 'failed'
        ? frameOf('response.failed', {
            response: response('failed', { error: { code: code ?? 'server_error', message } }),
          })
        : frameOf('error', { code: code ?? type, message, param: null }),
    end: () => frameOf(incomplete() ? 'response.incomplete' : 'response.completed', { response: last() }),
    whole: last,
  }
}

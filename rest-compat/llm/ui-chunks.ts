/**
 * The wire format of `POST /v1/chat`: the chunks of the AI SDK's UI message stream, those that every version knows and
 * nothing else.
 */
import type { ModelEvent, ReasoningBlock } from '#src/drivers/models/model.ts'
import type { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { reasoningMetadata } from '#src/resources/llm/chats/ui-reasoning.ts'
import { done, usageBody, type Answering, type StreamText } from './chunks.ts'

type ToolInput = { id: string; name: string; text: string }

/** The blocks of text and reasoning, of which one is open at a time. Each function answers the chunks that it takes. */
type Blocks = {
  say: (text: string) => string
  think: (index: number, text: string) => string
  endReasoning: (index: number, block: ReasoningBlock) => string
  end: () => string
}

function startBlocks(): Blocks {
  let open: 'nothing' | 'text' | 'reasoning' = 'nothing'
  let texts = 0
  let reasoningIndex = -1

  const endText = (): string => {
    if (open !== 'text') return ''
    open = 'nothing'
    return chunk({ type: 'text-end', id: textId(texts++) })
  }
  const endReasoning = (block: ReasoningBlock | null): string => {
    if (open !== 'reasoning') return ''
    open = 'nothing'
    return chunk({
      type: 'reasoning-end',
      id: reasoningId(reasoningIndex),
      ...(block ? { providerMetadata: reasoningMetadata(block) } : {}),
    })
  }
  const beginReasoning = (index: number): string => {
    if (open === 'reasoning' && reasoningIndex === index) return ''
    const begin = endText() + endReasoning(null) + chunk({ type: 'reasoning-start', id: reasoningId(index) })
    open = 'reasoning'
    reasoningIndex = index
    return begin
  }
  return {
    say(text) {
      const begin = open === 'text' ? '' : endReasoning(null) + chunk({ type: 'text-start', id: textId(texts) })
      open = 'text'
      return `${begin}data: {"type":"text-delta","id":"${textId(texts)}","delta":${JSON.stringify(text)}}\n\n`
    },
    think: (index, text) =>
      `${beginReasoning(index)}data: {"type":"reasoning-delta","id":"${reasoningId(index)}","delta":${JSON.stringify(text)}}\n\n`,
    endReasoning: (index, block) => beginReasoning(index) + endReasoning(block),
    end: () => endText() + endReasoning(null),
  }
}

/**
 * Writes chunks.
 * @param messageId the id of the message that the answer continues, or the answer's own.
 */
export function uiChunkText({ model }: Pick<Answering, 'model'>, messageId: string): StreamText {
  let opening = chunk({ type: 'start', messageId }) + chunk({ type: 'start-step' })
  const blocks = startBlocks()
  const tools = new Map<number, ToolInput>()

  const write = (event: ModelEvent): string => {
    switch (event.type) {
      case 'text':
        return blocks.say(event.text)
      case 'reasoning':
        return blocks.think(event.index, event.text)
      case 'reasoning_end':
        return blocks.endReasoning(event.index, event.block)
      case 'tool': {
        tools.set(event.index, { id: event.id, name: event.name, text: '' })
        return blocks.end() + chunk({ type: 'tool-input-start', toolCallId: event.id, toolName: event.name })
      }
      case 'arguments': {
        const tool = tools.get(event.index)
        if (!tool || event.text === '') return ''
        tool.text += event.text
        return `data: {"type":"tool-input-delta","toolCallId":${JSON.stringify(tool.id)},"inputTextDelta":${JSON.stringify(event.text)}}\n\n`
      }
      case 'end': {
        const metadata = { finishReason: event.finishReason, usage: usageBody(event.usage), model: model.id }
        return (
          blocks.end() +
          [...tools.values()].map(toolInput).join('') +
          chunk({ type: 'finish-step' }) +
          chunk({ type: 'finish', messageMetadata: metadata }) +
          done
        )
      }
      case 'extra': // they have no place for it
      case 'usage': // reported at the end
        return ''
    }
  }
  return {
    batch(events) {
      let text = opening
      opening = ''
      for (const event of events) text += write(event)
      return text
    },
  }
}

/** The end of a UI message stream that failed; clients show the sentence. */
export const uiChunkFailure = ({ message }: Pick<BerthError, 'message'>): string =>
  chunk({ type: 'error', errorText: message }) + chunk({ type: 'finish' }) + done

const textId = (number: number): string => `text-${number}`
const reasoningId = (number: number): string => `reasoning-${number}`

/** The complete tool call. It is sent at the end, when no piece of it can be missing. */
function toolInput({ id, name, text }: ToolInput): string {
  const call = { toolCallId: id, toolName: name }
  try {
    return chunk({
      type: 'tool-input-available',
      ...call,
      input: text.trim() === '' ? {} : parseExactly(text),
    })
  } catch {
    return chunk({
      type: 'tool-input-error',
      ...call,
      input: text,
      errorText: 'The model wrote arguments that are not JSON.',
    })
  }
}

function chunk(fields: Readonly<Record<string, unknown>>): string {
  return `data: ${JSON.stringify(fields)}\n\n`
}

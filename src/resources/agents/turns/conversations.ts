/** The conversation for the model, made from a session's log: the same log always makes the same conversation. */
import { messageTokens } from '#src/drivers/models/estimates.ts'
import type { CallExtra, Message, ReasoningBlock, ToolCall, UserPart } from '#src/drivers/models/model.ts'
import { imageTypeOf } from '#src/platform/shapes/image-types.ts'
import { encodeId } from '#src/platform/ids.ts'
import { messageTypes, resultTypes, toolUseTypes } from '#src/resources/agents/sessions/event-types.ts'
import type { FileContents } from '#src/resources/agents/files/contents.ts'
import { feedbackOf } from '#src/resources/agents/turns/outcomes/feedback.ts'
import type { Replayed } from '#src/resources/agents/sessions/reasoning.ts'
import { placeOf, type TurnEvent } from '#src/resources/agents/turns.ts'
import { startOf } from '#src/platform/texts.ts'

/** What models need back, such as their reasoning, which is not in the log, by the uuid of the request's start event. */
export type Reasoning = ReadonlyMap<string, readonly Replayed[]>

/** The model and its system prompt. `nameOf`: the name under which the model sees the tool of a use. */
export type ConversationOrder = {
  system: string | null
  model: string
  seesImages: boolean
  readsPdf: boolean
  reasoning: Reasoning
  nameOf: (use: TurnEvent) => string
  /** The files in it; one that is missing is described in words. */
  files?: FileContents
}

/** Limits of a conversation. */
export const conversationLimits = {
  /** A conversation estimated at more than this share of the model's context window is compacted. */
  windowShare: 0.7,
  /** The number of newest results that are not truncated. */
  resultsKept: 6,
  /** How many characters are left of a truncated result. */
  cutResultCharacters: 200,
} as const

const compacted = 'agent.thread_context_compacted'

/** The conversation so far. Results before an `agent.thread_context_compacted` are truncated. */
export function conversationOf(log: readonly TurnEvent[], order: ConversationOrder): Message[] {
  const events = [...log]
    .filter(({ processedAt }) => processedAt !== null)
    .sort((one, other) => placeOf(one) - placeOf(other))
  const cut = cutResults(events)
  const results = new Map(
    events.filter(({ type }) => resultTypes.includes(type)).map((event) => [event.answers, event]),
  )
  const messages: Message[] = order.system === null ? [] : [{ role: 'system', text: order.system }]
  for (const answer of answersOf(events)) {
    if (!('spanId' in answer)) {
      messages.push(...messagesOfEvent(answer, order))
      continue
    }
    const replayed = (order.reasoning.get(answer.spanId) ?? []).filter(({ model }) => model === order.model)
    const extras = replayed.find((one) => 'calls' in one)?.calls
    if (answer.text === '' && answer.uses.length === 0) continue // an empty answer would be refused
    messages.push({
      role: 'assistant',
      reasoning: replayed.filter((one): one is ReasoningBlock => !('calls' in one)),
      text: answer.text,
      toolCalls: answer.uses.map((use, at) => callOf(use, order, extras?.[at])),
    })
    for (const use of answer.uses) messages.push(resultOf(use, results.get(use.id), cut.has(use.id), order))
  }
  return messages
}

/** Whether a conversation is too long for a model, and has older tool results to truncate. */
export function needsCompaction(
  log: readonly TurnEvent[],
  messages: readonly Message[],
  contextWindow: number,
): boolean {
  return messageTokens(messages) > contextWindow * conversationLimits.windowShare && canCompact(log)
}

/** Whether there is a result that a compaction would truncate. */
export function canCompact(log: readonly TurnEvent[]): boolean {
  return cutResults(log, Infinity).size > cutResults(log).size
}

/** The tool uses whose results are truncated: all before the last compaction, except the newest. */
function cutResults(
  events: readonly TurnEvent[],
  at = events.findLast(({ type }) => type === compacted)?.position ?? 0,
): Set<string | null> {
  const before = events.filter(({ type, position }) => resultTypes.includes(type) && position < at)
  return new Set(
    before.slice(0, Math.max(0, before.length - conversationLimits.resultsKept)).map(({ answers }) => answers),
  )
}

/** A model's answer: its text and tool uses in one request. */
type Answer = { spanId: string; text: string; uses: TurnEvent[] }

/** The model's answers and the other events between them, in order. Failed requests are not answers. */
function answersOf(events: readonly TurnEvent[]): (Answer | TurnEvent)[] {
  const found: (Answer | TurnEvent)[] = []
  let answer: Answer | null = null
  for (const event of events) {
    if (messageTypes.includes(event.type) || feedbackOf(event) !== null) found.push(event)
    else if (event.type === 'span.model_request_start') answer = push(found, { spanId: event.id, text: '', uses: [] })
    else if (event.type === 'agent.message' && answer) answer.text += textsOf(event.data['content'])
    else if (toolUseTypes.includes(event.type) && answer) answer.uses.push(event)
  }
  return found
}

function push(found: (Answer | TurnEvent)[], answer: Answer): Answer {
  found.push(answer)
  return answer
}

function callOf(use: TurnEvent, { nameOf }: ConversationOrder, extra: CallExtra | null | undefined): ToolCall {
  return {
    id: encodeId('sessionEvent', use.id),
    name: nameOf(use),
    arguments: JSON.stringify(use.data['input'] ?? {}),
    ...(extra ? { extra } : {}),
  }
}

function resultOf(use: TurnEvent, result: TurnEvent | undefined, isCut: boolean, order: ConversationOrder): Message {
  const toolCallId = encodeId('sessionEvent', use.id)
  if (!result) return { role: 'tool', toolCallId, text: 'This call has no result.', isError: true }
  const fullText = textsOf(
    result.data['content'],
    order.seesImages ? '[image]' : '[An image, which this model cannot see.]',
    order.readsPdf ? null : '[A PDF, which this model cannot read.]',
  )
  const { cutResultCharacters } = conversationLimits
  const text =
    isCut && fullText.length > cutResultCharacters
      ? `${startOf(fullText, cutResultCharacters)}\n[Cut to save room: this result had ${fullText.length} characters. Call the tool again if you need it.]`
      : fullText
  const isError = result.data['is_error'] === true
  // Anthropic accepts only text in an error result.
  const shown = isCut || isError ? [] : blocksOf(result.data['content']).map((block) => partOf(block, order))
  const images = shown.filter((part) => part.type === 'image')
  const files = shown.filter((part) => part.type === 'file')
  return {
    role: 'tool',
    toolCallId,
    text: text === '' ? '(no output)' : text,
    isError,
    ...(images.length > 0 ? { images } : {}),
    ...(files.length > 0 ? { files } : {}),
  }
}

function messagesOfEvent(event: TurnEvent, order: ConversationOrder): Message[] {
  const { type, data } = event
  if (type === 'system.message') return [{ role: 'system', text: textsOf(data['content']) }]
  const text = type === 'user.define_outcome' ? outcomeText(data) : feedbackOf(event)
  if (text !== null) return [{ role: 'user', name: null, parts: [{ type: 'text', text }] }]
  const parts = blocksOf(data['content']).map((block) => partOf(block, order))
  return parts.length === 0 ? [] : [{ role: 'user', name: null, parts }]
}

function outcomeText(data: TurnEvent['data']): string {
  const rubric = (data['rubric'] as { content?: unknown } | undefined)?.content // event-shapes.ts validated it
  return `Work until this outcome is reached: ${String(data['description'])}\n\nIt is reached when all of this holds:\n${String(rubric)}`
}

type Block = {
  type?: unknown
  text?: unknown
  title?: unknown
  context?: unknown
  source?: { type?: unknown; media_type?: unknown; data?: unknown; url?: unknown; file_id?: unknown }
}

function blocksOf(content: unknown): Block[] {
  return Array.isArray(content) ? (content as Block[]) : [] // event-shapes.ts allows nothing else
}

/** A block as the model can read it; what it cannot see is described in words. */
function partOf(block: Block, { seesImages, readsPdf, files }: ConversationOrder): UserPart {
  const { type, text, title, context } = block
  if (type === 'text') return { type: 'text', text: String(text) }
  const source = sourceOf(block, files)
  const about = [title, context].filter((one) => typeof one === 'string' && one !== '').join(': ')
  if (source === null)
    return { type: 'text', text: `[A file is attached${about && ` (${about})`}, which cannot be read any more.]` }
  if (type === 'image') {
    if (!seesImages) return { type: 'text', text: '[An image is attached, which this model cannot see.]' }
    return {
      type: 'image',
      detail: null,
      url:
        source?.type === 'url'
          ? String(source.url)
          : `data:${imageTypeOf(String(source?.data)) ?? String(source?.media_type)};base64,${String(source?.data)}`,
    }
  }
  if (source?.type === 'text') return { type: 'text', text: [about, String(source.data)].filter(Boolean).join('\n\n') }
  if (source?.type === 'url')
    return { type: 'text', text: `[A document is attached${about && ` (${about})`}: ${String(source.url)}]` }
  if (!readsPdf)
    return { type: 'text', text: `[A PDF is attached${about && ` (${about})`}, which this model cannot read.]` }
  return {
    type: 'file',
    filename: typeof title === 'string' ? title : null,
    mediaType: String(source?.media_type),
    data: String(source?.data),
  }
}

/** Where the content of a block is; null for a file that is not there. */
function sourceOf({ source }: Block, files: FileContents | undefined): Block['source'] | null {
  if (source?.type !== 'file') return source
  const file = files?.get(String(source.file_id))
  return file ? { type: file.kind, media_type: file.mediaType, data: file.data } : null
}

function textsOf(content: unknown, image = '[image]', document: string | null = null): string {
  return blocksOf(content)
    .map(({ type, text, source, title }) =>
      type === 'text'
        ? String(text)
        : type === 'image'
          ? image
          : source?.type === 'text'
            ? String(source.data)
            : type === 'document' && document !== null
              ? document
              : `[${String(type)}${typeof title === 'string' ? ` ${title}` : ''}]`,
    )
    .join('\n')
}

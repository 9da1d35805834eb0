/** How the built-in model streams its planned answer: in small pieces, within the token limit, up to a stop text. */
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { sha256 } from '#src/platform/secrets.ts'
import type { DemoStep } from './demo-script.ts'
import { charactersPerToken, requestTokens, tokensOf } from './estimates.ts'
import type {
  FinishReason,
  ModelEvent,
  ModelRequest,
  ReasoningBlock,
  ToolCall,
  UpstreamTarget,
  Usage,
} from './model.ts'

/** The planned answer: reasoning and text, then calls. */
export type DemoPlan = {
  steps: readonly Exclude<DemoStep, { type: 'tool' }>[]
  calls: readonly ToolCall[]
  callPaceMs: number
}

/** The pieces of a text, up to so many characters each. */
const pieces = /[^]{1,24}/gu
/** How many pieces are sent together when there is no pause between them. */
const piecesTogether = 4
/** Repeated text is generated in parts of about this size, never all at once. */
const repeatedCharacters = 4_096

/** A piece of text, and how long to wait before it. */
type Piece = { text: string; paceMs: number }
/** An event, and how long to wait before it. */
type Paced = { event: ModelEvent; paceMs: number }

/** What binds a block of reasoning to its text and its model. */
export function signReasoning(model: string, text: string): Buffer {
  return sha256(`berth reasoning\n${model}\n${text}`)
}

/** The first so many UTF-16 units, without half a character at the end. */
export function wholeCharacters(text: string, most: number): string {
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most)
}

/** Streams the planned answer; throws when the signal fires. */
export async function* streamPlan(
  target: UpstreamTarget,
  request: ModelRequest,
  plan: DemoPlan,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  let batch: ModelEvent[] = []
  for (const { event, paceMs } of events(target, request, plan)) {
    if (paceMs > 0) {
      if (batch.length > 0) yield batch
      batch = []
      await wait(paceMs, undefined, { signal })
    }
    batch.push(event)
    if (paceMs === 0 && batch.length < piecesTogether) continue
    yield batch
    batch = []
    await nextTurn() // yields to the event loop, however long the answer is
    signal.throwIfAborted()
  }
  if (batch.length > 0) yield batch
}

function* events(
  { model, maxOutputTokens }: UpstreamTarget,
  request: ModelRequest,
  { steps, calls, callPaceMs }: DemoPlan,
): Generator<Paced> {
  const room = makeRoom(Math.min(request.maxTokens ?? maxOutputTokens, maxOutputTokens) * charactersPerToken)
  let reasonedCharacters = 0
  let blocks = 0
  let stopped: string | null = null
  for (const group of grouped(steps)) {
    if (group[0]?.type === 'reason') {
      let text = ''
      for (const piece of room.take(textsOf(group))) {
        text += piece.text
        yield { event: { type: 'reasoning', index: blocks, text: piece.text }, paceMs: piece.paceMs }
      }
      reasonedCharacters += text.length
      const block: ReasoningBlock = {
        id: null,
        text,
        model,
        signature: signReasoning(model, text).toString('base64url'),
        encryptedContent: null,
        redacted: false,
      }
      yield { event: { type: 'reasoning_end', index: blocks++, block }, paceMs: 0 }
    } else {
      stopped = yield* textEvents(beforeStop(room.take(textsOf(group)), request.stop))
    }
    if (stopped !== null || room.isFull()) break
  }
  let called = false
  for (const [index, call] of stopped === null ? calls.entries() : []) {
    if (room.isFull()) break
    called = true
    yield { event: { type: 'tool', index, id: call.id, name: call.name }, paceMs: callPaceMs }
    for (const { text } of room.take([{ text: call.arguments, paceMs: 0 }]))
      yield { event: { type: 'arguments', index, text }, paceMs: callPaceMs }
  }
  const finishReason: FinishReason = room.isFull() ? 'length' : called ? 'tool_calls' : 'stop'
  const reasoningTokens = tokensOf(reasonedCharacters)
  const usage: Usage = {
    inputTokens: requestTokens(request),
    outputTokens: tokensOf(room.taken() - reasonedCharacters) + reasoningTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens,
  }
  const ending = stopped === null ? {} : { stopSequence: stopped }
  yield { event: { type: 'end', finishReason, usage, ...ending }, paceMs: 0 }
}

/** Pieces as text events; returns the generator's result. */
function* textEvents(texts: Generator<Piece, string | null>): Generator<Paced, string | null> {
  for (;;) {
    const { value, done } = texts.next()
    if (done) return value
    yield { event: { type: 'text', text: value.text }, paceMs: value.paceMs }
  }
}

/** Steps of one kind that follow each other are one block, or one text. */
function grouped(steps: DemoPlan['steps']): DemoPlan['steps'][] {
  const groups: DemoPlan['steps'][number][][] = []
  for (const step of steps) {
    const last = groups.at(-1)
    if (last && (last[0]?.type === 'reason') === (step.type === 'reason')) last.push(step)
    else groups.push([step])
  }
  return groups
}

/** The text of a group, each step on a line of its own. */
function* textsOf(group: DemoPlan['steps']): Generator<Piece> {
  for (const [place, step] of group.entries()) {
    const { text, paceMs } = step
    if (place > 0) yield { text: '\n', paceMs: 0 }
    if (step.type !== 'repeat') {
      yield { text, paceMs }
      continue
    }
    const together = Math.max(1, Math.floor(repeatedCharacters / text.length))
    for (let left = step.count; left > 0; left -= together)
      yield { text: text.repeat(Math.min(left, together)), paceMs }
  }
}

/** The token limit, in characters: passes pieces on as long as there is room, and a part of the last one. */
function makeRoom(characters: number): {
  take: (texts: Iterable<Piece>) => Generator<Piece>
  isFull: () => boolean
  taken: () => number
} {
  let left = characters
  let full = false
  return {
    isFull: () => full,
    taken: () => characters - left,
    *take(texts) {
      for (const { text: whole, paceMs } of texts) {
        for (const [text] of whole.matchAll(pieces)) {
          // one after the other: most of a long text may have no room
          full = text.length > left
          const fitting = full ? wholeCharacters(text, left) : text
          left -= fitting.length
          if (fitting !== '') yield { text: fitting, paceMs }
          if (full) return
        }
      }
    },
  }
}

/** Pieces up to the first stop text, which may span several; returns the one that was met. */
function* beforeStop(texts: Iterable<Piece>, stop: readonly string[]): Generator<Piece, string | null> {
  const longest = Math.max(0, ...stop.map(({ length }) => length))
  if (longest === 0) {
    yield* texts
    return null
  }
  let held = ''
  for (const { text, paceMs } of texts) {
    held += text
    const [first] = stop
      .map((one) => ({ one, at: held.indexOf(one) }))
      .filter(({ at }) => at >= 0)
      .sort((one, other) => one.at - other.at)
    if (first) {
      const beforeStop = held.slice(0, first.at)
      if (beforeStop !== '') yield { text: beforeStop, paceMs }
      return first.one
    }
    const sure = wholeCharacters(held, Math.max(0, held.length - longest + 1))
    if (sure !== '') yield { text: sure, paceMs }
    held = held.slice(sure.length)
  }
  if (held !== '') yield { text: held, paceMs: 0 }
  return null
}

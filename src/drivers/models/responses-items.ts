/**
 * The items of a response that are open, and what was heard of their texts. Events name their item by its id, by its
 * index or by both; some servers give every item one index or none, and some make a new id for every event.
 */
import type { AnswerEvents, OpenCall } from './answer-events.ts'
import { JsonEnd } from './chat-calls.ts'
import { countOf, listOf, objectOf, textOf, type Values } from './json-values.ts'
import { headLength, type StreamedItem } from './responses-places.ts'

/** A message that is open. */
export type OpenMessage = Extract<OpenItem, { type: 'message' }>

/** The provider's own number of an item. */
type Index = number | string | undefined

/** What an event says of the item that it is about; texts are empty for what it does not say. */
export type Named = { index: Index; id: string; callId: string }
/** An item that was streamed. `isAdded`: an event has opened it, and not its first piece. */
export type SeenItem = StreamedItem & { index: Index; ids: Set<string>; isAdded: boolean }

/** What is kept of an open item. */
export type ItemState =
  /** `heard`: what has arrived of its parts, by their number. */
  | { type: 'message'; heard: Map<number, HeardText> }
  | { type: 'reasoning'; index: number; text: string; encryptedContent: string | undefined }
  /** `isWhole`: its arguments were there at once, and pieces repeat them. */
  | { type: 'call'; call: OpenCall; heard: HeardText; isWhole: boolean }
  /** Of tools that run at the provider: they are never requested. */
  | { type: 'ignored' }

/** An output item that is still open, and by what it is found again at the end. */
export type OpenItem = ItemState & { seen: SeenItem }

/** Longer ids count as absent, in characters: they are kept for each item. */
const idLengthMax = 1_024

/** An id; empty if there is none. */
function idOf(value: unknown): string {
  const id = textOf(value) ?? ''
  return id.length <= idLengthMax ? id : ''
}

function indexOf(value: unknown): Index {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= idLengthMax) ? value : undefined
}

/** By what an event names its item, which it may have itself. */
export function namedBy(event: Values): Named {
  const item = objectOf(event['item'])
  return {
    index: indexOf(event['output_index']),
    id: idOf(item?.['id'] ?? event['item_id']),
    callId: idOf(item?.['call_id'] ?? event['call_id']),
  }
}

/** Which part of its message an event is about; the first, if it does not say. */
export function placeOf(event: Values): number {
  return countOf(event['content_index']) ?? 0
}

/** Whether their ids say that an event is about another item than this one. */
export function isOther(seen: SeenItem, { id, callId }: Named): boolean {
  if (isOtherCall(seen, callId)) return true
  return id !== '' && seen.ids.size > 0 && !seen.ids.has(id) && seen.callId !== id
}

const isOtherCall = (seen: SeenItem, callId: string): boolean =>
  callId !== '' && seen.callId !== '' && seen.callId !== callId

/** Whether the event that an item is done has all of it. */
export function saysAll({ type }: OpenItem, item: Values): boolean {
  if (type === 'message') return listOf(item['content']).length > 0
  return type !== 'call' || (item['arguments'] ?? null) !== null
}

/** Notes what an event says of an item, by which it is found again at the end. */
export function see({ seen }: OpenItem, { id, call_id: callId, name }: Values): void {
  if (idOf(id) !== '') seen.ids.add(idOf(id))
  seen.callId ||= idOf(callId)
  seen.name ||= textOf(name) ?? ''
}

/** Notes the start of an item's text, likewise. */
export function hear({ seen }: OpenItem, text: string): void {
  if (seen.head.length < headLength) seen.head = (seen.head + text).slice(0, headLength)
}

/** The open items of one response. */
export class OpenItems<Item extends { seen: SeenItem }> {
  /** The newest of its type at an index, with an id, or with a call's id. */
  readonly #newest = new Map<string, Item>()

  /** Opens an item: what comes for its index from now on is its own, unless ids say otherwise. */
  add(item: Item): void {
    for (const key of keysOf(item.seen)) this.#newest.set(key, item)
  }

  /** Nothing more comes for an item. */
  delete(item: Item): void {
    for (const key of keysOf(item.seen)) if (this.#newest.get(key) === item) this.#newest.delete(key)
  }

  /** The newest item of a type at an index. */
  at(type: SeenItem['type'], index: Index): Item | undefined {
    return this.#newest.get(indexKey(type, index))
  }

  /** The item of a type that an event is about: the one with its ids, or else the one at its index. */
  find(type: SeenItem['type'], named: Named): Item | undefined {
    const at = this.at(type, named.index)
    if (at && !isOther(at.seen, named)) return at
    const keys = [idKey(type, named.id), callKey(type, named.callId), callKey(type, named.id)]
    for (const item of keys.map((key) => this.#newest.get(key))) if (item && !isOther(item.seen, named)) return item
    // Its id is of this event only, or it is of another item that was never opened.
    const mayBe = at && !isOtherCall(at.seen, named.callId) && (named.index !== undefined || at.seen.isAdded)
    return mayBe ? at : undefined
  }
}

const indexKey = (type: string, index: Index): string => `${type} at ${index ?? ''}`
const idKey = (type: string, id: string): string => `${type} of ${id}`
const callKey = (type: string, callId: string): string => `${type} for ${callId}`

function keysOf({ type, index, ids, callId }: SeenItem): string[] {
  const ofIds = [...ids].map((id) => idKey(type, id))
  return [indexKey(type, index), ...ofIds, ...(callId === '' ? [] : [callKey(type, callId)])]
}

/** A text that arrives in pieces. Only its length and a sum are kept, which tell whether another one begins with it. */
export class HeardText {
  #length = 0
  #sum = 0

  /** The next piece. */
  add(text: string): void {
    this.#length += text.length
    this.#sum = sumOf(this.#sum, text, text.length)
  }

  /** What a whole text has more than was heard; nothing if it does not begin with that. */
  rest(whole: string): string {
    if (whole.length <= this.#length || sumOf(0, whole, this.#length) !== this.#sum) return ''
    return whole.slice(this.#length)
  }
}

/** The sum (FNV-1a) goes on from what it was. */
function sumOf(sum: number, text: string, length: number): number {
  for (let at = 0; at < length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16_777_619) + 1
  return sum
}

/**
 * What a call begins with: nothing, the beginning of its arguments, or all of them, which pieces then repeat. Some say
 * `{}` for nothing.
 */
export function beginCall(events: AnswerEvents, item: OpenItem, given: unknown): void {
  if (item.type !== 'call') return
  const value = objectOf(given)
  if (value && Object.keys(value).length > 0) return completeCall(events, item, { arguments: value })
  const text = textOf(given) ?? ''
  if (!/^\s*\{(?!\s*\}\s*$)/.test(text)) return
  const end = new JsonEnd()
  end.push(text)
  argue(events, item, text)
  item.isWhole = end.isThere
}

/** A piece of a call's arguments. @throws BerthError upstream_error when too much comes before the call's name. */
export function argue(events: AnswerEvents, item: OpenItem | undefined, text: string): void {
  if (item?.type !== 'call' || item.isWhole) return
  item.heard.add(text)
  events.arguments(item.call, text)
}

/**
 * The name and the arguments of a call, as far as they did not come before.
 * @throws BerthError upstream_error when they are too large.
 */
export function completeCall(
  events: AnswerEvents,
  item: OpenItem | undefined,
  { name, arguments: given }: Values,
): void {
  if (item?.type !== 'call') return
  item.call.name ||= textOf(name) ?? ''
  const value = objectOf(given)
  if (!value) return argue(events, item, item.heard.rest(textOf(given) ?? ''))
  if (!item.call.hasArguments) events.argumentValue(item.call, value)
  item.isWhole = true
}

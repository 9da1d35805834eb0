/**
 * Which items of a complete response were streamed before. Servers name them by id, by place or by neither; some count places
 * from one, and some make new ids for the end. Then what was said of an item finds it.
 */
import { listOf, objectOf, textOf, type Values } from './json-values.ts'

/** What is known of an item that was streamed: as much as finds it again. */
export type StreamedItem = {
  /** Its place in the output, as far as that is known; it may count from one. */
  place: number
  ids: ReadonlySet<string>
  type: 'message' | 'reasoning' | 'call' | 'ignored'
  /** The start of its text, or a call's id and name; empty for what was not said. */
  head: string
  callId: string
  name: string
}

/** Of the text of an item so many characters are compared. */
export const headLength = 1_024
/** So many items are looked for everywhere: with more, each only near its own place, or all pairs would be compared. */
const lookedForMax = 32

/**
 * Finds the item of the output for each that was streamed.
 * @returns those found, by their place in the output.
 */
export function findStreamed<Item extends StreamedItem>(
  streamed: readonly Item[],
  output: readonly Values[],
): Map<number, Item> {
  const found = new Map<number, Item>()
  const left = new Set(streamed)
  const take = (item: Item, places: Iterable<number>, fits: (value: Values, at: number) => boolean): void => {
    for (const at of places) {
      const value = output[at]
      if (value === undefined || found.has(at) || !fits(value, at)) continue
      found.set(at, item)
      left.delete(item)
      return
    }
  }
  const texts = output.map((value) => textIn(value).slice(0, headLength))
  const byId = new Map(output.map((value, at) => [textOf(value['id']) ?? '', at]))
  for (const item of streamed)
    take(
      item,
      [...item.ids].flatMap((id) => byId.get(id) ?? []),
      () => true,
    )
  const anywhere = left.size <= lookedForMax ? [...output.keys()] : []
  for (const item of left)
    take(item, [item.place, item.place - 1, ...anywhere], (value, at) => agrees(item, value, texts[at] ?? ''))
  for (const item of left) take(item, [item.place, item.place - 1], (value) => item.type === typeOf(value))
  return found
}

/** Whether an item of the output may be this one. */
function agrees({ type, head, callId, name }: StreamedItem, value: Values, text: string): boolean {
  if (type !== typeOf(value)) return false
  if (type !== 'call') return type === 'ignored' || text.startsWith(head)
  const ids = [callId, textOf(value['call_id']) ?? '']
  return ids.includes('') ? name === '' || name === value['name'] : ids[0] === ids[1]
}

/** What kind of item this is for us. */
export function typeOf({ type }: Values): StreamedItem['type'] {
  if (type === 'message' || type === 'reasoning') return type
  return type === 'function_call' ? 'call' : 'ignored'
}

/** The text of a message or a refusal, or of an item of reasoning. */
function textIn(item: Values): string {
  if (item['type'] === 'reasoning') return thoughtIn(item)
  return listOf(item['content'])
    .map((part) => textOf(objectOf(part)?.['refusal']) ?? textOf(objectOf(part)?.['text']) ?? '')
    .join('')
}

/** The text of an item of reasoning: its summary, or what open models tell of all of it. */
export function thoughtIn(item: Values): string {
  const texts = (parts: unknown): string =>
    listOf(parts)
      .map((part) => textOf(objectOf(part)?.['text']) ?? '')
      .join('\n\n')
  return texts(item['summary']) || texts(item['content'])
}

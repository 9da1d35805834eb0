/** What a tool answers to the model: text, cut to a named limit with a line that says so. */
import type { UsageAdded } from '#src/resources/agents/sessions/usage.ts'

/** A piece of an answer that is not all text; keys as on the wire. */
export type ResultBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: string; data: string } }

/** A tool's answer. `content`: its pieces, when it is not text alone. `usage`: what is counted for it. */
export type ToolResult = { text: string; isError: boolean; content?: readonly ResultBlock[]; usage?: UsageAdded }

/** Limits of results. */
export const resultLimits = {
  /** Of one result. */
  characters: 30_000,
  /** Of a command's output, how much of the beginning is kept; the end has the rest. */
  headCharacters: 10_000,
  /** Of one result: how many, and how large together. */
  images: 20,
  imageBytes: 10 * 1024 * 1024,
} as const

/** What went well. */
export function answered(text: string): ToolResult {
  return { text: cutEnd(text), isError: false }
}

/** What did not, in a sentence for the model. */
export function failed(text: string): ToolResult {
  return { text: cutEnd(text), isError: true }
}

/** The beginning of a text, with a line that says what is missing. */
export function cutEnd(text: string, most: number = resultLimits.characters): string {
  return text.length <= most
    ? text
    : `${whole(text.slice(0, most))}\n[Cut: this is the beginning, of ${text.length} characters.]`
}

/** The beginning and the end of a text: what a command printed last says most. `droppedBytes` were lost before. */
export function cutMiddle(text: string, most: number = resultLimits.characters): string {
  if (text.length <= most) return text
  const { headCharacters } = resultLimits
  return `${whole(text.slice(0, headCharacters))}\n[Cut: ${text.length - most} characters are left out here.]\n${text.slice(text.length - (most - headCharacters))}`
}

/** Without half a character at its end. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text
}

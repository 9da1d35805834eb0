/** The results of tools for the model: text, truncated to a named limit with a line that says so. */
import type { Row } from '#src/platform/postgres/rows.ts'
import { endOf, startOf } from '#src/platform/texts.ts'

/** A content block of a result that is not only text; keys as on the wire. */
export type ResultBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; source: { type: 'base64'; media_type: string; data: string } }
  | {
      type: 'document'
      source: { type: 'base64'; media_type: string; data: string }
      title: string | null
      context: null
    }

/** A tool's result. `content`: its blocks, when it is not only text. `usage`: what to add to its session's usage. */
export type ToolResult = {
  text: string
  isError: boolean
  content?: readonly ResultBlock[]
  usage?: Partial<Pick<Row<'sessions'>, 'webSearchRequests' | 'webFetchRequests' | 'costNanoUsd'>>
}

/** Limits of results. */
export const resultLimits = {
  /** The length of one result. */
  characters: 30_000,
  /** How much of the beginning of a command's output is kept; the end gets the rest. */
  headCharacters: 10_000,
  /** The number of images and documents in one result, and their size together. */
  images: 20,
  imageBytes: 10 * 1024 * 1024,
} as const

/** A successful result. */
export function answered(text: string): ToolResult {
  return { text: cutEnd(text), isError: false }
}

/** A failed result, with a sentence for the model. */
export function failed(text: string): ToolResult {
  return { text: cutEnd(text), isError: true }
}

/** The beginning of a text, with a line that says what is missing. */
export function cutEnd(text: string, most: number = resultLimits.characters): string {
  return text.length <= most
    ? text
    : `${startOf(text, most)}\n[Cut: this is the beginning, of ${text.length} characters.]`
}

/**
 * The beginning and the end of a text; the end of a command's output usually says most. `droppedBytes` were lost
 * before.
 */
export function cutMiddle(text: string, most: number = resultLimits.characters): string {
  if (text.length <= most) return text
  const { headCharacters } = resultLimits
  return `${startOf(text, headCharacters)}\n[Cut: ${text.length - most} characters are left out here.]\n${endOf(text, most - headCharacters)}`
}

/** Values from foreign JSON: a value of the wrong type counts as absent. */
import { readInlineAnswer } from '#src/platform/json/answers.ts'
import { limits } from '#src/platform/limits.ts'

/** An object of JSON. */
export type Values = Readonly<Record<string, unknown>>

const countMax = 1_000_000_000

/** Parses JSON; null for invalid JSON, and for JSON that is large and has many parts. */
export function jsonOf(text: string): unknown {
  try {
    return readInlineAnswer(text, limits.jsonParts)
  } catch {
    return null // not JSON, which counts as absent
  }
}

/** An object; null for anything else, lists too. */
export function objectOf(value: unknown): Values | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : null // its values are still unknown
}

/** A list; empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A whole number from 0 to a billion, such as a count of tokens. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= countMax ? value : undefined
}

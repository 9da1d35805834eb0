/** Finding rows by a piece of text, as people type it into the filter of a list. */
import type { RawBuilder } from 'kysely'
import type { Scope } from '#src/platform/access.ts'
import type { Permission } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'

/** The condition of a list that can be narrowed to what has a piece of text. */
export type TextFilter = { text?: string | null }

/**
 * Whether one of these columns has this piece of text, in upper or lower case; always without one.
 * @throws BerthError invalid_request for one that is too long.
 */
export function hasText(filter: TextFilter, ...columns: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  const text = readText(filter)
  if (text === undefined) return sql`true`
  const found = columns.map((column) => sql`position(lower(${text}) in lower(${column})) > 0`)
  return sql`coalesce(${sql.join(found, sql` or `)}, false)`
}

/** The same of a value that is in memory. @throws BerthError as hasText. */
export function isWithText(filter: TextFilter, value: string): boolean {
  const text = readText(filter)
  return text === undefined || value.toLowerCase().includes(text.toLowerCase())
}

function readText({ text }: TextFilter): string | undefined {
  if (text === null || text === undefined || text === '') return undefined
  if (text.length > limits.nameLength || text.includes('\0'))
    throw new BerthError(
      'invalid_request',
      `text must be a piece of text of at most ${limits.nameLength} characters.`,
      { field: 'text' },
    )
  return text
}

/** How a noun is found by a piece of text, among all others. */
export type Searched = {
  /** The name of its type in the graph. */
  readonly type: string
  readonly may: Permission
  readonly table: string
  /** What it is shown as. */
  readonly title: RawBuilder<unknown>
  /** What it is found by besides. */
  readonly texts?: readonly RawBuilder<unknown>[]
  /** Which rows are the caller's. */
  readonly whose: (scope: Scope) => RawBuilder<unknown>
}

/** Whether a row has this piece of text where a search looks for it; always without one. @throws BerthError as hasText. */
export function hasTextOf({ title, texts = [] }: Searched, filter: TextFilter | null | undefined): RawBuilder<unknown> {
  return hasText(filter ?? {}, title, ...texts)
}

/**
 * How one statement runs: prepared once on each connection, so that Postgres plans it once instead of at every call,
 * and its columns named as the code names them. The only place where snake_case becomes camelCase.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pg from 'pg'
import { timestamp } from '#src/platform/clock.ts'
import { readInPieces } from '#src/platform/json/pieces.ts'
import { limits } from '#src/platform/limits.ts'

/** What a statement answered: its rows, what it was, and how many rows it changed. */
export type Answer = { rows: Record<string, unknown>[]; command: string; rowCount: number | null }

type Runner = { query: (statement: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult<unknown[]>> }

const preparedMax = 1_000 // statements; further ones run unprepared
const namesMax = 5_000 // columns whose names are remembered

// Wire types come out of Postgres as they go out to callers: timestamps as RFC 3339 text, numbers as numbers.
const { builtins } = pg.types
pg.types.setTypeParser(builtins.TIMESTAMPTZ, readTimestamp)
pg.types.setTypeParser(builtins.INT8, (text) => Number(text)) // our bigints are counters below 2^53
pg.types.setTypeParser(builtins.NUMERIC, (text) => Number(text))

/** Large JSON: it is read in steps before the row is handed out. */
class LargeJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Our own data has no limit on its parts. */
const stored = { parts: Infinity, numbers: Infinity, keys: Infinity, depth: Infinity, anyText: true }

function readJson(text: string): unknown {
  return text.length > limits.jsonInlineBytes ? new LargeJson(text) : (JSON.parse(text) as unknown)
}

const types: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    isJson(type) ? readJson : pg.types.getTypeParser(type, format as 'text'),
}

function isJson(type: number): boolean {
  return type === builtins.JSONB || type === builtins.JSON
}

/** Replaces large values by what they hold. */
async function readLarge(rows: readonly unknown[][]): Promise<void> {
  for (const values of rows) {
    for (const [index, value] of values.entries()) {
      if (!(value instanceof LargeJson)) continue
      await nextTurn()
      const bytes = Buffer.from(value.text)
      values[index] = null // its text is not needed any more
      await nextTurn()
      values[index] = await readInPieces(bytes, stored)
    }
  }
}

const prepared = new Map<string, string>()
const camelNames = new Map<string, string>()
let generation = 0

/** Runs a statement on a connection or on the pool; columns become camelCase. @throws what pg throws. */
export async function runStatement(on: Runner, text: string, values: readonly unknown[]): Promise<Answer> {
  return send(on, text, values, camelName)
}

/** Runs a statement of a library, and keeps the names of its columns. @throws what pg throws. */
export async function runForeignStatement(on: Runner, text: string, values: readonly unknown[]): Promise<Answer> {
  return send(on, text, values, (column) => column)
}

async function send(
  on: Runner,
  text: string,
  values: readonly unknown[],
  rename: (column: string) => string,
): Promise<Answer> {
  try {
    const name = values.length > 0 ? nameOf(text) : undefined // begin and commit need no plan
    const { rows, fields, command, rowCount } = await on.query({
      name,
      text,
      values: values as unknown[],
      rowMode: 'array',
      types,
    }) // pg only reads them
    if (fields.some(({ dataTypeID }) => isJson(dataTypeID))) await readLarge(rows)
    return { rows: rows.length === 0 ? [] : named(rows, fields, rename), command, rowCount }
  } catch (error) {
    if (isStalePlan(error)) forgetStatements()
    throw error
  }
}

/**
 * Whether a migration changed a table under a prepared statement. Nothing was done; from the next call on every
 * connection prepares anew, so the statement, or the whole transaction, should be tried again.
 */
export function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '0A000' && error.message.includes('cached plan')
}

/** New names: the plans of before are never asked for again. */
function forgetStatements(): void {
  prepared.clear()
  generation += 1
}

function nameOf(text: string): string | undefined {
  let name = prepared.get(text)
  if (name === undefined && prepared.size < preparedMax) {
    name = `berth_${generation}_${prepared.size}`
    prepared.set(text, name)
  }
  return name
}

function named(
  rows: readonly unknown[][],
  fields: readonly { name: string }[],
  rename: (column: string) => string,
): Record<string, unknown>[] {
  const keys = fields.map((field) => rename(field.name))
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < keys.length; i++) row[keys[i]!] = values[i] // i is below the length
    return row
  })
}

/** A column's name as the code has it. */
export function camelName(column: string): string {
  let name = camelNames.get(column)
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    if (camelNames.size < namesMax) camelNames.set(column, name)
  }
  return name
}

/** Postgres' `2026-11-21 02:04:21.5+00` as RFC 3339 with three digits. Hot: no Date is made for the usual form. */
export function readTimestamp(text: string): string {
  if (!text.endsWith('+00') || text[10] !== ' ' || text.length > 29) return timestamp(new Date(text)) // another zone, or a year of five digits
  const fraction = text.length > 22 ? text.slice(20, Math.min(23, text.length - 3)).padEnd(3, '0') : '000'
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`
}

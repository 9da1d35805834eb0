/**
 * How one statement runs: prepared once on each connection, so that Postgres plans it once instead of at every call,
 * and with its columns renamed. This is the only place where snake_case becomes camelCase.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pg from 'pg'
import { timestamp } from '#src/platform/clock.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { readStored } from '#src/platform/json/stored.ts'
import { limits } from '#src/platform/limits.ts'
import { RowQuery, type Column, type RowShape } from './row-query.ts'

/** The result of a statement: its rows, its command, and how many rows it changed. */
export type Answer = { rows: Record<string, unknown>[]; command: string; rowCount: number | null }

/** A connection, or the pool. */
type Runner = { query: (statement: RowQuery, done: (error: Error | undefined, result: Changed) => void) => void }
type Changed = Pick<Answer, 'command' | 'rowCount'>

const preparedMax = 1_000 // statements; further ones run unprepared
const namesMax = 5_000 // columns whose names are remembered

// Values are parsed into the form that callers see: timestamps as RFC 3339 text, numbers as numbers.
const { builtins } = pg.types
pg.types.setTypeParser(builtins.TIMESTAMPTZ, readTimestamp)
pg.types.setTypeParser(builtins.INT8, (text) => Number(text)) // our bigints are counters below 2^53
pg.types.setTypeParser(builtins.NUMERIC, (text) => Number(text))

/** Large JSON, which is parsed in steps before the row is returned. */
class LargeJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function readJson(text: string): unknown {
  return text.length > limits.jsonInlineBytes ? new LargeJson(text) : parseExactly(text)
}

function isJson(type: number): boolean {
  return type === builtins.JSONB || type === builtins.JSON
}

/** Replaces large JSON by its parsed value. */
async function readLarge(rows: readonly Record<string, unknown>[], { keys, typeIds }: RowShape): Promise<void> {
  const jsonKeys = keys.filter((_, at) => isJson(typeIds[at] ?? 0))
  for (const row of rows) {
    for (const key of jsonKeys) {
      const value = row[key]
      if (!(value instanceof LargeJson)) continue
      await nextTurn()
      const bytes = Buffer.from(value.text)
      row[key] = null // its text is no longer needed
      await nextTurn()
      row[key] = await readStored(bytes)
    }
  }
}

const prepared = new Map<string, string>()
const camelNames = new Map<string, string>()
let generation = 0

/** What columns become, and how the rows of each statement were made when it ran last. */
type Naming = { keyOf: (column: string) => string; shapes: Map<string, RowShape> }
const ours: Naming = { keyOf: camelName, shapes: new Map() }
const foreign: Naming = { keyOf: (column) => column, shapes: new Map() }

/** Runs a statement on a connection or on the pool; columns become camelCase. @throws what pg throws. */
export async function runStatement(on: Runner, text: string, values: readonly unknown[]): Promise<Answer> {
  return send(on, text, values, ours)
}

/** Runs a statement of a library, without renaming its columns. @throws what pg throws. */
export async function runForeignStatement(on: Runner, text: string, values: readonly unknown[]): Promise<Answer> {
  return send(on, text, values, foreign)
}

async function send(on: Runner, text: string, values: readonly unknown[], naming: Naming): Promise<Answer> {
  const name = values.length > 0 ? nameOf(text) : undefined // begin and commit need no plan
  const query = new RowQuery(text, name, values, (columns) => shapeOf(name, columns, naming))
  try {
    const { command, rowCount } = await new Promise<Changed>((resolve, reject) =>
      on.query(query, (error, result) => (error ? reject(error) : resolve(result))),
    )
    const { rowsMade: rows, shape } = query
    if (shape?.typeIds.some(isJson)) await readLarge(rows, shape)
    return { rows, command, rowCount }
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error) // which leads here instead of to the socket
    if (isStalePlan(error)) forgetStatements()
    throw error
  }
}

/**
 * Whether a migration changed a table under a prepared statement. Nothing was done; from the next call on every
 * connection prepares again, so the statement, or the whole transaction, should be retried.
 */
export function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '0A000' && error.message.includes('cached plan')
}

/** Uses new statement names, so that old plans are never used again. */
function forgetStatements(): void {
  prepared.clear()
  ours.shapes.clear()
  foreign.shapes.clear()
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

/** How rows of these columns are made: as before, where the statement had the same. */
function shapeOf(name: string | undefined, columns: readonly Column[], { keyOf, shapes }: Naming): RowShape {
  const known = name === undefined ? undefined : shapes.get(name)
  if (known && isOf(known, columns)) return known
  const keys = columns.map((column) => keyOf(column.name))
  const shape: RowShape = {
    columns: columns.map((column) => column.name),
    typeIds: columns.map(({ dataTypeID: typeId }) => typeId),
    keys,
    readers: columns.map(({ dataTypeID: typeId }) =>
      isJson(typeId) ? readJson : pg.types.getTypeParser(typeId, 'text'),
    ),
    blank: Object.fromEntries(keys.map((key) => [key, null])),
  }
  if (name !== undefined) shapes.set(name, shape)
  return shape
}

function isOf({ columns, typeIds }: RowShape, others: readonly Column[]): boolean {
  return (
    columns.length === others.length &&
    others.every(({ name, dataTypeID: typeId }, at) => columns[at] === name && typeIds[at] === typeId)
  )
}

/** A column's name in camelCase. */
export function camelName(column: string): string {
  let name = camelNames.get(column)
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    if (camelNames.size < namesMax) camelNames.set(column, name)
  }
  return name
}

/**
 * Postgres' `2026-11-21 02:04:21.5+00` as RFC 3339 with three digits. A hot path: no Date is created for the usual
 * format.
 */
export function readTimestamp(text: string): string {
  if (!text.endsWith('+00') || text[10] !== ' ' || text.length > 29) return timestamp(new Date(text)) // another zone, or a year of five digits
  const fraction = text.length > 22 ? text.slice(20, Math.min(23, text.length - 3)).padEnd(3, '0') : '000'
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`
}

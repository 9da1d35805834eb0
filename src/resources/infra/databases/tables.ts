/** The tables of a database, as its server describes them. */
import { actingIn, allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { parseJson, readJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { readPageBy, type Cursors, type Page, type PageReading, type PageWindow } from '#src/platform/pages.ts'
import type { Call } from '#src/platform/services.ts'
import { hasText } from '#src/platform/shapes/text-filters.ts'
import { askDatabase, readDatabase, type SqlFailure, type SqlResult } from './queries.ts'
import { tableLimits } from './tables/limits.ts'
import { countStatement, pageStatement } from './tables/statements.ts'
import type { Database } from './rows.ts'

/** A column of a table: its type and its default as Postgres writes them. */
export type TableColumn = {
  name: string
  type: string
  isNullable: boolean
  default: string | null
  isGenerated: boolean
  isPrimaryKey: boolean
  comment: string | null
}

/** An index of a table. `columns`: names, or expressions. */
export type TableIndex = {
  name: string
  columns: string[]
  definition: string
  isUnique: boolean
  isPrimaryKey: boolean
  isValid: boolean
  sizeBytes: number
}

/** What a foreign key does when the row it points at changes, by its letter in `pg_constraint`. */
export type ForeignKeyAction = 'a' | 'r' | 'c' | 'n' | 'd'

/** A foreign key of a table. */
export type ForeignKey = {
  name: string
  columns: string[]
  referencedSchema: string
  referencedTable: string
  referencedColumns: string[]
  onUpdate: ForeignKeyAction
  onDelete: ForeignKeyAction
}

/** A table by its letter in `pg_class`: a table, one with partitions, a view, a materialized view, a foreign table. */
export type TableKind = 'r' | 'p' | 'v' | 'm' | 'f'

/** A table. Null for a number that nobody knows, and for a list without anything in it. */
export type DatabaseTable = {
  schema: string
  name: string
  kind: TableKind
  estimatedRows: number | null
  sizeBytes: number | null
  comment: string | null
  columns: TableColumn[] | null
  indexes: TableIndex[] | null
  foreignKeys: ForeignKey[] | null
}

/** Which tables: those of a schema, and those with a piece of text in their name. */
export type TableFilter = { schema?: string | null; text?: string | null }

type Key = readonly [schema: string, name: string]
type Calling = Call & { signal?: AbortSignal }

const cursors: Cursors<DatabaseTable, Key> = {
  cursorOf: ({ schema, name }) => Buffer.from(JSON.stringify([schema, name])).toString('base64url'),
  keyOf: (cursor) => {
    try {
      const key = parseJson(Buffer.from(cursor, 'base64url'))
      return Array.isArray(key) && key.length === 2 && key.every((part) => typeof part === 'string')
        ? (key as unknown as Key) // two texts, as checked
        : undefined
    } catch (error) {
      if (error instanceof BerthError) return undefined
      throw error
    }
  },
}

/**
 * A page of a database's tables, in the order of their schemas and names. The database is woken for it.
 * @throws BerthError not_found; invalid_request; timeout while something holds a lock; as runSql; service_unavailable with the
 * words of Postgres where it refuses.
 */
export async function pageTables(
  asking: Calling,
  { id, organizationId }: Pick<Database, 'id' | 'organizationId'>,
  window: PageWindow,
  filter: TableFilter = {},
): Promise<Page<DatabaseTable>> {
  const call = { ...asking, caller: actingIn(asking.caller, organizationId) }
  const scope = allow(call.caller, 'databases:write')
  const leave = enter(asking)
  try {
    const database = await readDatabase(call, encodeId('database', id), scope)
    const narrowed = readFilter(filter)
    const read = (reading: PageReading<Key>): Promise<DatabaseTable[]> => readTables(call, database, reading, narrowed)
    const count = async (reading: PageReading<Key>): Promise<number> => {
      const { rows } = await ask(call, database, countStatement, [...narrowed, ...boundsOf(reading)])
      return Number(rows[0]?.[0])
    }
    return await readPageBy(cursors, window, read, count)
  } finally {
    leave()
  }
}

async function readTables(
  call: Calling,
  database: Database,
  reading: PageReading<Key>,
  filter: readonly (string | null)[],
): Promise<DatabaseTable[]> {
  const values = [...filter, ...boundsOf(reading), reading.most]
  const { rows } = await ask(call, database, pageStatement(reading.fromEnd), values)
  const room = { parts: tableLimits.tablesAnswerBytes, numbers: tableLimits.tablesAnswerBytes } // its bytes are limited
  const tables: DatabaseTable[] = []
  for (const [body, found] of rows) {
    const described = (await readJson(Buffer.from(body ?? ''), room)) as unknown as DatabaseTable // as the statement makes it
    tables.push({ ...described, ...{ found: Number(found) } }) // by `found` a page knows that its bytes were cut
  }
  return tables
}

function boundsOf({ after, before }: PageReading<Key>): (string | null)[] {
  return [...(after ?? [null, null]), ...(before ?? [null, null])]
}

/** Asks its server. Names in what it answers have their schema, whatever search path the owner has chosen. */
async function ask(
  call: Calling,
  database: Database,
  statement: string,
  params: readonly unknown[],
): Promise<SqlResult> {
  const { result, failure } = await askDatabase(call, database, {
    queries: [
      { query: 'set local search_path to pg_catalog', params: [] },
      { query: `set local statement_timeout to '${tableLimits.tablesSeconds}s'`, params: [] },
      { query: `set local lock_timeout to '${tableLimits.tableLockSeconds}s'`, params: [] },
      { query: statement, params },
    ],
    isReadOnly: true,
    bytesMax: tableLimits.tablesAnswerBytes,
  })
  if (result) return result
  throw refusal(failure)
}

function refusal(failure: SqlFailure | null): BerthError {
  if (failure?.code === '55P03')
    return new BerthError(
      'timeout',
      'Somebody holds a lock on one of these tables, so their sizes cannot be read. Try again when it is released, or ask for other tables with filter.',
    )
  if (failure?.code === '57014')
    return new BerthError(
      'timeout',
      `The database did not say within ${tableLimits.tablesSeconds} s what tables it has. Ask for fewer, with filter or first.`,
    )
  if (failure?.code === '54000')
    return new BerthError('invalid_request', 'What is said of these tables is too large. Ask for fewer, with first.')
  return new BerthError(
    'service_unavailable',
    `The database did not say what tables it has: ${failure?.message ?? 'it answered nothing'}. Try again, or look with runSql.`,
  )
}

/** The filter as the statements take it. @throws BerthError invalid_request. */
function readFilter({ schema, text }: TableFilter): (string | null)[] {
  hasText({ text }) // refuses what is too long
  if (schema && (schema.length > limits.nameLength || schema.includes('\0')))
    throw new BerthError('invalid_request', `schema must be a name of at most ${limits.nameLength} characters.`, {
      field: 'schema',
    })
  return [schema || null, text || null]
}

const reading = new WeakMap<object, { count: number }>()

/** Counts the databases that an operation asks, each of which may be woken. @throws BerthError invalid_request. */
function enter(call: Call): () => void {
  const counted = reading.get(call) ?? { count: 0 }
  reading.set(call, counted)
  if (counted.count >= tableLimits.tablesAtOnce)
    throw new BerthError(
      'invalid_request',
      `An operation reads the tables of at most ${tableLimits.tablesAtOnce} databases. Ask for those of fewer at once.`,
    )
  counted.count++
  return () => void counted.count--
}

/** Statements that people run in a database through Berth, without a token of the database. */
import { sqlDoorClient, type SqlDoorClient } from '#src/drivers/sql-door.ts'
import { allow, owned, type Scope } from '#src/platform/access.ts'
import { BerthError, isErrorCode, notFound } from '#src/platform/errors.ts'
import { readJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { recordUse } from '#src/resources/identity/audit-events/recording.ts'
import { checkSqlDoor } from './orders.ts'
import { databaseRows, hostOf, notDeleted, type Database } from './rows.ts'

/** A column of a result: its name, and its type by its number in `pg_type`. */
export type SqlColumn = { name: string; dataTypeID: number }

/** What a statement answered: values as Postgres writes them, so that none is rounded. */
export type SqlResult = {
  command: string | null
  rowCount: number | null
  fields: SqlColumn[]
  rows: (string | null)[][]
}

/** Why Postgres refused a statement, in its own words. `position`: of the character in the statement, from 1. */
export type SqlFailure = {
  message: string
  code: string | null
  detail: string | null
  hint: string | null
  position: string | null
}

/** What became of a statement: one of the two is there. */
export type SqlOutcome = { result: SqlResult | null; failure: SqlFailure | null }

/** A statement. `parameters`: a list of the values of `$1` and so on. */
export type SqlStatement = { statement: string; parameters?: unknown; isReadOnly?: boolean | null }

const graceMs = 5_000

/**
 * Runs one statement as the owner of a database, which is woken for it. Once it may have run nothing is thrown: what became of it
 * is in the outcome, so that nobody takes it for refused and sends it again.
 * @throws BerthError not_found; invalid_request for parameters that are no list; rate_limited when too many are answered at
 * once; service_unavailable while it cannot be reached; as checkSqlDoor.
 */
export async function runSql(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  { statement, parameters, isReadOnly }: SqlStatement,
): Promise<SqlOutcome> {
  const scope = allow(call.caller, 'databases:write')
  const database = await readDatabase(call, publicId, scope)
  const query = { query: statement, params: readParameters(parameters ?? []) }
  const { id, organizationId, name } = database
  await recordUse(call.db, { organizationId, type: 'Database', id, name }) // also where the answer is lost
  return askDatabase(call, database, { queries: [query], isReadOnly, bytesMax: limits.sqlResultBytes })
}

/** A database that takes statements. @throws BerthError not_found; as checkSqlDoor. */
export async function readDatabase(call: Call, publicId: string, scope: Scope): Promise<Database> {
  checkSqlDoor(call.config)
  return databaseRows.read(call.db, publicId, sql`${owned(scope)} and ${notDeleted}`)
}

/** Statements as `POST /sql` takes them. `bytesMax`: of the answer to all of them. */
type Asked = {
  queries: readonly { query: string; params: readonly unknown[] }[]
  isReadOnly?: unknown
  bytesMax: number
}

/**
 * Runs statements as the owner of a database, those that only read in one transaction. The outcome is that of the last one.
 * @throws BerthError as runSql.
 */
export async function askDatabase(
  { config, signal }: Call & { signal?: AbortSignal },
  database: Database,
  { queries, isReadOnly, bytesMax }: Asked,
): Promise<SqlOutcome> {
  const late = AbortSignal.timeout(limits.sqlSeconds * 1000 + graceMs)
  try {
    const answer = await sqlDoorClient(config.runDir)({
      headers: {
        'neon-connection-string': `postgresql://${database.pgUser}@${hostOf(config, database)}/${database.pgDatabase}?application_name=berth`,
        'neon-array-mode': 'true',
        'neon-raw-text-output': 'true',
        ...(isReadOnly ? { 'neon-batch-read-only': 'true' } : {}),
      },
      body: Buffer.from(JSON.stringify(isReadOnly ? { queries } : queries[0])),
      host: hostOf(config, database),
      address: '',
      isOwner: true,
      signal: signal ? AbortSignal.any([signal, late]) : late,
    })
    return await outcomeOf(answer, bytesMax)
  } catch (error) {
    if (error instanceof BerthError) throw error
    log.debug({ err: error }, 'the answer to a statement was lost')
    return failed('08006', 'The connection was lost: the statement may have run. Look before you run it again.')
  }
}

async function outcomeOf(
  { statusCode, body }: Awaited<ReturnType<SqlDoorClient>>,
  bytesMax: number,
): Promise<SqlOutcome> {
  const bytes = await readUpTo(body, bytesMax)
  if (bytes === null)
    return failed(
      '54000',
      `The statement has run, but its result has more than ${bytesMax / 1024 / 1024} MiB. Ask for fewer rows, with limit, or connect to the database.`,
    )
  const most = bytesMax // of our own edge's text, whose bytes are limited
  const read = await readJson(bytes, { parts: most, numbers: most })
  if (statusCode === 200) return { result: resultIn(read), failure: null }
  const { error, severity, message = '', ...more } = read as Partial<SqlFailure> & { error?: string; severity?: string }
  if (severity === undefined) throw refusalFor(error ?? '', message)
  const { code = null, detail = null, hint = null, position = null } = more
  return { result: null, failure: { message, code, detail, hint, position } }
}

function failed(code: string, message: string): SqlOutcome {
  return { result: null, failure: { message, code, detail: null, hint: null, position: null } }
}

function readParameters(given: unknown): readonly unknown[] {
  if (Array.isArray(given) && given.length <= limits.sqlParamsMax) return given
  throw new BerthError('invalid_request', `parameters must be a list of at most ${limits.sqlParamsMax} values.`, {
    field: 'parameters',
  })
}

/** The bytes of a body; null when there are more. */
async function readUpTo(body: AsyncIterable<Buffer> & { destroy(): unknown }, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > most) {
      body.destroy()
      return null
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The result of the last statement; those of a transaction are answered as a list. */
function resultIn(body: unknown): SqlResult {
  const last = ((body as { results?: SqlResult[] }).results ?? [body as SqlResult]).at(-1)
  if (!last) throw new Error('a statement was answered without a result')
  return last
}

/** What is no error of Postgres'. The database may have gone meanwhile. */
function refusalFor(code: string, message: string): BerthError {
  if (code === 'unauthorized') return notFound('database')
  return new BerthError(isErrorCode(code) ? code : 'service_unavailable', message)
}

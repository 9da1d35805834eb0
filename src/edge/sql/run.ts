/** Runs the statements of a `POST /sql` as a client of the proxy inside this process, so that they share its backends. */
import pg from 'pg'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { asDriverSocket } from '#src/platform/postgres/driver-sockets.ts'
import type { InsideClient } from '../postgres/proxy.ts'
import { sqlStates } from '../postgres/refusals.ts'
import { nextToken, tokens } from '../postgres/sessions/sql-tokens.ts'
import type { SqlQuery, SqlRequest } from './request.ts'
import { writeValues } from './values.ts'

/** How many values one list of a result has, unless it is the last. */
export const valuesInList = 8192

/** What Postgres has answered to one statement. */
export type SqlResult = {
  fields: readonly pg.FieldDef[]
  /** How many rows it has, also where they have no columns. */
  rows: number
  /** Their values, row after row, as Postgres writes them, in lists of `valuesInList`: one for each of a million rows holds the process when garbage is collected, and so does one for all when it grows. */
  lists: readonly (readonly (string | null)[])[]
  command: string | null
  rowCount: number | null
}

/** A statement failed: the fields of the error, as Postgres said them. */
export class SqlFailed extends Error {
  readonly failure: pg.DatabaseError
  constructor(failure: pg.DatabaseError) {
    super(failure.message)
    this.failure = failure
  }
}

/** Values stay as they are. */
const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig

/**
 * Runs them, all or none where there is a transaction.
 * @param open connects to the proxy, as somebody who has logged in.
 * @throws SqlFailed; BerthError timeout, request_too_large
 */
export async function runQueries(
  open: () => InsideClient,
  { queries, begin }: Pick<SqlRequest, 'queries' | 'begin'>,
  { applicationName, signal }: { applicationName: string | null; signal: AbortSignal },
): Promise<SqlResult[]> {
  for (const { query } of queries) refuseCopy(query)
  const { stream, cut } = open()
  const late = AbortSignal.timeout(limits.sqlSeconds * 1000)
  const either = AbortSignal.any([signal, late])
  either.addEventListener('abort', cut, { once: true })
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.sqlAnswerBytes) return cut()
    // Node reads a socket up to 32 times a turn: so many chunks of small rows would hold the process.
    stream.pause()
    setImmediate(() => stream.resume())
  })
  const client = new pg.Client({
    stream: () => asDriverSocket(stream),
    user: 'inside', // the proxy knows who it is
    ssl: false,
    ...(applicationName ? { application_name: applicationName } : {}),
  })
  let warning: { code: string | undefined; message: string | undefined } | undefined
  client.on('notice', (notice) => (warning = notice))
  client.on('error', (error) => log.debug({ err: error }, 'a connection of POST /sql was cut'))
  try {
    await client.connect()
    return await runAll(client, queries, begin)
  } catch (error) {
    if (late.aborted)
      throw new BerthError(
        'timeout',
        `The statements took longer than ${limits.sqlSeconds} s, and were cancelled. Ask for less, or use the Postgres port.`,
      )
    if (bytes > limits.sqlAnswerBytes) throw tooLargeAnswer()
    if (error instanceof pg.DatabaseError) {
      if (error.code === sqlStates.query_canceled && warning?.code === error.code) error.hint ??= warning.message // why the proxy did that
      throw new SqlFailed(error)
    }
    throw error
  } finally {
    either.removeEventListener('abort', cut)
    stream.destroy() // it rests, so what it had is free for others
  }
}

/** What COPY reads and writes are streams of the protocol, for which a request has no place. It is refused before anything runs. */
function refuseCopy(query: string): void {
  const text = Buffer.from(query)
  const cursor = { text, at: 0, to: text.length, start: 0 }
  let token = nextToken(cursor)
  while (token === tokens.semicolon) token = nextToken(cursor)
  if (token !== tokens.word || text.toString('latin1', cursor.start, cursor.at).toLowerCase() !== 'copy') return
  const failure = new pg.DatabaseError('COPY is not available over HTTP', 0, 'error')
  failure.severity = 'ERROR'
  failure.code = sqlStates.feature_not_supported
  failure.hint = 'Use insert or select, or COPY at the Postgres port, as psql does.'
  throw new SqlFailed(failure)
}

async function runAll(client: pg.Client, queries: readonly SqlQuery[], begin: string | null): Promise<SqlResult[]> {
  try {
    if (begin !== null) await client.query(begin)
    const results = await runEach(client, queries)
    if (begin !== null) await client.query('commit')
    return results
  } catch (error) {
    // Once this is answered the session rests, and what it had can be given to others.
    await client.query(begin === null ? '' : 'rollback').catch((later: unknown) => {
      log.debug({ err: later }, 'a session of POST /sql ended with its statement')
    })
    throw error
  }
}

async function runEach(client: pg.Client, queries: readonly SqlQuery[]): Promise<SqlResult[]> {
  const results: SqlResult[] = []
  for (const { query, params } of queries) {
    const values = await writeValues(params)
    const asked = { text: query, values, rowMode: 'array' as const, queryMode: 'extended', types: asText }
    results.push(await runOne(client, asked))
  }
  return results
}

async function runOne(client: pg.Client, asked: pg.QueryArrayConfig & { queryMode: string }): Promise<SqlResult> {
  const query = new pg.Query<(string | null)[]>(asked)
  let last: (string | null)[] = []
  const lists = [last]
  let rows = 0
  query.on('row', (row) => {
    rows++
    for (const value of row) {
      if (last.length === valuesInList) lists.push((last = []))
      last.push(value)
    }
  })
  const ended = new Promise<pg.ResultBuilder>((resolve, reject) => {
    query.on('end', resolve)
    query.on('error', reject)
  })
  client.query(query)
  const { fields, command, rowCount } = await ended
  return { fields, rows, lists, command, rowCount }
}

/** What is said of an answer that is larger than the limit: as it comes, or as JSON. */
export function tooLargeAnswer(): BerthError {
  return new BerthError(
    'request_too_large',
    `The answer has more than ${limits.sqlAnswerBytes / 1024 / 1024} MiB: ask for fewer rows, or use the Postgres port.`,
  )
}

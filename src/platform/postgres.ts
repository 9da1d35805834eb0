/**
 * Postgres: the pool and transactions. Queries are Kysely's `sql` templates, so a value can only ever be a parameter;
 * statements.ts runs them.
 */
import {
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type RawBuilder,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { BerthError } from './errors.ts'
import { log } from './log.ts'
import { beginText, isActing } from './postgres/actors.ts'
import { openNotices, type Notices } from './postgres/notices.ts'
import { isStalePlan, runStatement, type Answer } from './postgres/statements.ts'

export { sql } from 'kysely'

/** Where a query runs: the pool, or one transaction. Tables are typed where they are read, by row types. */
export type Db = Kysely<unknown>
/** A transaction: everything in it takes effect, or nothing does. */
export type Tx = Transaction<unknown>

/** The error codes of Postgres that Berth handles. */
export const sqlState = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  serializationFailure: '40001',
  deadlock: '40P01',
} as const

const connectTimeoutMs = 5_000
const statementTimeoutMs = 30_000
const idleInTransactionTimeoutMs = 30_000
const transactionTriesMax = 3

/** A connected database, and how to close it. */
export type Database = { db: Db; pool: pg.Pool; url: string; close: () => Promise<void> }

/**
 * Opens a pool. Nothing is sent before the first query.
 * @param applicationName shown in pg_stat_activity: which process of Berth this is.
 */
export function openDatabase(
  url: string,
  { connections, applicationName }: { connections: number; applicationName: string },
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    keepAlive: true,
  })
  // Without these two handlers a restart of Postgres would end the process with an unhandled `error` event.
  pool.on('error', (error) => log.warn({ reason: error.message }, 'an idle database connection was lost'))
  pool.on('connect', (client) =>
    client.on('error', (error) => log.warn({ reason: error.message }, 'a database connection was lost')),
  )
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: kyselyPool(pool) }) })
  const notices = openNotices(url, applicationName)
  pools.set(db, { pool, notices })
  return {
    db,
    pool,
    url,
    async close() {
      await db.destroy()
      await pool.end() // once the last transaction is over
      await notices.close()
    },
  }
}

/** What is behind a database: the pool, for queries outside a transaction, which do not need Kysely; and its notices. */
const pools = new WeakMap<Db, { pool: pg.Pool; notices: Notices }>()
/** The notices of each transaction that is not committed yet. */
const uncommitted = new WeakMap<Db, string[]>()

/** Sends a notice once this transaction is committed; now, if it is none. One that is rolled back sends nothing. */
export function sendAfterCommit(db: Db, notice: string): void {
  const held = uncommitted.get(db)
  const pool = pools.get(db)
  if (held) held.push(notice)
  else if (pool) pool.notices.send([notice])
  else
    log.error({ notice: notice.split(' ', 1)[0] }, 'a notice is lost: its transaction was not begun by transaction()')
}

/** Lets the other processes hear when this one dies with notices unsent. */
export function announce(db: Db): void {
  pools.get(db)?.notices.announce()
}

/** What is behind a database of its notices: those of its own process need not come from Postgres. */
export function ownNotices(db: Db): Pick<Notices, 'hearHere' | 'sessionId'> | undefined {
  return pools.get(db)?.notices
}

/** Resolves once the notices of what is committed are sent, or after a second: for answers that say that something has ended. */
export async function noticesSent(db: Db): Promise<void> {
  await pools.get(db)?.notices.flush()
}

/** What a part of a transaction has to say: `takeBack` forgets it, as a savepoint forgets what was written. */
export function noticesSince(tx: Tx): { takeBack: () => void } {
  const held = uncommitted.get(tx) ?? []
  const before = held.length
  return { takeBack: () => void held.splice(before) }
}

/** `topic id payload` without the payload. */
function withoutPayload(notice: string): string {
  return notice.split(' ', 2).join(' ')
}

/** The pool as Kysely uses it for transactions: each statement goes through statements.ts. */
function kyselyPool(pool: pg.Pool): PostgresPool {
  return {
    options: {},
    end: async () => undefined, // closing ends the pool, even if there never was a transaction
    async connect() {
      const client = await pool.connect()
      return {
        query: (text: string, values: readonly unknown[]) =>
          runStatement(client, text === 'begin' ? beginText() : text, values),
        release: (broken?: boolean) => client.release(broken),
      } as PostgresPoolClient // we use no cursors
    },
  }
}

const isWrite = /^\s*(?:with\b[^]*\b)?(?:insert into|update|delete from)\b/i

async function run(db: Db, query: RawBuilder<unknown>): Promise<Pick<Answer, 'rows' | 'rowCount'>> {
  const compiled = query.compile(db)
  const pool = pools.get(db)?.pool
  if (!pool) {
    const { rows, numAffectedRows } = await db.executeQuery(compiled)
    return { rows: rows as Answer['rows'], rowCount: Number(numAffectedRows ?? 0) } // runStatement made them
  }
  const { sql: text, parameters } = compiled
  if (isActing() && isWrite.test(text)) return transaction(db, (tx) => run(tx, query)) // which says who acts
  try {
    return await runStatement(pool, text, parameters)
  } catch (error) {
    if (!isStalePlan(error)) throw error
    return runStatement(pool, text, parameters)
  }
}

/**
 * Runs the work in one transaction. It is repeated when Postgres requires it (serialization, deadlock, a table changed
 * by a migration), three times at most. The work must therefore have no effect outside the transaction.
 */
export async function transaction<Result>(db: Db, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  if (db.isTransaction) return work(db as Tx) // already inside one: the outer one decides
  for (let attempt = 1; ; attempt++) {
    const notices: string[] = []
    let isCommitting = false
    try {
      const result = await db.transaction().execute(async (tx) => {
        uncommitted.set(tx, notices)
        const done = await work(tx)
        isCommitting = true
        return done
      })
      pools.get(db)?.notices.send(notices)
      return result
    } catch (error) {
      // It may be committed. Whoever is notified reads; what a notice says may not be true.
      if (isCommitting && isDatabaseAway(error)) pools.get(db)?.notices.send(notices.map(withoutPayload))
      const again =
        isSqlState(error, sqlState.serializationFailure) || isSqlState(error, sqlState.deadlock) || isStalePlan(error)
      if (!again || attempt >= transactionTriesMax) throw error
    }
  }
}

/** All rows of a query. */
export async function findAll<Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> {
  return (await run(db, query)).rows as Row[] // the caller says what its columns are
}

/** The first row, or undefined. */
export async function findOne<Row>(db: Db, query: RawBuilder<Row>): Promise<Row | undefined> {
  return (await run(db, query)).rows[0] as Row | undefined // the caller says what its columns are
}

/** The row that must exist: its absence is a bug. */
export async function getOne<Row>(db: Db, query: RawBuilder<Row>): Promise<Row> {
  const row = await findOne(db, query)
  if (row === undefined) throw new Error('a query that always answers a row answered none')
  return row
}

/** Runs a statement for its effect; returns how many rows it changed. */
export async function change(db: Db, query: RawBuilder<unknown>): Promise<number> {
  return (await run(db, query)).rowCount ?? 0
}

/** Whether this is Postgres' error with that code, and, when given, of that constraint. */
export function isSqlState(error: unknown, code: string, constraint?: string): boolean {
  if (!(error instanceof Error) || !('code' in error) || error.code !== code) return false
  return constraint === undefined || ('constraint' in error && error.constraint === constraint)
}

/**
 * Whether the error means that Postgres is unreachable (restarting, refused, disconnected), so that a retry may soon
 * work.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('57P') || code.startsWith('08') || code === '53300') return true
  if (['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT'].includes(code)) return true
  return /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/.test(
    error.message,
  )
}

/** The error while Postgres is unreachable. */
export function databaseAway(): BerthError {
  return new BerthError('service_unavailable', 'The database is not reachable right now. Try again in a few seconds.', {
    retryAfterSeconds: 2,
  })
}

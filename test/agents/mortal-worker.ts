/**
 * A worker that dies at one of its statements. It is the real one: from its death on none of its statements reaches
 * Postgres, except that what it had open is rolled back, as Postgres does when a connection is gone.
 */
import type pg from 'pg'
import { openDatabase } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'

/**
 * How many statements a worker has before it dies, and how many it has sent; `over` when it dies. Those that it sends by the
 * clock do not count, so that the same work has the same numbers however slow the machine is.
 */
export type Life = { statements: number; sent: number; over: PromiseWithResolvers<void> }

/** The heartbeats of a claim, and the text that is shown while a model still says it. */
const isByClock = /update sessions set step_beat_at = now\(\) where id = |insert into session_previews /

const opened: { life: Life; closed: Promise<void> }[] = []

/** Closes the connections of all that have not died. */
export async function closeMortals(): Promise<void> {
  const all = opened.splice(0)
  for (const { life } of all) life.over.resolve()
  await Promise.all(all.map(({ closed }) => closed))
}

/** The worker that dies: the platform of its process, whose database takes so many statements. */
export function mortalWorker(services: Services, statements: number): Services & { life: Life } {
  const database = openDatabase(services.database.url, { connections: 2, applicationName: 'berth-worker' })
  const life: Life = { statements, sent: 0, over: Promise.withResolvers() }
  makeMortal(database.pool, life)
  opened.push({ life, closed: life.over.promise.then(() => database.close()) })
  return { ...services, database, db: database.db, life }
}

type Send = (statement: { text: string }, done: (error: Error | null, result?: unknown) => void) => void

/** Counts the statements, as Berth sends them to pg: on the pool, and on a connection in a transaction. */
function makeMortal(pool: pg.Pool, life: Life): void {
  const counted =
    (send: Send): Send =>
    (statement, done) => {
      const isAlive = life.sent <= life.statements
      if (statement.text === 'rollback' || (isAlive && isByClock.test(statement.text))) return send(statement, done)
      if (life.sent++ < life.statements) return send(statement, done)
      life.over.resolve()
      done(new Error('Connection terminated: the worker is dead')) // as pg says it
    }
  const [query, connect] = [pool.query.bind(pool), pool.connect.bind(pool)] as unknown as [
    Send,
    (callback?: unknown) => Promise<pg.PoolClient>,
  ] // of pg's many forms, those that Berth uses
  Object.assign(pool, {
    query: counted(query),
    connect: async (callback?: unknown) => {
      if (callback !== undefined) return connect(callback) // the pool itself, for a statement that is counted already
      const client = await connect()
      const release = (broken?: boolean): void => client.release(broken)
      return { query: counted(client.query.bind(client) as unknown as Send), release }
    },
  })
}

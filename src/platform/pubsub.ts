/**
 * The only bus: Postgres' NOTIFY. A notice carries a topic and an id, never data; the reader reads the row again.
 * It is sent in the transaction that made it true, so a reader that hears it sees it.
 */
import type { RawBuilder } from 'kysely'
import pg from 'pg'
import { log } from './log.ts'
import { sql, type Db } from './postgres.ts'

const channel = 'berth'
const reconnectMsFirst = 100
const reconnectMsMax = 2_000
const heartbeatMs = 5_000
const heartbeatTimeoutMs = 4_000

/** Tells every process that something about this id changed, once the transaction commits. */
export async function publish(tx: Db, topic: string, id: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${`${topic} ${id}`})`.execute(tx)
}

/** The same as a part of a larger statement, which must read its value: then it tells of every `id`, an expression of that statement. */
export function noticeOf(topic: string, id: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_notify(${channel}, ${`${topic} `} || ${id})`
}

/** Hears notices. */
export type Pubsub = {
  /** Whether notices arrive right now; while not, what depends on them must read the database. */
  readonly connected: boolean
  /**
   * Yields once for each burst of notices on `topic` and `id`, and once after every gap in the connection, when
   * notices may have been missed. Yields nothing at first: read the row yourself after subscribing.
   */
  subscribe(topic: string, id: string, signal: AbortSignal): AsyncIterableIterator<void>
  /** Calls back for every id of a topic, and with null after a gap: everything may have changed. */
  listen(topic: string, onNotice: (id: string | null) => void): void
  close: () => Promise<void>
}

/** Starts listening; keeps trying for as long as Postgres is away. */
export function openPubsub(databaseUrl: string): Pubsub {
  const { hear, gap, subscribe, listen } = createHearers()
  const line = keepListening(databaseUrl, hear, gap)
  return {
    get connected() {
      return line.connected()
    },
    subscribe,
    listen,
    close: line.close,
  }
}

type Waiter = { due: boolean; wake: (() => void) | null }
type Hearers = Pick<Pubsub, 'subscribe' | 'listen'> & { hear: (payload: string) => void; gap: () => void }

/** Who waits for what, in this process. */
function createHearers(): Hearers {
  const waiters = new Map<string, Set<Waiter>>()
  const listeners = new Map<string, Set<(id: string | null) => void>>()
  const stir = (waiter: Waiter): void => {
    waiter.due = true
    waiter.wake?.()
  }
  return {
    hear(payload) {
      const space = payload.indexOf(' ')
      for (const waiter of waiters.get(payload) ?? []) stir(waiter)
      for (const onNotice of listeners.get(payload.slice(0, space)) ?? []) onNotice(payload.slice(space + 1))
    },
    gap() {
      for (const group of waiters.values()) for (const waiter of group) stir(waiter)
      for (const group of listeners.values()) for (const onNotice of group) onNotice(null)
    },
    subscribe(topic, id, signal) {
      const key = `${topic} ${id}`
      const waiter: Waiter = { due: false, wake: null }
      const group = waiters.get(key) ?? new Set()
      waiters.set(key, group.add(waiter))
      const leave = (): void => {
        group.delete(waiter)
        if (group.size === 0 && waiters.get(key) === group) waiters.delete(key)
        waiter.wake?.()
      }
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      return (async function* () {
        try {
          while (!signal.aborted) {
            if (!waiter.due) await new Promise<void>((wake) => (waiter.wake = wake))
            waiter.wake = null
            if (signal.aborted) return
            waiter.due = false
            yield
          }
        } finally {
          signal.removeEventListener('abort', leave)
          leave()
        }
      })()
    },
    listen(topic, onNotice) {
      listeners.set(topic, (listeners.get(topic) ?? new Set()).add(onNotice))
    },
  }
}

/** Holds one listening connection, and opens it again whenever it is lost; `gap` is called each time it is open. */
function keepListening(databaseUrl: string, hear: (payload: string) => void, gap: () => void): { connected: () => boolean; close: () => Promise<void> } {
  let client: pg.Client | null = null
  let connected = false
  let closed = false
  let retry: NodeJS.Timeout | undefined

  const connect = async (afterMs: number): Promise<void> => {
    const next = new pg.Client({ connectionString: databaseUrl, application_name: 'berth-listen', keepAlive: true, connectionTimeoutMillis: heartbeatTimeoutMs, query_timeout: heartbeatTimeoutMs })
    client = next
    let beat: NodeJS.Timeout | undefined
    let lost = false
    const lose = (reason: string): void => {
      if (lost) return
      lost = true
      connected = false
      clearInterval(beat)
      next.end().catch((error: Error) => log.debug({ reason: error.message }, 'a dead listening connection did not close cleanly'))
      if (closed) return
      log.warn({ reason }, 'notices are interrupted; listening again soon')
      retry = setTimeout(() => void connect(Math.min(afterMs * 2, reconnectMsMax)), afterMs)
    }
    next.on('error', (error) => lose(error.message))
    next.on('end', () => lose('the connection ended'))
    next.on('notification', (notice) => hear(notice.payload ?? ''))
    try {
      await next.connect()
      await next.query(`listen ${channel}`)
    } catch (error) {
      lose(error instanceof Error ? error.message : String(error))
      return
    }
    if (closed) return
    connected = true
    afterMs = reconnectMsFirst
    gap()
    beat = setInterval(() => {
      next.query('select 1').catch((error: Error) => lose(error.message))
    }, heartbeatMs)
    beat.unref()
  }
  void connect(reconnectMsFirst)

  return {
    connected: () => connected,
    async close() {
      closed = true
      clearTimeout(retry)
      await client?.end()
    },
  }
}

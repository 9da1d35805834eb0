/**
 * The only message bus: Postgres' NOTIFY. A notice carries a topic and an id, and the subscriber reads the row again.
 * It is sent in the transaction of the change, so a subscriber that receives it sees the change. If the new value is
 * short and latency matters, a notice may also carry it, so that it need not be read. Notices may be lost; the table is
 * authoritative.
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

/** The maximum payload of a notice: Postgres allows 8,000 bytes including the topic and the id. */
export const saidBytesMax = 7_000

/** Notifies every process that something about this id changed, once the transaction commits. */
export async function publish(tx: Db, topic: string, id: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${`${topic} ${id}`})`.execute(tx)
}

/**
 * The same as a part of a larger statement, which must select its value: it notifies of every `id`, an expression of
 * that statement.
 * @param said an expression for the payload, at most 7,000 bytes. If it is null there is no payload.
 */
export function noticeOf(topic: string, id: RawBuilder<unknown>, said?: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`pg_notify(${channel}, ${`${topic} `} || ${id} ${said ? sql`|| coalesce(' ' || ${said}, '')` : sql``})`
}

/** The expression if it is short enough for a payload, otherwise null. */
export function ifShort(said: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when octet_length(${said}) <= ${saidBytesMax} then ${said} end`
}

/** Receives notices. */
export type Pubsub = {
  /** Whether notices arrive now; while they do not, what depends on them must read the database. */
  readonly connected: boolean
  /**
   * Yields once for each burst of notices on `topic` and `id`, and once after every gap in the connection, when
   * notices may have been missed. Yields nothing at first: read the row yourself after subscribing.
   */
  subscribe(topic: string, id: string, signal: AbortSignal): AsyncIterableIterator<void>
  /**
   * Calls back for each notice on `topic` and `id` with its payload; with null when it has none, and after every gap:
   * then read the row.
   */
  hear(topic: string, id: string, signal: AbortSignal, onNotice: (said: string | null) => void): void
  /** Calls back for every id of a topic, and with null after a gap: everything may have changed. */
  listen(topic: string, onNotice: (id: string | null) => void): void
  close: () => Promise<void>
}

/** Starts listening; retries for as long as Postgres is unreachable. */
export function openPubsub(databaseUrl: string): Pubsub {
  const { deliver, gap, subscribe, hear, listen } = createHearers()
  const line = keepListening(databaseUrl, deliver, gap)
  return {
    get connected() {
      return line.connected()
    },
    subscribe,
    hear,
    listen,
    close: line.close,
  }
}

type Hearers = Pick<Pubsub, 'subscribe' | 'hear' | 'listen'> & { deliver: (payload: string) => void; gap: () => void }

/** The subscribers in this process. */
function createHearers(): Hearers {
  const hearers = new Map<string, Set<(said: string | null) => void>>()
  const listeners = new Map<string, Set<(id: string | null) => void>>()
  /** @returns a function that unsubscribes. */
  const join = (topic: string, id: string, onNotice: (said: string | null) => void): (() => void) => {
    const key = `${topic} ${id}`
    const group = hearers.get(key) ?? new Set()
    hearers.set(key, group.add(onNotice))
    return () => {
      group.delete(onNotice)
      if (group.size === 0 && hearers.get(key) === group) hearers.delete(key)
    }
  }
  return {
    deliver(payload) {
      const space = payload.indexOf(' ')
      const end = payload.indexOf(' ', space + 1)
      const [key, said] = end < 0 ? [payload, null] : [payload.slice(0, end), payload.slice(end + 1)]
      for (const onNotice of hearers.get(key) ?? []) onNotice(said)
      for (const onNotice of listeners.get(key.slice(0, space)) ?? []) onNotice(key.slice(space + 1))
    },
    gap() {
      for (const group of hearers.values()) for (const onNotice of group) onNotice(null)
      for (const group of listeners.values()) for (const onNotice of group) onNotice(null)
    },
    subscribe(topic, id, signal) {
      let due = false
      let wake: (() => void) | null = null
      const leaveGroup = join(topic, id, () => {
        due = true
        wake?.()
      })
      const leave = (): void => {
        leaveGroup()
        wake?.()
      }
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      return (async function* () {
        try {
          while (!signal.aborted) {
            if (!due) await new Promise<void>((resolve) => (wake = resolve))
            wake = null
            if (signal.aborted) return
            due = false
            yield
          }
        } finally {
          signal.removeEventListener('abort', leave)
          leave()
        }
      })()
    },
    hear(topic, id, signal, onNotice) {
      if (!signal.aborted)
        signal.addEventListener(
          'abort',
          join(topic, id, (said) => onNotice(said)),
          { once: true },
        )
    },
    listen(topic, onNotice) {
      listeners.set(topic, (listeners.get(topic) ?? new Set()).add(onNotice))
    },
  }
}

/** Keeps one listening connection, and reopens it whenever it is lost; `gap` is called each time it is open. */
function keepListening(
  databaseUrl: string,
  deliver: (payload: string) => void,
  gap: () => void,
): { connected: () => boolean; close: () => Promise<void> } {
  let client: pg.Client | null = null
  let connected = false
  let closed = false
  let retry: NodeJS.Timeout | undefined

  const connect = async (afterMs: number): Promise<void> => {
    const next = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'berth-listen',
      keepAlive: true,
      connectionTimeoutMillis: heartbeatTimeoutMs,
      query_timeout: heartbeatTimeoutMs,
    })
    client = next
    let beat: NodeJS.Timeout | undefined
    let lost = false
    const lose = (reason: string): void => {
      if (lost) return
      lost = true
      connected = false
      clearInterval(beat)
      next
        .end()
        .catch((error: Error) =>
          log.debug({ reason: error.message }, 'a dead listening connection did not close cleanly'),
        )
      if (closed) return
      log.warn({ reason }, 'notices are interrupted; listening again soon')
      retry = setTimeout(() => void connect(Math.min(afterMs * 2, reconnectMsMax)), afterMs)
    }
    next.on('error', (error) => lose(error.message))
    next.on('end', () => lose('the connection ended'))
    next.on('notification', (notice) => deliver(notice.payload ?? ''))
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

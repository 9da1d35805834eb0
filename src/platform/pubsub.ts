/**
 * The only message bus: Postgres' NOTIFY. A notice carries a topic and an id, and the subscriber reads the row again.
 * It is sent right after the commit of the change (postgres/notices.ts), so a subscriber that receives it sees the change.
 * If the new value is short and latency matters, a notice may also carry it, so that it need not be read. Notices of one
 * process come in the order of its commits; those of several in any. Notices may be lost; the table is authoritative, and
 * when a process may have died with some unsent, every subscriber looks again within seconds.
 */
import { randomInt } from 'node:crypto'
import pg from 'pg'
import { log } from './log.ts'
import { ownNotices, sendAfterCommit, type Db } from './postgres.ts'
import { aliveTopic, droppedTopic, endedTopic, noticeChannel, ownSender } from './postgres/notices.ts'

const reconnectMsFirst = 100
const reconnectMsMax = 2_000
const heartbeatMs = 5_000
const heartbeatTimeoutMs = 4_000
/** A process that is silent for so long may have died with notices unsent. */
const silentMs = 5_000
const silenceLookMs = 1_000
/** Processes do not all look again in the same moment. */
const spreadMs = 1_000

/** The maximum payload of a notice: Postgres allows 8,000 bytes including the topic and the id. */
export const noticePayloadBytesMax = 7_000

/**
 * Notifies every process that something about this id changed, once the transaction commits.
 * @param payload the new value; left out if it is longer than 7,000 bytes: then subscribers read.
 */
export function publish(tx: Db, topic: string, id: string, payload: string | null = null): void {
  const isShort = payload !== null && Buffer.byteLength(payload) <= noticePayloadBytesMax
  sendAfterCommit(tx, isShort ? `${topic} ${id} ${payload}` : `${topic} ${id}`)
}

/**
 * Receives notices. After a gap some may be missing: the connection was interrupted, a process has died with some perhaps
 * unsent, or some were dropped.
 */
export type Pubsub = {
  /** Whether notices arrive now; while they do not, what depends on them must read the database. */
  readonly connected: boolean
  /**
   * Yields once for each burst of notices on `topic` and `id`, and once after every gap. Yields nothing at first: read the
   * row yourself after subscribing.
   */
  subscribe(topic: string, id: string, signal: AbortSignal): AsyncIterableIterator<void>
  /**
   * Calls back for each notice on `topic` and `id` with its payload; with null when it has none, and after every gap:
   * then read the row.
   */
  hear(topic: string, id: string, signal: AbortSignal, onNotice: (payload: string | null) => void): void
  /** Calls back for every id of a topic, and with null after a gap: everything may have changed. */
  listen(topic: string, onNotice: (id: string | null) => void): void
  close: () => Promise<void>
}

/**
 * Starts listening; retries for as long as Postgres is unreachable.
 * @param db what is sent by it in this process is heard at its commit, and not again when Postgres says it.
 */
export function openPubsub(databaseUrl: string, db?: Db): Pubsub {
  const { deliver, gap, subscribe, hear, listen } = createHearers()
  const own = db && ownNotices(db)
  own?.hearHere(deliver)
  const senders = watchSenders(gap, () => line.answers())
  const line = keepListening(
    databaseUrl,
    (payload, sessionId) => {
      if (!senders.hear(payload) && sessionId !== own?.sessionId) deliver(payload)
    },
    () => {
      senders.restart()
      gap()
    },
  )
  return {
    get connected() {
      return line.connected()
    },
    subscribe,
    hear,
    listen,
    async close() {
      senders.close()
      await line.close()
    },
  }
}

/**
 * Calls `gap` when a process that sends notices has fallen silent without having ended, or had to drop some.
 * @param answers whether Postgres answers, behind all notices that it has sent: only then a silence is the process's.
 */
function watchSenders(
  gap: () => void,
  answers: () => Promise<boolean>,
): {
  /** Whether this notice is about a process itself. */
  hear: (payload: string) => boolean
  /** Nothing was heard until now: all are heard again, or are silent, from now on. */
  restart: () => void
  close: () => void
} {
  const heardAtMs = new Map<string, number>()
  const silent = (): string[] =>
    [...heardAtMs].filter(([, atMs]) => performance.now() - atMs > silentMs).map(([sender]) => sender)
  const look = async (): Promise<void> => {
    if (silent().length === 0 || !(await answers())) return
    const gone = silent()
    for (const sender of gone) heardAtMs.delete(sender)
    if (gone.length > 0) setTimeout(gap, randomInt(spreadMs)).unref()
  }
  const looking = setInterval(() => void look(), silenceLookMs).unref()
  return {
    hear(payload) {
      const [topic = '', sender = ''] = payload.split(' ', 2)
      if (sender === ownSender && topic !== droppedTopic) return topic === aliveTopic || topic === endedTopic
      if (topic === aliveTopic) heardAtMs.set(sender, performance.now())
      else if (topic === endedTopic) heardAtMs.delete(sender)
      else if (topic === droppedTopic) gap()
      else return false
      return true
    },
    restart() {
      for (const sender of heardAtMs.keys()) heardAtMs.set(sender, performance.now())
      setTimeout(gap, silentMs).unref() // one that died before it was heard of
    },
    close: () => clearInterval(looking),
  }
}

type Hearers = Pick<Pubsub, 'subscribe' | 'hear' | 'listen'> & { deliver: (payload: string) => void; gap: () => void }

/** The subscribers in this process. */
function createHearers(): Hearers {
  const hearers = new Map<string, Set<(payload: string | null) => void>>()
  const listeners = new Map<string, Set<(id: string | null) => void>>()
  /** @returns a function that unsubscribes. */
  const join = (topic: string, id: string, onNotice: (payload: string | null) => void): (() => void) => {
    const key = `${topic} ${id}`
    const group = hearers.get(key) ?? new Set()
    hearers.set(key, group.add(onNotice))
    return () => {
      group.delete(onNotice)
      if (group.size === 0 && hearers.get(key) === group) hearers.delete(key)
    }
  }
  const gap = (): void => {
    for (const group of hearers.values()) for (const onNotice of group) onNotice(null)
    for (const group of listeners.values()) for (const onNotice of group) onNotice(null)
  }
  return {
    deliver(payload) {
      const space = payload.indexOf(' ')
      const end = payload.indexOf(' ', space + 1)
      const [key, content] = end < 0 ? [payload, null] : [payload.slice(0, end), payload.slice(end + 1)]
      for (const onNotice of hearers.get(key) ?? []) onNotice(content)
      for (const onNotice of listeners.get(key.slice(0, space)) ?? []) onNotice(key.slice(space + 1))
    },
    gap,
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
          join(topic, id, (payload) => onNotice(payload)),
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
  deliver: (payload: string, sessionId: number) => void,
  gap: () => void,
): { connected: () => boolean; answers: () => Promise<boolean>; close: () => Promise<void> } {
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
    next.on('notification', (notice) => deliver(notice.payload ?? '', notice.processId))
    try {
      await next.connect()
      await next.query(`listen ${noticeChannel}`)
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
    answers: async () => connected && client !== null && isAnswering(client),
    async close() {
      closed = true
      clearTimeout(retry)
      await client?.end()
    },
  }
}

async function isAnswering(client: pg.Client): Promise<boolean> {
  return client.query('select 1').then(
    () => true,
    () => false,
  )
}

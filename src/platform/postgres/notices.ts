/**
 * Sends the notices of transactions once they are committed. NOTIFY inside a transaction holds one lock of the whole
 * server until its commit is on disk, so that writers wait for each other; here, those that were committed while a batch
 * was on its way go together in the next one, in a transaction that waits for no disk. A process that dies in between
 * takes them along: the others hear that it is silent, and look at everything again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import pg from 'pg'
import { asNobody } from './actors.ts'

/** The channel of Postgres on which all notices go. */
export const noticeChannel = 'berth'
/** A notice of this topic says that the process of that id is alive. */
export const aliveTopic = 'alive'
/** A notice of this topic says that the process of that id ends in order, with nothing unsent. */
export const endedTopic = 'ended'
/** A notice of this topic says that some were dropped: everybody looks again. */
export const droppedTopic = 'dropped'
/** This process, as the others know it. */
export const ownSender = newUuid()
const dropped = `${droppedTopic} ${ownSender}`

const aliveMs = 1_000
const againMs = 200
const timeoutMs = 4_000
const flushLimitMs = 1_000
/** Notices in one transaction. */
const batchMax = 1_000
/** Notices that are kept while Postgres is unreachable; when there are more, they are dropped and everybody looks again. */
export const keptMax = 20_000

/** The notices of this process. */
export type Notices = {
  /** Sends these in order, as soon as it can. */
  send(notices: readonly string[]): void
  /** Has each heard in this process too, in the order in which they are sent, without a way through Postgres. */
  hearHere(onNotice: (notice: string) => void): void
  /** The id of the session in Postgres that sends them: what it says has been heard here. */
  readonly sessionId: number | undefined
  /** From now on the others hear when this process dies; before its first notice they need not. */
  announce(): void
  /** Resolves once all that were given so far are sent, or after a second. */
  flush(): Promise<void>
  /** Resolves once all are sent, or Postgres is unreachable. */
  close(): Promise<void>
}

/** Begins; nothing is sent, and no connection opened, before the first notice. */
export function openNotices(url: string, applicationName: string): Notices {
  const connection = createConnection(url, applicationName)
  let waiting: string[] = []
  let sending: Promise<void> | undefined
  let alive: NodeJS.Timeout | undefined
  let isClosed = false
  let hearHere: ((notice: string) => void) | undefined

  async function sendAll(): Promise<void> {
    for (let failures = 0; waiting.length > 0; ) {
      const batch = waiting.slice(0, batchMax)
      try {
        await connection.send(batch)
        waiting.splice(0, batch.length)
        failures = 0
      } catch (error) {
        if (isClosed) break
        if (isRefusal(error)) refuse(batch, error)
        else if (failures++ === 0) log.warn({ err: error }, 'notices of this process wait for Postgres; trying again')
        await pause(againMs)
      }
    }
    sending = undefined // in the turn that found nothing more
  }

  /** What Postgres does not take would be in the way of all that follow. */
  function refuse(batch: readonly string[], error: unknown): void {
    log.error({ err: error }, 'Postgres refused notices; everybody looks again')
    waiting.splice(0, batch.length, dropped)
  }

  function send(notices: readonly string[]): void {
    if (notices.length === 0) return
    announce()
    const hear = hearHere
    if (hear) queueMicrotask(() => asNobody(() => notices.forEach(hear))) // whoever commits does not wait for those who hear of it
    if (waiting.length + notices.length > keptMax) waiting.splice(sending ? batchMax : 0, Infinity, dropped)
    else waiting.push(...notices)
    sending ??= sendAll()
  }

  function announce(): void {
    if (alive || isClosed) return
    const say = (): void => send([`${aliveTopic} ${ownSender}`])
    alive = setInterval(say, aliveMs).unref()
    say()
  }

  return {
    send,
    hearHere: (onNotice) => (hearHere = onNotice),
    get sessionId() {
      return connection.sessionId()
    },
    announce,
    flush: () => within(flushLimitMs, sending),
    async close() {
      clearInterval(alive)
      if (alive) send([`${endedTopic} ${ownSender}`])
      isClosed = true
      await within(timeoutMs, sending)
      await connection.close()
    },
  }
}

/** Resolves with the work, or after so long. */
async function within(limitMs: number, work: Promise<void> | undefined): Promise<void> {
  const over = new AbortController()
  const late = pause(limitMs, undefined, { signal: over.signal }).catch(() => undefined) // it was in time
  await Promise.race([work, late])
  over.abort()
}

/** Whether it is these notices that Postgres does not take, such as one that is too long. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(?:22|54)/.test(error.code ?? '')
}

/** A connection of its own, so that notices do not wait behind queries; it is opened when it is needed, also again. */
function createConnection(
  url: string,
  applicationName: string,
): {
  send: (notices: readonly string[]) => Promise<void>
  sessionId: () => number | undefined
  close: () => Promise<void>
} {
  let client: (pg.Client & { processID?: number }) | undefined // pg's types leave it out

  async function connected(): Promise<pg.Client> {
    if (client) return client
    const next = new pg.Client({
      connectionString: url,
      application_name: `${applicationName}-notices`,
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      options: '-c synchronous_commit=off',
    })
    const forget = (): void => {
      if (client === next) client = undefined
    }
    next.on('error', forget)
    next.on('end', forget)
    await next.connect()
    return (client = next)
  }

  return {
    async send(notices) {
      const to = await connected()
      try {
        await to.query({
          name: 'notices',
          text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
          values: [noticeChannel, notices],
        })
      } catch (error) {
        client = undefined
        to.end().catch(() => undefined) // it is broken
        throw error
      }
    },
    sessionId: () => client?.processID,
    close: async () => client?.end(),
  }
}

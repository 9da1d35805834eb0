/**
 * What one process remembers about billing. The state is created here and nowhere else; the other files of this folder
 * work on what they are given.
 *
 * | what | which part owns it | after a kill -9 |
 * |---|---|---|
 * | plans, budgets, and the reserved and owed amounts of each | `accounts`: a purse for each organization and key | is read again |
 * | leases: the parts of organizations' credits that this process holds | `accounts`, written by `leases` alone | a worker returns them after 30 s |
 * | running requests: `young` ones, and `old` ones, which are open in the ledger | `state.ts` | old ones become lost requests, at their last written cost; young ones cost nothing |
 * | rows waiting for the ledger, in batches | `queue` | their answers had not ended; what the ledger has of them counts |
 * | the number of the next batch, and the lane to the database | `writer` | is never used again: the next process has another id |
 * | subscribers to be notified | `settled-notices.ts` | they are notified when a worker ends the lost process |
 */
import { nowMs } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { databaseAway, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { createAccounts, type Account, type Accounts, type Purse } from './accounts.ts'
import { createLedgerQueue, type LedgerQueue } from './ledger-queue.ts'
import { createLedgerWriter, type LedgerWriter } from './ledger-writer.ts'
import { createLeases, creditsWantedTopic, giveLeasesBack, noteHeld, type Leases } from './leases.ts'
import { checkOut } from './processes.ts'
import { RunningRequest, type InferenceOrder } from './requests.ts'
import { createSettledNotices } from './settled-notices.ts'

/** A request that has been running for this long is written before it ends, so that a kill loses at most a second. */
const openAfterMs = 250
const sweepMs = 100 // subscribers of an organization's requests are notified at most twice in this time
const progressEverySweeps = 10
const heartbeatMs = 5_000

/** What one process remembers. */
export type BillingState = {
  readonly accounts: Accounts
  readonly leases: Leases
  readonly queue: LedgerQueue
  readonly writer: LedgerWriter
  readonly isClosed: boolean
  /**
   * Reserves the request's maximum cost; it is running from now on.
   * @throws BerthError service_unavailable after the state was closed.
   */
  begin(order: InferenceOrder, account: Account, key: Purse | null): RunningRequest
  /** Writes everything down and gives the leases back. Idempotent. */
  close(): Promise<void>
}

/** Opens the state, and starts its timer. */
export function openBillingState({ db, pubsub }: Pick<Background, 'db' | 'pubsub'>): BillingState {
  const accounts = createAccounts(db, pubsub)
  const writer = createLedgerWriter(db, newUuid(), (held, all) => noteHeld(accounts, held, all))
  const leases = createLeases(db, accounts, writer)
  const running = createRunning(db, writer)
  let closing: Promise<void> | null = null
  pubsub.listen(creditsWantedTopic, (id) => {
    if (id !== null)
      leases
        .giveSpare(accounts.find(id))
        .catch((error: Error) =>
          log.debug({ reason: error.message }, 'credits that other processes need could not be returned'),
        )
  })
  const beat = async (): Promise<void> => {
    await writer.checkIn()
    await leases.giveIdle()
    accounts.tidy()
  }
  const timers = [
    setInterval(running.sweep, sweepMs),
    setInterval(
      () =>
        void beat().catch((error: Error) =>
          log.debug({ reason: error.message }, 'the heartbeat of this process could not be written'),
        ),
      heartbeatMs,
    ),
  ]
  for (const timer of timers) timer.unref()

  async function close(): Promise<void> {
    for (const timer of timers) clearInterval(timer)
    running.endAll()
    await running.queue.drain()
    running.sweep() // also notify those of the last ones who were notified just before
    const leave = async (): Promise<void> => {
      await giveLeasesBack(
        db,
        writer.processId,
        [...accounts.all()].map(({ organizationId }) => organizationId),
      )
      await checkOut(db, writer.processId)
    }
    await writer
      .inLane(leave)
      .catch((error: Error) =>
        log.warn({ reason: error.message }, 'leases could not be released now; a worker will do it'),
      )
  }

  return {
    accounts,
    leases,
    writer,
    queue: running.queue,
    get isClosed() {
      return closing !== null
    },
    begin(order, account, key) {
      if (closing) throw databaseAway() // it was admitted while the state was closing
      return running.begin(order, account, key)
    },
    close: () => (closing ??= close()),
  }
}

/** The running requests, and the queue of their rows. */
function createRunning(
  db: Db,
  writer: LedgerWriter,
): Pick<BillingState, 'begin' | 'queue'> & { sweep: () => void; endAll: () => void } {
  const young = new Set<RunningRequest>()
  const old = new Set<RunningRequest>()
  const notices = createSettledNotices(db, writer)
  const queue = createLedgerQueue({ write: notices.write, giveUp: writer.giveUp }, () => young.size)
  let sweeps = 0

  const end = (request: RunningRequest): Promise<void> => {
    if (!young.delete(request)) old.delete(request)
    return queue.push(request)
  }
  return {
    queue,
    begin(order, account, key) {
      const request = new RunningRequest(order, account, key, end)
      young.add(request)
      return request
    },
    endAll() {
      for (const request of [...young, ...old]) void request.end('lost', request.upstream, request.used())
    },
    sweep() {
      const beforeMs = nowMs() - openAfterMs
      for (const request of young) {
        if (request.startedMs > beforeMs) break // the oldest are in front
        young.delete(request)
        old.add(request)
        void queue.push(request) // if it cannot be written, its end reports that
      }
      if (++sweeps % progressEverySweeps === 0) for (const request of old) if (request.changed) void queue.push(request)
      notices.sweep()
      queue.refuseLate()
    },
  }
}

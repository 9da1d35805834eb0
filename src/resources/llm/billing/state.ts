/**
 * All that one process remembers of money. It is made here and nowhere else; the other files of this folder work on what
 * they are given.
 *
 * | what | who holds it | after a kill -9 |
 * |---|---|---|
 * | plans, budgets, and what is set aside and owed of each | `accounts`: a purse for each organization and key | is read again |
 * | leases: the parts of organizations' credits that this process holds | `accounts`, written by `leases` alone | a worker gives them back after 30 s |
 * | requests that run: `young` ones, and `old` ones, which the ledger has as open | `state.ts` | old ones are lost requests, and cost what was written of them last; young ones cost nothing |
 * | rows on their way into the ledger, in batches | `queue` | their answers had not ended; what the ledger has of them counts |
 * | the number of the next batch, and whose turn at the database it is | `writer` | is never used again: the next process has a name of its own |
 * | whose followers are to be told | `settled-notices.ts` | they are told when a worker ends the lost process |
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

/** A request running this long is written down before it ends, so that a kill loses a second at most. */
const openAfterMs = 250
const sweepMs = 100 // also how often those who follow an organization's requests are told at most, twice
const progressEverySweeps = 10
const heartbeatMs = 5_000

/** What one process remembers. */
export type BillingState = {
  readonly accounts: Accounts
  readonly leases: Leases
  readonly queue: LedgerQueue
  readonly writer: LedgerWriter
  readonly isClosed: boolean
  /** Sets aside what the request may cost; it runs from now on. @throws BerthError service_unavailable once everything was given back. */
  begin(order: InferenceOrder, account: Account, key: Purse | null): RunningRequest
  /** Writes everything down and gives the leases back. Idempotent. */
  close(): Promise<void>
}

/** Opens it, and starts its clock. */
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
    running.sweep() // those who were told just before are told of the last ones too
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
      if (closing) throw databaseAway() // it was let in while everything was given back
      return running.begin(order, account, key)
    },
    close: () => (closing ??= close()),
  }
}

/** The requests that run, and the queue that their rows wait in. */
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
        void queue.push(request) // when it cannot be written, its end will say so
      }
      if (++sweeps % progressEverySweeps === 0) for (const request of old) if (request.changed) void queue.push(request)
      notices.sweep()
      queue.refuseLate()
    },
  }
}

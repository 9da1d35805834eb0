/**
 * One process's access to the billing tables: a single lane, so that answers arrive in order, and each batch of the
 * ledger is written exactly once, even if its answer is lost.
 */
import type { RawBuilder } from 'kysely'
import { log } from '#src/platform/log.ts'
import { findAll, isDatabaseAway, isSqlState, sqlState, type Db } from '#src/platform/postgres.ts'
import { makeFlush, type FlushAnswer, type LedgerRow } from './ledger.ts'
import { checkIn, processLostSeconds, type Presence } from './processes.ts'

const retryMsFirst = 100
const retryMsMax = 2_000
const sendsMax = 3
const statementTimeout = '57014'
const trustedMs = (processLostSeconds * 1000 * 2) / 3

/** Receives what is left of leases; with `all`, there are no others. */
export type NoteHeld = (held: ReadonlyMap<string, number>, all: boolean) => void

/** The writer of one process. */
export type LedgerWriter = {
  readonly processId: string
  /** Whether a heartbeat of this process was written recently, so that nobody presumes it dead and takes its leases. */
  readonly trusted: boolean
  /**
   * Writes rows as they are now; retries until it works, unless retrying cannot help.
   * @throws what Postgres throws, for a permanent fault, or for any fault after giveUp.
   */
  write(rows: readonly LedgerRow[]): Promise<void>
  /** Runs one piece of work with the database, alone. */
  inLane<Result>(work: () => Promise<Result>): Promise<Result>
  /** Writes a heartbeat, and reads this process's leases. */
  checkIn(): Promise<void>
  /** From now on nothing is retried. */
  giveUp(): void
}

/** Makes the writer of a process. */
export function createLedgerWriter(db: Db, processId: string, noteHeld: NoteHeld): LedgerWriter {
  let flushes = 0
  let seenAtMs = -Infinity
  let givenUp = false
  let lane: Promise<unknown> = Promise.resolve()

  function inLane<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = lane.then(work, work)
    lane = run.catch(() => undefined) // whoever called gets the error
    return run
  }

  async function present(): Promise<Presence> {
    const sentAtMs = performance.now()
    const presence = await checkIn(db, processId, flushes)
    seenAtMs = sentAtMs
    return presence
  }

  /** Sends a batch. Returns what is left of the leases it charged, or of all. */
  async function send(query: RawBuilder<FlushAnswer>): Promise<ReadonlyMap<string, number>> {
    for (let attempt = 1; attempt <= sendsMax; attempt++) {
      const sentAtMs = performance.now()
      const answers = await findAll<FlushAnswer>(db, query)
      if (answers.length > 0) {
        seenAtMs = sentAtMs
        return new Map(
          answers.flatMap(({ organizationId, heldNanoUsd }) =>
            organizationId === null ? [] : [[organizationId, heldNanoUsd] as const],
          ),
        )
      }
      // Its number was used by an earlier try whose answer was lost, or this process must first be registered (again).
      const presence = await present()
      if (presence.flushes > flushes) return presence.held
    }
    throw new Error('a batch of the ledger timed out waiting for its turn')
  }

  return {
    processId,
    get trusted() {
      return performance.now() - seenAtMs < trustedMs
    },
    async write(rows) {
      for (const row of rows) row.charge()
      const written = rows.map(({ usage, costNanoUsd }) => ({ usage, costNanoUsd }))
      const query = makeFlush(processId, flushes + 1, rows)
      const once = async (): Promise<void> => {
        noteHeld(await send(query), false)
        flushes += 1
        rows.forEach((row, at) => noteWritten(row, written[at]!)) // as many as rows
      }
      await keepTrying(
        () => inLane(once),
        () => givenUp,
      )
    },
    inLane,
    checkIn: () => inLane(async () => noteHeld((await present()).held, true)),
    giveUp: () => void (givenUp = true),
  }
}

async function keepTrying(work: () => Promise<void>, givenUp: () => boolean): Promise<void> {
  for (let pauseMs = retryMsFirst; ; pauseMs = Math.min(pauseMs * 2, retryMsMax)) {
    try {
      return await work()
    } catch (error) {
      if (!mayWorkLater(error) || givenUp()) throw error
      log.warn({ reason: (error as Error).message }, 'the ledger of requests could not be written; trying again')
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

/** Whether the fault is temporary, and not caused by the statement. */
function mayWorkLater(error: unknown): boolean {
  return isDatabaseAway(error) || isSqlState(error, sqlState.deadlock) || isSqlState(error, statementTimeout)
}

/** Records that the ledger has a row in this state, and that this much is paid. */
export function noteWritten(row: LedgerRow, { usage, costNanoUsd }: Pick<LedgerRow, 'usage' | 'costNanoUsd'>): void {
  row.paid(costNanoUsd - (row.written?.costNanoUsd ?? 0))
  row.written = { usage, costNanoUsd }
}

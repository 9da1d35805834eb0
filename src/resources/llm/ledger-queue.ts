/**
 * Writes the ledger in groups: while one batch is on its way, everything that arrives is the next one. It also holds
 * the one lane in which a process asks the database about money, so that answers come in the order of what they say.
 */
import type { RawBuilder } from 'kysely'
import { log } from '#src/platform/log.ts'
import { databaseAway, findAll, isDatabaseAway, isSqlState, sqlState, type Db } from '#src/platform/postgres.ts'
import { checkIn, processLostSeconds, type Presence } from './credits.ts'
import { makeFlush, type FlushAnswer, type LedgerRow } from './ledger.ts'

const batchRowsMax = 500
/** With more rows waiting than this, new requests are refused: the database has been away too long. */
const waitingRowsMax = 20_000
/** How long the end of a request waits for the ledger; what could not be written in time is written later all the same. */
const waitMsMax = 10_000
const retryMsFirst = 100
const retryMsMax = 2_000
const sendsMax = 3
const statementTimeout = '57014'
const trustedMs = (processLostSeconds * 1000 * 2) / 3

/** Told what is left of leases; with `all`, there are no others. */
type NoteHeld = (held: ReadonlyMap<string, number>, all: boolean) => void

type Batch = { rows: LedgerRow[]; done: Promise<void>; settle: () => void; refuse: (error: Error) => void; sinceMs: number }

/** The queue of one process. */
export type LedgerQueue = {
  readonly processId: string
  /** Whether the database has known of this process lately, so that nobody takes it for dead and its leases back. */
  readonly trusted: boolean
  readonly full: boolean
  /** Adds a row, or leaves it where it waits. Resolves when the ledger has it as it was when its batch left. */
  push(row: LedgerRow): Promise<void>
  /** Tells those who follow this organization, with the next batch. */
  tell(organizationId: string): void
  /** Lets go of those who have waited too long; their rows go on waiting. Called now and then. */
  refuseLate(): void
  /** Runs one piece of work with the database, alone. */
  inLane<Result>(work: () => Promise<Result>): Promise<Result>
  /** Says that this process lives, and reads its leases. */
  checkIn(): Promise<void>
  /** Resolves when nothing waits any more; while the database is away, after one more try. */
  drain(): Promise<void>
}

/** Makes one. */
export function createLedgerQueue(db: Db, processId: string, noteHeld: NoteHeld): LedgerQueue {
  const batches: Batch[] = []
  const told = new Set<string>()
  const progress = { flushes: 0, seenAtMs: -Infinity, waitingRows: 0, draining: false }
  let flushing: Promise<void> | null = null
  let leaving: Batch | null = null
  let lane: Promise<unknown> = Promise.resolve()

  function inLane<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = lane.then(work, work)
    lane = run.catch(() => undefined) // whoever asked hears of it
    return run
  }

  async function present(): Promise<Presence> {
    const sentAtMs = performance.now()
    const presence = await checkIn(db, processId, progress.flushes)
    progress.seenAtMs = sentAtMs
    return presence
  }

  /** Sends a batch. Answers what is left of the leases it took from, or of all. */
  async function send(query: RawBuilder<FlushAnswer>): Promise<ReadonlyMap<string, number>> {
    for (let attempt = 1; attempt <= sendsMax; attempt++) {
      const sentAtMs = performance.now()
      const answers = await findAll<FlushAnswer>(db, query)
      if (answers.length > 0) {
        progress.seenAtMs = sentAtMs
        return new Map(answers.flatMap(({ organizationId, heldNanoUsd }) => organizationId === null ? [] : [[organizationId, heldNanoUsd] as const]))
      }
      // Its number was taken by an earlier try whose answer was lost, or this process must be noticed (again) first.
      const presence = await present()
      if (presence.flushes > progress.flushes) return presence.held
    }
    throw new Error('a batch of the ledger did not get its turn')
  }

  async function write(rows: readonly LedgerRow[]): Promise<void> {
    for (const row of rows) row.charge()
    const written = rows.map(({ usage, costNanoUsd }) => ({ usage, costNanoUsd }))
    const query = makeFlush(processId, progress.flushes + 1, rows, [...told])
    told.clear()
    await keepTrying(() => inLane(async () => {
      noteHeld(await send(query), false)
      progress.flushes += 1
      rows.forEach((row, at) => noteWritten(row, written[at]!)) // as many as rows
    }))
  }

  /** Tries until it works, or until it is no use. */
  async function keepTrying<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let pauseMs = retryMsFirst; ; pauseMs = Math.min(pauseMs * 2, retryMsMax)) {
      try {
        return await work()
      } catch (error) {
        if (!mayWorkLater(error) || progress.draining) throw error
        log.warn({ reason: (error as Error).message }, 'the ledger of requests could not be written; trying again')
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  /** Writes rows; when one of them cannot be written, the others are. @returns whether all were. */
  async function writeMost(rows: readonly LedgerRow[]): Promise<boolean> {
    try {
      await write(rows)
      return true
    } catch (error) {
      if (!progress.draining && rows.length > 1) {
        const half = rows.length >> 1
        const front = await writeMost(rows.slice(0, half))
        return await writeMost(rows.slice(half)) && front
      }
      log.error({ err: error, requests: rows.map((row) => row.id) }, 'requests could not be written down')
      for (const row of rows) noteWritten(row, row) // given up: nobody waits for it any more
      return false
    }
  }

  async function flushAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)) // what ends in the same turn goes together
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      leaving = batch
      for (const row of batch.rows) row.batch = null
      if (await writeMost(batch.rows)) batch.settle()
      else batch.refuse(databaseAway())
      progress.waitingRows -= batch.rows.length
    }
    leaving = null
    flushing = null
  }

  return {
    processId,
    get trusted() {
      return performance.now() - progress.seenAtMs < trustedMs
    },
    get full() {
      return progress.waitingRows >= waitingRowsMax
    },
    push(row) {
      if (row.batch) return row.batch.done
      let batch = batches.at(-1)
      if (!batch || batch.rows.length >= batchRowsMax) batches.push((batch = newBatch()))
      batch.rows.push(row)
      row.batch = batch
      progress.waitingRows += 1
      flushing ??= flushAll()
      return batch.done
    },
    tell: (organizationId) => void told.add(organizationId),
    refuseLate() {
      const lateMs = performance.now() - waitMsMax
      for (const batch of [leaving, ...batches]) if (batch && batch.sinceMs < lateMs) batch.refuse(databaseAway())
    },
    inLane,
    checkIn: () => inLane(async () => noteHeld((await present()).held, true)),
    async drain() {
      progress.draining = true
      await flushing
      await lane
    },
  }
}

function noteWritten(row: LedgerRow, { usage, costNanoUsd }: Pick<LedgerRow, 'usage' | 'costNanoUsd'>): void {
  row.paid(costNanoUsd - (row.written?.costNanoUsd ?? 0))
  row.written = { usage, costNanoUsd }
}

function newBatch(): Batch {
  const { promise: done, resolve: settle, reject: refuse } = Promise.withResolvers<void>()
  done.catch(() => undefined) // also when nobody waits
  return { rows: [], done, settle, refuse, sinceMs: performance.now() }
}

/** Whether the fault is the moment's and not the statement's. */
function mayWorkLater(error: unknown): boolean {
  return isDatabaseAway(error) || isSqlState(error, sqlState.deadlock) || isSqlState(error, statementTimeout)
}

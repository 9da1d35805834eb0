/** Group commit for the ledger: while one batch is being written, everything that arrives forms the next one. */
import { log } from '#src/platform/log.ts'
import { databaseAway } from '#src/platform/postgres.ts'
import { noteWritten } from './ledger-writer.ts'
import type { LedgerRow } from './ledger.ts'

const batchRowsMax = 500
/**
 * Under load a batch collects rows, because a statement for twenty costs little more than one for a single row. It is
 * sent this long after the previous one, or as soon as it has as many rows as there are running requests. After a pause
 * it is sent immediately.
 */
const batchEveryMs = 2
/** With more rows waiting than this, new requests are refused: the database has been unreachable for too long. */
const waitingRowsMax = 20_000
/** How long the end of a request waits for the ledger; what could not be written in time is still written later. */
const waitMsMax = 10_000

type Batch = {
  rows: LedgerRow[]
  done: Promise<void>
  settle: () => void
  refuse: (error: Error) => void
  sinceMs: number
}

/** Writes batches, until it is told to give up. */
export type RowWriter = { write(rows: readonly LedgerRow[]): Promise<void>; giveUp(): void }

/** The queue of one process. */
export type LedgerQueue = {
  readonly full: boolean
  /**
   * Adds a row, unless it is already waiting. Resolves when the ledger has it as it was when its batch was sent.
   * @throws BerthError service_unavailable when that took too long.
   */
  push(row: LedgerRow): Promise<void>
  /** Rejects requests that have waited too long; their rows stay in the queue. Called periodically. */
  refuseLate(): void
  /** Resolves when nothing is waiting any more; while the database is unreachable, after one more try. */
  drain(): Promise<void>
}

/** Makes the queue of a process. `stillRunning` returns how many young requests have not ended yet. */
export function createLedgerQueue(writer: RowWriter, stillRunning: () => number): LedgerQueue {
  const batches: Batch[] = []
  const gathering = createGathering(stillRunning)
  let waitingRows = 0
  let draining = false
  let leaving: Batch | null = null
  let flushing: Promise<void> | null = null

  /** Writes rows; if one of them cannot be written, the others still are. @returns whether all were written. */
  async function writeMost(rows: readonly LedgerRow[]): Promise<boolean> {
    try {
      await writer.write(rows)
      return true
    } catch (error) {
      if (!draining && rows.length > 1) {
        const half = rows.length >> 1
        const front = await writeMost(rows.slice(0, half))
        return (await writeMost(rows.slice(half))) && front
      }
      log.error({ err: error, requests: rows.map((row) => row.id) }, 'requests could not be written to the ledger')
      for (const row of rows) noteWritten(row, row) // given up: nothing waits for it any more
      return false
    }
  }

  async function flushAll(): Promise<void> {
    while (batches.length > 0) {
      await gathering.wait(draining ? batchRowsMax : (batches[0]?.rows.length ?? 0))
      const batch = batches.shift()
      if (!batch) break
      leaving = batch
      for (const row of batch.rows) row.batch = null
      if (await writeMost(batch.rows)) batch.settle()
      else batch.refuse(databaseAway())
      waitingRows -= batch.rows.length
    }
    leaving = null
    flushing = null
  }

  return {
    get full() {
      return waitingRows >= waitingRowsMax
    },
    push(row) {
      if (row.batch) return row.batch.done
      let batch = batches.at(-1)
      if (!batch || batch.rows.length >= batchRowsMax) batches.push((batch = newBatch()))
      batch.rows.push(row)
      row.batch = batch
      waitingRows += 1
      flushing ??= flushAll()
      gathering.grew(batch.rows.length)
      return batch.done
    },
    refuseLate() {
      const lateMs = performance.now() - waitMsMax
      for (const batch of [leaving, ...batches]) if (batch && batch.sinceMs < lateMs) batch.refuse(databaseAway())
    },
    async drain() {
      draining = true
      writer.giveUp()
      await flushing
    },
  }
}

/** Decides when the next batch is sent. */
function createGathering(stillRunning: () => number): {
  wait: (rows: number) => Promise<void>
  grew: (rows: number) => void
} {
  let leftAtMs = -Infinity
  let leave: (() => void) | null = null
  return {
    async wait(rows) {
      const waitMs = batchEveryMs - (performance.now() - leftAtMs)
      await new Promise<void>((resolve) => {
        if (waitMs <= 0 || rows >= stillRunning()) return void setImmediate(resolve) // requests that end in the same tick go together
        leave = resolve
        setTimeout(resolve, waitMs)
      })
      leave = null
      leftAtMs = performance.now()
    },
    grew(rows) {
      if (leave && rows >= stillRunning()) leave()
    },
  }
}

function newBatch(): Batch {
  const { promise: done, resolve: settle, reject: refuse } = Promise.withResolvers<void>()
  done.catch(() => undefined) // also when nothing waits for it
  return { rows: [], done, settle, refuse, sinceMs: performance.now() }
}

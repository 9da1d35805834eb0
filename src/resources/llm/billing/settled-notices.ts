/**
 * When those who follow an organization's requests are told that more were settled: with the batch that settles them, or,
 * when they were told just now, at the next sweep. Never before the ledger has the rows: who reads then finds nothing new,
 * and is not told again.
 */
import { log } from '#src/platform/log.ts'
import type { Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { requestsTopic, type LedgerRow } from './ledger.ts'

/** What one process owes those who follow. */
export type SettledNotices = {
  /** The organizations of these rows that are told with their batch; it may leave now. */
  takeDue(rows: readonly LedgerRow[]): readonly string[]
  /** The ledger has these rows, and these organizations were told with them: the others of them are told by the next sweep. */
  written(settled: ReadonlySet<string>, told: readonly string[]): void
  /** Tells whoever is waiting to be told; from now on everybody may be told with a batch again. Called now and then. */
  sweep(): void
}

/** The organizations that have a settled request among these rows. */
export function settledIn(rows: readonly LedgerRow[]): Set<string> {
  return new Set(rows.filter(({ status }) => status !== 'open').map(({ payer }) => payer.organizationId))
}

/** Makes them. */
export function createSettledNotices(db: Db): SettledNotices {
  const toldLately = new Set<string>()
  const untold = new Set<string>()
  return {
    takeDue(rows) {
      const due = [...settledIn(rows)].filter((organizationId) => !toldLately.has(organizationId))
      for (const organizationId of due) toldLately.add(organizationId)
      return due
    },
    written(settled, told) {
      for (const organizationId of settled) if (!told.includes(organizationId)) untold.add(organizationId)
    },
    sweep() {
      for (const organizationId of untold)
        publish(db, requestsTopic, organizationId).catch((error: Error) => {
          untold.add(organizationId)
          log.debug({ reason: error.message }, 'a notice of requests was not sent; the next sweep sends it')
        })
      untold.clear()
      toldLately.clear()
    },
  }
}

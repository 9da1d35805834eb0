/**
 * When subscribers of an organization's requests are notified of settled ones: with the batch that settles them, or, if
 * they were notified just before, at the next sweep. Never before the ledger has the rows: a subscriber that reads too
 * early would find nothing and not be notified again.
 */
import type { Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { LedgerWriter } from './ledger-writer.ts'
import { requestsTopic, type LedgerRow } from './ledger.ts'

/** Writes one process's rows to the ledger, and notifies subscribers. */
export type SettledNotices = {
  /** Writes rows as they are now, and notifies the subscribers that are due. @throws as the writer does. */
  write(rows: readonly LedgerRow[]): Promise<void>
  /** Sends pending notices; from now on notices may be sent with batches again. Called periodically. */
  sweep(): void
}

/** Makes the notices of a process. */
export function createSettledNotices(db: Db, writer: Pick<LedgerWriter, 'write'>): SettledNotices {
  const notifiedLately = new Set<string>()
  const pending = new Set<string>()
  return {
    async write(rows) {
      const settled = rows.filter(({ status }) => status !== 'open').map(({ payer }) => payer.organizationId)
      const [due, later] = [new Set<string>(), new Set<string>()]
      for (const organizationId of settled) (notifiedLately.has(organizationId) ? later : due).add(organizationId)
      for (const organizationId of due) notifiedLately.add(organizationId)
      await writer.write(rows)
      for (const organizationId of due) publish(db, requestsTopic, organizationId)
      for (const organizationId of later) pending.add(organizationId)
    },
    sweep() {
      for (const organizationId of pending) publish(db, requestsTopic, organizationId)
      pending.clear()
      notifiedLately.clear()
    },
  }
}

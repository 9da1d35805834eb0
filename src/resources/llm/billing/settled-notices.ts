/**
 * When those who follow an organization's requests are told that more were settled: with the batch that settles them, or,
 * when they were told just now, at the next sweep. Never before the ledger has the rows: who reads then finds nothing new,
 * and is not told again.
 */
import { log } from '#src/platform/log.ts'
import type { Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { LedgerWriter } from './ledger-writer.ts'
import { requestsTopic, type LedgerRow } from './ledger.ts'

/** The way of one process's rows into the ledger, and to those who follow. */
export type SettledNotices = {
  /** Writes rows as they are now, and tells those who are due with them. @throws as the writer does. */
  write(rows: readonly LedgerRow[]): Promise<void>
  /** Tells whoever is waiting to be told; from now on everybody may be told with a batch again. Called now and then. */
  sweep(): void
}

/** Makes them. */
export function createSettledNotices(db: Db, writer: Pick<LedgerWriter, 'write'>): SettledNotices {
  const toldLately = new Set<string>()
  const untold = new Set<string>()
  return {
    async write(rows) {
      const settled = rows.filter(({ status }) => status !== 'open').map(({ payer }) => payer.organizationId)
      const [due, later] = [new Set<string>(), new Set<string>()]
      for (const organizationId of settled) (toldLately.has(organizationId) ? later : due).add(organizationId)
      for (const organizationId of due) toldLately.add(organizationId)
      await writer.write(rows, [...due])
      for (const organizationId of later) untold.add(organizationId)
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

/** Housekeeping that changes many rows: a batch at a time, so that no statement takes long or locks many of them. */
import { change, type Db } from '#src/platform/postgres.ts'

/** The most batches of one sweep; the next one changes what is left. */
const batchesMax = 1_000

/**
 * Runs a statement again and again, until it changes fewer rows than it may at once.
 * @param statement changes or deletes `batchMax` rows at most, and does not find them again.
 */
export async function changeInBatches(
  db: Db,
  batchMax: number,
  statement: Parameters<typeof change>[1],
): Promise<void> {
  for (let batch = 0; batch < batchesMax; batch++) if ((await change(db, statement)) < batchMax) return
}

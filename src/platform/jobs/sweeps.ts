/**
 * Deleting what is stored outside the database and has a row in it: in batches, where a failure does not stop the
 * others.
 */
import { log } from '#src/platform/log.ts'

const batchMax = 100
const batchesMax = 100

/**
 * Clears every row that is found, at most 10,000. One that cannot be cleared now is found again by the next sweep.
 * @param find returns the next rows, at most so many, except these ids (UUIDs); a cleared row is not found again.
 * @param clear must leave the row findable when it throws.
 */
export async function sweep<Row extends { id: string }>(
  what: string,
  find: (batchMax: number, stuckIds: readonly string[]) => Promise<Row[]>,
  clear: (row: Row) => Promise<void>,
): Promise<void> {
  const stuckIds: string[] = []
  for (let batch = 0; batch < batchesMax; batch++) {
    const rows = await find(batchMax, stuckIds)
    for (const row of rows) {
      await clear(row).catch((error: unknown) => {
        log.warn({ err: error, id: row.id }, `${what} was not cleared away; it is tried again`)
        stuckIds.push(row.id)
      })
    }
    if (rows.length < batchMax) return
  }
}

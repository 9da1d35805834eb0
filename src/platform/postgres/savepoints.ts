/** Parts of a transaction that may be taken back while the rest of it goes on. */
import { change, noticesSince, sql, type Tx } from '#src/platform/postgres.ts'

/**
 * Does something in a transaction and takes it back unless `isKept` says that its result is to be kept. Savepoints may be
 * inside others.
 * @throws what `work` throws: then the whole transaction must end.
 */
export async function inSavepoint<Result>(
  tx: Tx,
  isKept: (result: Result) => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  await change(tx, sql`savepoint attempt`)
  const notices = noticesSince(tx)
  const result = await work()
  if (!isKept(result)) {
    await change(tx, sql`rollback to savepoint attempt`)
    notices.takeBack()
  }
  await change(tx, sql`release savepoint attempt`)
  return result
}

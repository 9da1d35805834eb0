/** A restore's row, and its queries. */
import { job } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** A restore that is pending or running still leads to one of the others. */
export type RestoreStatus = 'pending' | 'running' | 'completed' | 'failed'

/** What a restore does: a backup of the data as they are, loading beside them, and replacing them by what was loaded. */
export type RestoreStep = 'backup' | 'load' | 'swap' | 'finished'

/** A restore as it is stored; times are RFC 3339 text, ids are uuids. */
export type Restore = Row<'database_restores', { status: RestoreStatus; step: RestoreStep }>

/** What happened to a restore: positions grow by one and resume a subscription. */
export type RestoreEvent = Row<'database_restore_events', { status: RestoreStatus; step: RestoreStep }>

/** Does one restore, or tidies up after it. Runs on the node of the database's VM. */
export const runRestore = job<{ restoreId: string }>('database-restores-run', {
  retryLimit: 20,
  expireInSeconds: limits.restoreSeconds + 600,
})

/** Restores as they are found. */
export const restoreRows = rowsOf<Restore>('restore', 'database_restores', 'restore')

/** The restore, whoever owns it: for workers. */
export async function findRestoreRow(db: Db, id: string): Promise<Restore | undefined> {
  return findOne<Restore>(db, sql`select * from database_restores where id = ${id}`)
}

/** The name under which a restore loads the data, beside the database itself. */
export function loadedName({ number }: Pick<Restore, 'number'>, pgDatabase: string): string {
  return `${pgDatabase}_restore_${number}`
}

/** The name under which it keeps the data that it replaced. */
export function replacedName({ number }: Pick<Restore, 'number'>, pgDatabase: string): string {
  return `${pgDatabase}_old_${number}`
}

/** A file's row, and its queries: only its owner finds it. */
import type { RawBuilder } from 'kysely'
import { ownedByCaller, type Reach, type Scope } from '#src/platform/access.ts'
import { encodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** A file that is stored; times are RFC 3339 text, ids are uuids. */
export type StoredFile = Row<
  'files',
  { filename: string; mimeType: string; sizeBytes: number; sha256: string; storedAt: string }
>

/** Files as they are found. */
export const fileRows = rowsOf<StoredFile>('file', 'files', 'file')

/** The condition for files that are there: complete, neither deleted nor expired. */
export const isThere: RawBuilder<boolean> = sql<boolean>`stored_at is not null and deleted_at is null and (expires_at is null or expires_at > now())`

/** The condition for the caller's files that are there. */
export function theirFiles(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`${ownedByCaller(scope)} and ${isThere}`
}

/** The caller's file. @throws BerthError not_found. */
export async function readFile(db: Db, scope: Scope, publicId: string, lock = sql``): Promise<StoredFile> {
  return fileRows.read(db, publicId, theirFiles(scope), lock)
}

/** A file's key in the object store. */
export function fileKey({ organizationId, id }: Pick<StoredFile, 'organizationId' | 'id'>): string {
  return `agents/${encodeId('organization', organizationId)}/${encodeId('file', id)}`
}

/** Files of the agents service: a person's, for messages, and for the VMs of their sessions. */
import type { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { readsOf } from '#src/platform/nouns.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Searched } from '#src/platform/shapes/text-filters.ts'
import { useFinishedUpload } from '#src/resources/infra/uploads.ts'
import { agentFileLimits } from './files/limits.ts'
import { discardFile, readFacts, receiveFile } from './files/receiving.ts'
import { fileKey, fileRows, readFile, theirFiles, type StoredFile } from './files/rows.ts'

/** Which files a list shows. */
export type FileFilter = { ids?: readonly string[] | null }

/** How files are found. */
export const fileSearch: Searched = {
  type: 'File',
  may: 'files:read',
  table: 'files',
  title: sql`filename`,
  whose: theirFiles,
}

/** How callers read files; `page` refuses too many ids with invalid_request. */
export const fileReads = readsOf<StoredFile, FileFilter>(fileRows, {
  may: 'files:read',
  whose: theirFiles,
  listed: ({ ids }) => {
    const named = ids ? [...new Set(ids)] : null
    if (named && named.length > agentFileLimits.idsMax)
      throw new BerthError('invalid_request', `ids may name at most ${agentFileLimits.idsMax} files.`, { field: 'ids' })
    const known = named?.flatMap((id) => decodeId('file', id) ?? []) ?? null
    return sql`(${known}::uuid[] is null or id = any(${known}::uuid[]))`
  },
})

/** What a file is made from: an upload's `binaryUrl`. */
export type FileInput = {
  binaryUrl: string
  filename?: string | null
  mimeType?: string | null
  expiresInSeconds?: number | null
}

/**
 * Makes a file from an upload of the organization, which stays as it is.
 * @throws BerthError invalid_request; as receiveFile.
 */
export async function createFile(call: Call, input: FileInput): Promise<StoredFile> {
  const { organizationId } = allow(call.caller, 'files:write')
  const { filename = null, mimeType: mediaType = null, expiresInSeconds = null } = input
  const facts = readFacts({ filename, mediaType, expiresInSeconds }) // before anything is copied
  const { key, sizeBytes } = await useFinishedUpload(call, organizationId, input.binaryUrl, 'the file')
  return receiveFile(call, sizeBytes, async (store) => {
    await store(await objectStore(call).read(key))
    return facts
  })
}

/** A file and its bytes. @throws BerthError not_found. */
export async function openFile(
  call: Call,
  publicId: string,
  headOnly: boolean,
): Promise<{ file: StoredFile; body: Readable | null }> {
  const file = await readFile(call.db, allow(call.caller, 'files:read'), publicId)
  return { file, body: headOnly ? null : await objectStore(call).read(fileKey(file)) }
}

/** Deletes a file. Once this returns nobody finds it; its bytes are removed at once, or by housekeeping. @throws BerthError not_found. */
export async function deleteFile(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'files:write')
  const file = await transaction(call.db, async (tx) => {
    const found = await readFile(tx, scope, publicId, sql`for update`)
    await change(tx, sql`update files set deleted_at = now() where id = ${found.id}`)
    return found
  })
  await discardFile(call, file).catch((error: Error) =>
    log.warn({ reason: error.message }, 'a deleted file’s bytes are removed later'),
  )
}

/**
 * Storing a file: room is reserved before its first byte, under a lease that its process renews, and callers see it once
 * all of it is in the object store.
 */
import type { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import type { StoredObject } from '#src/drivers/objects/store.ts'
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { change, findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { reserveFileRoom } from '#src/resources/infra/file-room.ts'
import { agentFileLimits } from './limits.ts'
import { mediaTypeOf, readFileName, readMediaType, sniffedBytes, unnamed } from './names.ts'
import { fileKey, isThere, type StoredFile } from './rows.ts'

/** What is said about a file beside its bytes; null for what is not said. */
export type FileFacts = { filename: string | null; mediaType: string | null; expiresInSeconds: number | null }

type Draft = Pick<StoredFile, 'id' | 'organizationId'>
type Stores = Pick<Background, 'config' | 'db' | 'sealer'>

const renewMs = (agentFileLimits.leaseSeconds * 1000) / 3

/**
 * Stores one file.
 * @param bytesMax how much may arrive.
 * @param receive is given what stores the bytes, calls it once, and returns what else was said.
 * @throws BerthError invalid_request, rate_limited, capacity_unavailable, request_too_large, timeout; whatever `receive`
 * throws. Nothing is kept then.
 */
export async function receiveFile(
  call: Call,
  bytesMax: number,
  receive: (store: (body: Readable) => Promise<void>) => Promise<FileFacts>,
): Promise<StoredFile> {
  return receiveFileOf(call, allow(call.caller, 'files:write'), bytesMax, receive)
}

/** The same for Berth itself, on behalf of a person. */
export async function receiveFileOf(
  call: Stores,
  owner: Pick<Scope, 'organizationId' | 'userId'>,
  bytesMax: number,
  receive: (store: (body: Readable) => Promise<void>) => Promise<FileFacts>,
): Promise<StoredFile> {
  const draft: Draft = { id: newUuid(), organizationId: owner.organizationId }
  await begin(call, owner, draft.id, Math.min(bytesMax, agentFileLimits.bytes))
  const renewal = setInterval(() => {
    change(
      call.db,
      sql`update files set writing_until = now() + ${agentFileLimits.leaseSeconds} * interval '1 second' where id = ${draft.id}`,
    ).catch((error: Error) => log.warn({ reason: error.message }, 'the lease of a file could not be renewed'))
  }, renewMs)
  try {
    let stored: StoredObject | undefined
    const facts = await receive(async (body) => {
      stored = await objectStore(call).put(fileKey(draft), body, agentFileLimits.bytes, {
        stalledSeconds: limits.uploadStalledSeconds,
        bytesPerSecondMin: limits.uploadBytesPerSecondMin,
      })
    })
    if (!stored) throw new Error('a file was received that was not stored')
    return await finish(call, draft, stored, facts)
  } catch (error) {
    await discardFile(call, draft).catch((failure: Error) =>
      log.warn({ reason: failure.message }, 'a file that was not complete is removed later'),
    )
    throw error
  } finally {
    clearInterval(renewal)
  }
}

/** Reserves room, and says that a file arrives. */
async function begin(
  { config, db }: Stores,
  { organizationId, userId }: Pick<Scope, 'organizationId' | 'userId'>,
  id: string,
  bytesMax: number,
): Promise<void> {
  await transaction(db, async (tx) => {
    await reserveFileRoom(config, tx, organizationId, bytesMax)
    await checkCount(tx, organizationId, { table: 'files', most: agentFileLimits.filesMax })
    await change(
      tx,
      sql`
      insert into files (id, organization_id, owner_user_id, reserved_bytes, writing_until)
      values (${id}, ${organizationId}, ${userId}, ${bytesMax}, now() + ${agentFileLimits.leaseSeconds} * interval '1 second')`,
    )
  })
}

async function finish(
  call: Stores,
  draft: Draft,
  { sizeBytes, sha256 }: StoredObject,
  facts: FileFacts,
): Promise<StoredFile> {
  const { filename: name, mediaType: declared, expiresInSeconds } = readFacts(facts)
  const mediaType = mediaTypeOf(declared, name, await beginningOf(call, draft, sizeBytes))
  const file = await findOne<StoredFile>(
    call.db,
    sql`
    update files set filename = ${name ?? unnamed(mediaType)}, mime_type = ${mediaType}, size_bytes = ${sizeBytes}, sha256 = ${sha256}, stored_at = now(),
      expires_at = now() + ${expiresInSeconds}::int * interval '1 second', reserved_bytes = 0, writing_until = null
    where id = ${draft.id} and stored_at is null and deleted_at is null returning *`,
  )
  if (!file) throw new BerthError('timeout', 'This upload took too long, so it was ended. Send the file again.')
  return file
}

/** Keeps a file for so long from now on, in the transaction that makes use of it. @returns whether it is still there. */
export async function keepFile(tx: Tx, id: string, seconds: number): Promise<boolean> {
  const kept = await change(
    tx,
    sql`update files set expires_at = now() + ${seconds} * interval '1 second' where id = ${id} and ${isThere}`,
  )
  return kept > 0
}

/** What is said about a file, checked, and as it is kept. @throws BerthError invalid_request. */
export function readFacts({ filename, mediaType, expiresInSeconds }: FileFacts): FileFacts {
  return {
    filename: readFileName(filename),
    mediaType: readMediaType(mediaType),
    expiresInSeconds: readExpiry(expiresInSeconds),
  }
}

/** The seconds until a file expires; null for never. */
function readExpiry(seconds: number | null): number | null {
  const { expirySecondsMin, expirySecondsMax } = agentFileLimits
  if (seconds === null) return null
  if (Number.isInteger(seconds) && seconds >= expirySecondsMin && seconds <= expirySecondsMax) return seconds
  throw new BerthError(
    'invalid_request',
    `expires_in_seconds must be a whole number from ${expirySecondsMin} (an hour) to ${expirySecondsMax} (90 days). Leave it out for a file that does not expire.`,
    { field: 'expires_in_seconds' },
  )
}

async function beginningOf(call: Stores, draft: Draft, sizeBytes: number): Promise<Buffer> {
  if (sizeBytes === 0) return Buffer.alloc(0)
  const range = { startByte: 0, endByte: Math.min(sizeBytes, sniffedBytes) - 1 }
  const pieces: Buffer[] = []
  for await (const piece of await objectStore(call).read(fileKey(draft), range)) pieces.push(piece as Buffer) // of a stream of bytes
  return Buffer.concat(pieces)
}

/** Removes a file: its bytes first, so that the row is there for as long as they may be. Idempotent. */
export async function discardFile(services: Stores, file: Draft): Promise<void> {
  await change(
    services.db,
    sql`update files set deleted_at = coalesce(deleted_at, now()), reserved_bytes = 0 where id = ${file.id}`,
  )
  await objectStore(services).remove(fileKey(file))
  await change(services.db, sql`delete from files where id = ${file.id} and deleted_at is not null`)
}

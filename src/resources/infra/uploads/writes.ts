/**
 * A PUT to an upload's URL: one at a time for each upload, under a lease that ends with its process, with room reserved
 * before the first byte.
 */
import type { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { isDeadProcess, processName } from '#src/platform/locks/process-marks.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { reserveFileRoom } from '#src/resources/infra/file-room.ts'

type Stores = Pick<Background, 'config' | 'db' | 'sealer'>

const leaseSeconds = 30
const renewMs = 10_000

/**
 * Stores what was sent to a signed URL.
 * @param lengthBytes the request's Content-Length; null when there is none.
 * @returns the file's digest in hexadecimal digits.
 * @throws BerthError not_found, invalid_transition while another PUT is in progress, rate_limited,
 * capacity_unavailable, request_too_large.
 */
export async function writeUpload(
  services: Stores,
  key: string,
  body: Readable,
  lengthBytes: number | null,
): Promise<string> {
  const { db } = services
  const [, organization = '', upload = ''] = /^compute\/([^/]+)\/([^/]+)$/.exec(key) ?? []
  const [organizationId, id] = [decodeId('organization', organization), decodeId('upload', upload)]
  if (!organizationId || !id) throw notFound('upload')
  const bytesMax = Math.min(lengthBytes ?? limits.uploadBytes, limits.uploadBytes)
  const writer = `${processName}/${newUuid()}`
  await takeLease(services, { id, organizationId, writer, bytesMax })
  const renewal = setInterval(() => {
    change(
      db,
      sql`update uploads set writing_until = now() + ${leaseSeconds} * interval '1 second' where id = ${id} and writer = ${writer}`,
    ).catch((error: Error) => log.warn({ reason: error.message }, 'the lease of an upload could not be renewed'))
  }, renewMs)
  try {
    const { sha256, sizeBytes } = await objectStore(services).put(key, body, bytesMax, {
      stalledSeconds: limits.uploadStalledSeconds,
      bytesPerSecondMin: limits.uploadBytesPerSecondMin,
    })
    await change(db, sql`update uploads set size_bytes = ${sizeBytes}, checked_at = now() where id = ${id}`)
    return sha256
  } finally {
    clearInterval(renewal)
    await release(db, writer).catch((error: Error) =>
      log.warn({ reason: error.message }, 'the lease of an upload could not be released; it expires by itself'),
    )
  }
}

/** @throws BerthError as writeUpload. */
async function takeLease(
  { config, db }: Stores,
  { id, organizationId, writer, bytesMax }: { id: string; organizationId: string; writer: string; bytesMax: number },
): Promise<void> {
  await transaction(db, async (tx) => {
    const upload = await findOne<{ busy: boolean }>(
      tx,
      sql`select writer is not null and writing_until > now() as busy from uploads where id = ${id} and organization_id = ${organizationId} for no key update`,
    )
    if (!upload) throw notFound('upload')
    if (upload.busy)
      throw new BerthError(
        'invalid_transition',
        'Another PUT to this URL is in progress. Wait until it has ended, or create another upload.',
        { retryAfterSeconds: leaseSeconds },
      )
    await reserveFileRoom(config, tx, organizationId, bytesMax)
    await change(
      tx,
      sql`update uploads set writer = ${writer}, writing_until = now() + ${leaseSeconds} * interval '1 second', reserved_bytes = ${bytesMax} where id = ${id}`,
    )
  })
}

async function release(db: Db, writer: string): Promise<void> {
  await change(
    db,
    sql`update uploads set writer = null, writing_until = null, reserved_bytes = 0 where writer = ${writer}`,
  )
}

/**
 * Releases what dead processes of this host were uploading: their leases, and the bytes on disk. Called when a process
 * starts.
 */
export async function clearDeadWrites({ config, db, sealer }: Stores): Promise<void> {
  objectStore({ config, sealer }).clear()
  const writers = await findAll<Pick<Row<'uploads', { writer: string }>, 'writer'>>(
    db,
    sql`select writer from uploads where writer is not null limit 1000`,
  )
  for (const { writer } of writers) if (isDeadProcess(writer.split('/')[0] ?? '')) await release(db, writer)
}

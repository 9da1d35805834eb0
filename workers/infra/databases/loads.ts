/** Loading a backup into an empty database, beside any other: for restores, and to find out whether a backup is good. */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { complaintOf, freeDataBytes, loadDump } from '#src/drivers/compute/guest/postgres-copies.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { limits } from '#src/platform/limits.ts'
import { startSha256 } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { findBackupRoles } from '#src/resources/infra/database-backups/roles.ts'
import { backupKey, type Backup } from '#src/resources/infra/database-backups/rows.ts'
import { forgetSource, handOver, prepareLoad } from '#src/resources/infra/database-restores/server-sql.ts'
import { databaseSetup } from '#src/resources/infra/databases/setup.ts'
import { runEach, runStatements } from './statements.ts'
import { WorkEnded } from './work.ts'

/** What a loaded database may take beyond its size when it was dumped: indexes are built anew, and the log of writes grows. */
const spareBytes = 64 * 1024 * 1024

/** What is loaded, into which new database, whose objects it holds, and whose they become. */
export type LoadOrder = { backup: Backup; loaded: string; sourceUser: string; targetUser: string }

/**
 * Makes the database and loads the backup into it. May be repeated: what an earlier attempt left is dropped.
 * @throws WorkEnded with the reason when that fails; what the store or the machine throws.
 */
export async function loadBackup(
  services: Background,
  machine: Machine,
  { backup, loaded, sourceUser, targetUser }: LoadOrder,
  onBytes: (bytes: number) => void,
  over: AbortSignal,
): Promise<void> {
  const load = { loaded, sourceUser, targetUser, roles: await findBackupRoles(services, backup.id) }
  await runEach(machine, prepareLoad(load))
  await checkRoom(machine, backup)
  await runStatements(machine, databaseSetup({ pgUser: sourceUser }), loaded)
  over.throwIfAborted()
  await fill(services, machine, backup, load, onBytes, over)
  await runStatements(machine, `${handOver(load)}${databaseSetup({ pgUser: targetUser })}`, loaded)
  await runEach(machine, forgetSource(load))
}

/** A data disk that is full would stop the whole server, the live data with it. */
async function checkRoom(machine: Machine, { databaseBytes }: Backup): Promise<void> {
  const neededBytes = (databaseBytes ?? 0) + spareBytes
  const freeBytes = await freeDataBytes(machine)
  if (freeBytes >= neededBytes) return
  throw new WorkEnded(
    `The data is restored beside what is there, which takes about ${mib(neededBytes)} MiB of the database’s disk, and ${mib(freeBytes)} MiB are free. Make the disk larger (diskMb of updateDatabase), then restore again.`,
  )
}

async function fill(
  services: Background,
  machine: Machine,
  backup: Backup,
  { loaded, sourceUser }: { loaded: string; sourceUser: string },
  onBytes: (bytes: number) => void,
  over: AbortSignal,
): Promise<void> {
  const body = await objectStore(services).read(backupKey(backup))
  const channel = await loadDump(machine, {
    database: loaded,
    role: sourceUser,
    timeoutMs: limits.restoreSeconds * 1000,
    signal: over,
  })
  const stop = (): void => channel.close()
  over.addEventListener('abort', stop, { once: true })
  const complaint = complaintOf(channel)
  channel.stdout.resume()
  const digest = startSha256()
  try {
    const sent = pipeline(counted(body, digest, onBytes), channel.stdin, { signal: over })
    sent.catch(() => undefined) // a program that ended early says why by its exit
    const { exitCode } = await channel.exit
    over.throwIfAborted()
    if (exitCode !== 0)
      throw new WorkEnded(`The backup could not be loaded: ${complaint.text() || `pg_restore ended with ${exitCode}`}`)
    await sent
  } finally {
    over.removeEventListener('abort', stop)
    body.destroy()
    channel.close()
  }
  if (digest.hex() !== backup.sha256)
    throw new WorkEnded(
      'The file of the backup is not what was written. Use another backup, and ask your operator to look at the object store.',
    )
}

async function* counted(
  body: Readable,
  digest: ReturnType<typeof startSha256>,
  onBytes: (bytes: number) => void,
): AsyncIterableIterator<Buffer> {
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    digest.update(piece)
    onBytes((bytes += piece.length))
    yield piece
  }
}

function mib(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024)
}

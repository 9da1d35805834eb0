/** The dump of a database: from its guest straight into the object store, measured on the way and read back. */
import { Readable } from 'node:stream'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { complaintOf, dumpDatabase, type Complaint } from '#src/drivers/compute/guest/postgres-copies.ts'
import { runSql } from '#src/drivers/compute/guest/postgres.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { startSha256 } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { backupKey, type Backup } from '#src/resources/infra/database-backups/rows.ts'
import { storeBackupRoles } from '#src/resources/infra/database-backups/roles.ts'
import type { StoredDump } from '#src/resources/infra/database-backups/states.ts'
import { describeServer, ownSchemas } from '#src/resources/infra/database-restores/server-sql.ts'
import { databaseRoleLimits } from '#src/resources/infra/databases/limits.ts'
import { areTooManyRoles, askForRoles, readRoles, type OwnersRole } from '#src/resources/infra/databases/roles.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { fileBytesLeft } from '#src/resources/infra/file-room.ts'
import { WorkEnded } from './work.ts'

const questionMs = 60_000

/** How far a dump is; read by the heartbeat. */
export type DumpProgress = { storedBytes: number; databaseBytes: number | null }

/**
 * Dumps the database into the backup's file.
 * @throws WorkEnded with the reason when that fails; what the store or the machine throws.
 */
export async function storeDump(
  services: Background,
  machine: Machine,
  { backup, database }: { backup: Backup; database: Database },
  progress: DumpProgress,
  over: AbortSignal,
): Promise<StoredDump> {
  const name = database.pgDatabase
  const [pgVersion = '', bytes = ''] = (
    await runSql(machine, { database: 'postgres', sql: describeServer(name), timeoutMs: questionMs })
  )
    .trim()
    .split('|')
  progress.databaseBytes = Number(bytes)
  const roles = await rolesOf(machine, name)
  const leftBytes = await fileBytesLeft(services, backup.organizationId)
  over.throwIfAborted()
  const key = backupKey(backup)
  const channel = await dumpDatabase(machine, {
    database: name,
    withoutSchemas: ownSchemas,
    timeoutMs: limits.backupSeconds * 1000,
    signal: over,
  })
  const stop = (): void => {
    channel.close()
    channel.stdout.destroy()
  }
  over.addEventListener('abort', stop, { once: true })
  const complaint = complaintOf(channel)
  try {
    const body = Readable.from(measured(channel, complaint, progress, over), { objectMode: false })
    const { sizeBytes, sha256 } = await objectStore(services).put(key, body, Math.min(limits.backupBytes, leftBytes))
    over.throwIfAborted()
    if ((await readBack(services, key)) !== sha256)
      throw new WorkEnded('What the object store gives back is not what was written. Ask your operator to look at it.')
    // Those that were made meanwhile, too: what the dump grants to any of them needs it.
    const later = await rolesOf(machine, name)
    const gone = roles.filter((role) => !later.some((one) => one.name === role.name))
    await storeBackupRoles(services, backup.id, [...later, ...gone])
    return { sizeBytes, sha256, pgVersion }
  } catch (error) {
    if (error instanceof BerthError && error.code === 'request_too_large') throw tooLarge(leftBytes)
    throw error
  } finally {
    over.removeEventListener('abort', stop)
    channel.close()
  }
}

async function rolesOf(machine: Machine, pgDatabase: string): Promise<OwnersRole[]> {
  const sql = askForRoles(pgDatabase)
  const roles = readRoles(await runSql(machine, { database: 'postgres', sql, timeoutMs: questionMs }))
  if (!areTooManyRoles(roles)) return roles
  throw new WorkEnded(
    `A backup has at most ${databaseRoleLimits.databaseRolesMax} roles and ${databaseRoleLimits.databaseRolesBytes / 1024} KiB of what is said of them. Drop those that nobody needs, then make another one.`,
  )
}

/** The dump's bytes; ends with an error unless the dump is complete, because the store keeps what ends well. */
async function* measured(
  channel: Awaited<ReturnType<typeof dumpDatabase>>,
  complaint: Complaint,
  progress: DumpProgress,
  over: AbortSignal,
): AsyncIterableIterator<Buffer> {
  for await (const piece of channel.stdout as AsyncIterable<Buffer>) {
    progress.storedBytes += piece.length
    yield piece
  }
  over.throwIfAborted()
  const { exitCode, timedOut } = await channel.exit
  if (exitCode === 0) return
  throw new WorkEnded(
    timedOut ? 'The dump took too long.' : `The dump failed: ${complaint.text() || `pg_dump ended with ${exitCode}`}`,
  )
}

/** The digest of a file as the store gives it back, in hexadecimal digits. */
async function readBack(services: Background, key: string): Promise<string> {
  const digest = startSha256()
  for await (const piece of await objectStore(services).read(key)) digest.update(piece as Buffer)
  return digest.hex()
}

function tooLarge(leftBytes: number): WorkEnded {
  return new WorkEnded(
    leftBytes < limits.backupBytes
      ? 'Your organization’s files take all the room that they may. Delete backups that nobody needs; the operator can raise BERTH_ORG_FILES_GB.'
      : `The dump is larger than ${limits.backupBytes / 1024 ** 3} GiB, which is the limit.`,
  )
}

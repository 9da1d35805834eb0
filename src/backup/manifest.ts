/** The manifest of a backup: its first entry, checked before anything else is used. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { migrationNames } from '#src/platform/migrate.ts'
import { createSealer, type Sealer } from '#src/platform/secrets.ts'
import { BackupError } from './backup-error.ts'

/** The name of the manifest's entry. */
export const manifestName = 'manifest.json'

const partition = z.object({ name: z.string(), parent: z.string(), bounds: z.string() })
const shape = z.object({
  format: z.literal('berth.backup/1'),
  createdAt: z.string(),
  /** The migrations of its database, oldest first. */
  migrations: z.array(z.string()).max(10_000),
  /** A value that can only be derived from the sealing key of its secrets. */
  keyProof: z.string(),
  /** `folder` when uploads and outputs are in the backup, `s3` when they stay at their service. */
  objects: z.enum(['folder', 's3']),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })).max(10_000),
  partitions: z.array(partition).max(100_000),
  sequences: z.array(z.object({ name: z.string(), value: z.string() })).max(10_000),
})

/** A manifest. */
export type Manifest = z.infer<typeof shape>

/** The value derived from a sealing key, by which a restore recognizes the same key. */
export function keyProof(sealer: Sealer): string {
  return sealer.derive('the key of a backup')
}

/**
 * Reads the manifest of an unpacked backup, and checks that this Berth can restore it.
 * @throws BackupError for another format, or a newer Berth's.
 */
export function readManifest(folder: string): Manifest {
  const file = join(folder, manifestName)
  const outcome = existsSync(file) ? shape.safeParse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
  if (!outcome?.success) throw new BackupError('This file is not a backup that this version of Berth can read.')
  const known = migrationNames()
  const isOlderOrSame = outcome.data.migrations.every((name, at) => known[at] === name)
  if (!isOlderOrSame)
    throw new BackupError(
      'This backup was made by a newer Berth. Install that version, restore there, or update this one first.',
    )
  return outcome.data
}

/**
 * Checks that the key opens the secrets of the backup: the setting's key, otherwise the one in the backup.
 * @throws BackupError when it does not, or there is none.
 */
export function checkKey(manifest: Manifest, secretKey: string | null, folder: string): void {
  const file = join(folder, 'secret.key')
  const key = secretKey ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)
  if (key === null)
    throw new BackupError(
      'The secrets of this backup were sealed with a key from BERTH_SECRET_KEY, which is not in it. Set BERTH_SECRET_KEY to that key.',
    )
  if (keyProof(createSealer([Buffer.from(key, 'base64')])) === manifest.keyProof) return
  throw new BackupError(
    secretKey === null
      ? 'The key in this backup does not open its secrets. If BERTH_SECRET_KEY was set where it was made, set it here too.'
      : 'BERTH_SECRET_KEY is not the key with which the secrets of this backup were sealed. Set it to that key, or unset it when the backup holds its own.',
  )
}

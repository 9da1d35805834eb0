/** When `npm run backup` last wrote a whole backup of this installation: a file of the data folder says it, for the metrics. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { momentAt, nowMs, timestamp } from '#src/platform/clock.ts'
import { addMetricSource } from './sources.ts'

/** The name of that file. It is not part of a backup. */
export const lastBackupFile = 'last-backup.json'

/** Records that a backup is whole now. @param bytes the size of its file. */
export function recordBackup(dataDir: string, bytes: number): void {
  const path = join(dataDir, lastBackupFile)
  writeFileSync(`${path}.new`, JSON.stringify({ at: timestamp(nowMs()), bytes }), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Adds its age and size to this process's metrics; both are missing as long as there was none. */
export function reportLastBackup(dataDir: string): void {
  addMetricSource(
    'last_backup',
    {
      berth_installation_backup_age_seconds: { help: 'How long ago npm run backup last wrote a whole backup.' },
      berth_installation_backup_bytes: { help: 'The size of its file.' },
    },
    async () => {
      const last = readLastBackup(dataDir)
      return {
        berth_installation_backup_age_seconds: last ? [{ value: (nowMs() - last.atMs) / 1000 }] : [],
        berth_installation_backup_bytes: last ? [{ value: last.bytes }] : [],
      }
    },
  )
}

/** When that was, and how large its file is; null when there was none. @throws Error when the record is there and cannot be read. */
export function readLastBackup(dataDir: string): { atMs: number; bytes: number } | null {
  let text: string
  try {
    text = readFileSync(join(dataDir, lastBackupFile), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const { at, bytes } = JSON.parse(text) as { at: string; bytes: number } // recordBackup wrote it
  return { atMs: momentAt(at).getTime(), bytes }
}

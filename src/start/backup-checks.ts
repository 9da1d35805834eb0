/** The doctor's check of the installation's own backups: how old the last whole one is. */
import { nowMs } from '../platform/clock.ts'
import type { Config } from '../platform/config.ts'
import { readLastBackup } from '../platform/metrics/last-backup.ts'
import type { Check } from './checks.ts'

const hourMs = 3_600_000
const hoursOfDay = 24
/** As the alert `BerthInstallationBackupOld` has it. */
const oldHours = 2 * hoursOfDay
const how = 'npm run backup -- <file> takes one, also while Berth runs; keep it on another machine.'

/** The check. Berth is complete without a backup, until its disk is lost. */
export function checkBackup({ dataDir }: Pick<Config, 'dataDir'>): Check {
  const what = 'the last backup of this installation'
  try {
    const last = readLastBackup(dataDir)
    if (!last) return { verdict: 'neither', what: `${what}: none was taken yet`, remedy: how }
    const hours = Math.max(0, Math.floor((nowMs() - last.atMs) / hourMs))
    const age = hours < oldHours ? inWords(hours, 'hour') : inWords(Math.floor(hours / hoursOfDay), 'day')
    if (hours < oldHours) return { verdict: 'works', what: `${what} is ${age} old` }
    return { verdict: 'neither', what: `${what} is ${age} old`, remedy: how }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return {
      verdict: 'neither',
      what: `${what}: unknown (${problem})`,
      remedy: 'Call the doctor as the user who runs Berth.',
    }
  }
}

function inWords(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The settings of the Berth that runs, for commands in another shell: what it was started with counts, not what that shell has. */
import { readProc } from '#src/platform/locks/process-marks.ts'
import type { Environment } from '#src/platform/config.ts'
import type { RunFile } from './run-file.ts'

/**
 * The environment in which the Berth was started, with the data folder at which it was found. Only its own user and root may
 * read it.
 * @returns null to others.
 */
export function environmentOf({ starter }: Pick<RunFile, 'starter'>, dataDir: string): Environment | null {
  const text = readProc(starter.pid, 'environ')
  if (!text) return null
  const entries = text
    .split('\0')
    .filter(Boolean)
    .map((entry): [string, string] => {
      const at = entry.indexOf('=')
      return [entry.slice(0, at), entry.slice(at + 1)]
    })
  return { ...Object.fromEntries(entries), BERTH_DATA_DIR: dataDir } // a relative one is relative to where it was started
}

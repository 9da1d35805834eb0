/**
 * `run.json` in the data folder: what `npm start` tells the other commands of this checkout (token, doctor) while it
 * runs, and what was left when it was killed. It holds the database's password, so only its owner may read it.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning, type ProcessMark } from '#src/platform/locks/process-marks.ts'
import { StartError } from './start-error.ts'

/** A running (or killed) `npm start`. */
export type RunFile = {
  starter: ProcessMark
  databaseUrl: string
  publicUrl: string
  port: number
  webMetricsPort: number
  workerMetricsPort: number
  edgeMetricsPort: number
  postgresPort: number
  /** The processes it keeps running, by their name in the Procfile. */
  processes: Record<string, ProcessMark>
}

/** The content of the file, also when its writer was killed; null when there is none. @throws StartError for another user's. */
export function readRunFile(dataDir: string): RunFile | null {
  try {
    return JSON.parse(readFileSync(pathOf(dataDir), 'utf8')) as RunFile
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return null
    if (code === 'EACCES')
      throw new StartError(
        `The Berth on ${dataDir} is another user’s. Do this as that user or as root, or set BERTH_DATA_DIR to your own.`,
        { cause: error },
      )
    throw error
  }
}

/** The `npm start` that runs on this data folder now, or null. */
export function findRun(dataDir: string): RunFile | null {
  const run = readRunFile(dataDir)
  return run && isRunning(run.starter) ? run : null
}

/** Writes it atomically. */
export function writeRunFile(dataDir: string, run: RunFile): void {
  const unfinished = `${pathOf(dataDir)}.new`
  rmSync(unfinished, { force: true }) // the mode below counts for a new file only
  writeFileSync(unfinished, JSON.stringify(run, null, 2), { mode: 0o600 })
  renameSync(unfinished, pathOf(dataDir))
}

/** Removes the file, because nothing is running any more. */
export function removeRunFile(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true })
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'run.json')
}

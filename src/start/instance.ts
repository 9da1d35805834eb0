/** One `npm start` per data folder: the claim that keeps a second one out, and clearing up after one that was killed. */
import { once } from 'node:events'
import { accessSync, chmodSync, constants, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isRoot } from '../platform/settings/places.ts'
import type { Config } from '../platform/config.ts'
import { isRunning, signal } from '#src/platform/locks/process-marks.ts'
import { readRunFile, removeRunFile } from './run-file.ts'
import { StartError } from './start-error.ts'
import { pollUntil } from './wait.ts'

/** Marks a data folder whose restore was interrupted: nothing may start on it. */
export const unfinishedRestore = '.restore-unfinished'

const politeMs = 3_000
const killedMs = 2_000

/**
 * Creates the folders for everything else. As root, other users may traverse them (but not list them), because Postgres
 * and QEMU run as other users and have their own folders below.
 * @throws StartError when one of them belongs to somebody else.
 */
export function makeFolders({ dataDir, runDir }: Config): void {
  const mode = isRoot() ? 0o711 : 0o700
  for (const folder of [dataDir, runDir]) {
    mkdirSync(folder, { recursive: true })
    const stat = lstatSync(folder)
    // The folder for sockets may be in /tmp, under a name that others can predict.
    if (folder === runDir && (!stat.isDirectory() || stat.uid !== process.getuid?.()))
      throw new StartError(`${folder} is not a folder of yours. Remove it, or choose another BERTH_DATA_DIR.`)
    if (stat.uid === process.getuid?.()) chmodSync(folder, mode)
    refuseForeign(folder, 'Start Berth')
  }
}

/** @param what is done there: `Start Berth`. @throws StartError for a folder in which this user may do nothing. */
export function refuseForeign(folder: string, what: string): void {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(`${folder} belongs to another user. ${what} as its owner, or choose another BERTH_DATA_DIR.`, {
      cause: error,
    })
  }
}

/**
 * Claims the data folder for as long as this process lives: the claim is a socket in the kernel's abstract namespace, which
 * cannot be left behind as a file could.
 * @param what for: to start on it, or to write a backup, of which there is one at a time too.
 * @returns the claim, or null when another process has it.
 */
export async function claim(dataDir: string, what: 'start' | 'backup' = 'start'): Promise<Server | null> {
  const { dev, ino } = statSync(dataDir) // identifies the folder, whatever path leads to it
  const server = createServer((connection) => connection.destroy())
  server.listen(`\0berth-${what}-${dev}-${ino}`)
  try {
    await once(server, 'listening')
    server.unref()
    return server
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null
    throw error
  }
}

/** Ends the processes that a killed `npm start` of this data folder left. Postgres is handled when it starts. */
export async function clearLeftovers(dataDir: string): Promise<void> {
  const left = Object.values(readRunFile(dataDir)?.processes ?? {}).filter(isRunning)
  const gone = (limitMs: number) => pollUntil(() => !left.some(isRunning), { limitMs, everyMs: 20 })
  for (const { pid } of left) signal(pid, 'SIGTERM')
  if (!(await gone(politeMs))) {
    for (const mark of left.filter(isRunning)) signal(mark.pid, 'SIGKILL')
    await gone(killedMs)
  }
  removeRunFile(dataDir)
}

/** @throws StartError where a restore was interrupted: the data is incomplete. */
export function refuseHalfRestored(dataDir: string): void {
  if (existsSync(join(dataDir, unfinishedRestore)))
    throw new StartError(
      `A restore into ${dataDir} was interrupted. Run npm run restore again with the same file, or remove the folder.`,
    )
}

/** Why nothing can listen there now, such as EADDRINUSE; null when it can. */
export async function whyNotListen(host: string, port: number): Promise<string | null> {
  const server = createServer()
  server.listen(port, host)
  try {
    await once(server, 'listening')
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    server.close()
  }
}

/** Why clients of Postgres cannot be let in, with what to do about it; null when they can. Berth starts without it. */
export async function whyNoPostgresPort({ host, postgresPort }: Config): Promise<string | null> {
  const reason = await whyNotListen(host, postgresPort)
  if (reason === null) return null
  return reason === 'EADDRINUSE'
    ? `Another program listens on port ${postgresPort}. Stop it, or set BERTH_POSTGRES_PORT to a free port.`
    : `Cannot listen on ${host} port ${postgresPort}: ${reason}. Set BERTH_POSTGRES_PORT to what this user may listen on.`
}

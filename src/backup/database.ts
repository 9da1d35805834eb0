/**
 * The installation's database for a backup or a restore: the running one, or else the embedded one, started for as long
 * as needed.
 */
import type { Config } from '#src/platform/config.ts'
import { startPostgres, stopPostgres, waitForPostgres } from '#src/start/embedded-postgres.ts'
import { preparePostgres } from '#src/start/postgres-cluster.ts'
import { claim, makeFolders } from '#src/start/instance.ts'
import { findRun } from '#src/start/run-file.ts'
import { BackupError } from './backup-error.ts'

/**
 * Runs the work with the URL of the database.
 * @throws BackupError while another program uses the data folder, such as a Berth that is starting.
 */
export async function withDatabase(config: Config, work: (url: string) => Promise<void>): Promise<void> {
  const running = findRun(config.dataDir)?.databaseUrl
  if (running || config.databaseUrl) return work(running || config.databaseUrl!) // one of the two exists
  makeFolders(config)
  const claimed = await claim(config.dataDir)
  if (!claimed)
    throw new BackupError(`Another command is using ${config.dataDir}. Wait until it has ended, then try again.`)
  try {
    await withEmbedded(config, work)
  } finally {
    claimed.close()
  }
}

/** Runs the work with the embedded Postgres of a claimed data folder, which is created if there is none. */
export async function withEmbedded(config: Config, work: (url: string) => Promise<void>): Promise<void> {
  const postgres = await preparePostgres(config)
  const server = await startPostgres(postgres)
  server.stdout?.resume()
  server.stderr?.resume()
  try {
    await waitForPostgres(postgres, server)
    await work(postgres.databaseUrl)
  } finally {
    await stopPostgres(server)
  }
}

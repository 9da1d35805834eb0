/**
 * The database of a restore: the tables as of the backup's migrations, its rows, its jobs, and then newer migrations.
 */
import pg from 'pg'
import type { Config } from '#src/platform/config.ts'
import { openJobs } from '#src/platform/jobs.ts'
import { migrate } from '#src/platform/migrate.ts'
import { openDatabase, transaction } from '#src/platform/postgres.ts'
import { openPubsub } from '#src/platform/pubsub.ts'
import '#src/resources/wiring.ts'
import { loseEnvironmentVms } from '#src/resources/agents/environments/losses.ts'
import { failVmsWithoutDisks } from '#src/resources/infra/vms/losses.ts'
import { BackupError } from './backup-error.ts'
import type { Manifest } from './manifest.ts'
import { copyTablesIn, readJobs } from './tables.ts'

const jobsPerTransaction = 500

/**
 * Checks that the operator's own database contains no installation.
 * @throws BackupError when it does.
 */
export async function refuseFilledDatabase(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const {
      rows: [found],
    } = await client.query<{ filled: boolean }>(`select to_regclass('public.organizations') is not null as filled`)
    if (!found?.filled) return
    const { rowCount } = await client.query('select from organizations union all select from users limit 1')
    if (rowCount)
      throw new BackupError(
        'The database of DATABASE_URL already contains an installation. Set it to an empty database.',
      )
  })
}

/** Fills an empty database. @throws Error; then none of the backup's rows is in it. */
export async function restoreDatabase(
  url: string,
  config: Config,
  manifest: Manifest,
  unpacked: string,
  onTable: (name: string) => void,
): Promise<void> {
  await migrate(url, manifest.migrations)
  await withClient(url, async (client) => {
    await copyTablesIn(client, manifest, unpacked, onTable)
    await migrate(url)
    await addJobs(url, config, await readJobs(client, unpacked))
  })
}

/** The waiting jobs; their first transaction also updates the rows whose machines are gone. */
async function addJobs(url: string, config: Config, waiting: Awaited<ReturnType<typeof readJobs>>): Promise<void> {
  const database = openDatabase(url, { connections: 1, applicationName: 'berth-restore' })
  const pubsub = openPubsub(url)
  const jobs = await openJobs(url, pubsub, { worker: false })
  try {
    await transaction(database.db, async (tx) => {
      await loseEnvironmentVms({ config, jobs }, tx)
      await failVmsWithoutDisks({ config }, tx)
    })
    for (let at = 0; at < waiting.length; at += jobsPerTransaction) {
      await transaction(database.db, async (tx) => {
        for (const { name, data, startAfterSeconds, ...options } of waiting.slice(at, at + jobsPerTransaction)) {
          await jobs.enqueue(tx, { name, options }, data, { startAfterSeconds })
        }
      })
    }
  } finally {
    await jobs.stop()
    await pubsub.close()
    await database.close()
  }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth-restore' })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

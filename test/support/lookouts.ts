/** Where a secret might leak: the tables, the notices, and the log of a web process that logs everything. */
import pg from 'pg'
import type { Berth } from './berth.ts'
import { startCommand } from './command.ts'
import { freePort } from './ports.ts'

/** A second web process on a Berth's database that logs everything, and a listener to all notices. */
export type Lookout = {
  /** The address of the web process. */
  url: string
  /** Every notice so far. */
  notices: readonly string[]
  /** Ends the web process, so that its log is complete. @returns the whole log. */
  lastWords: () => Promise<string>
  /** Which tables hold which of these, in any column, as text or as bytes. */
  tablesWith: (secrets: readonly string[]) => Promise<string[]>
  stop: () => Promise<void>
}

/** Starts one. Its settings are those of the first one, except for the port and these. */
export async function startLookout(
  { services, dataDir }: Pick<Berth, 'services' | 'dataDir'>,
  settings: Record<string, string> = {},
): Promise<Lookout> {
  const { pool, url: databaseUrl } = services.database
  const notices: string[] = []
  const listening = new pg.Client({ connectionString: databaseUrl })
  await listening.connect()
  await listening.query('listen berth')
  listening.on('notification', ({ payload }) => notices.push(payload ?? ''))
  const port = await freePort()
  const web = startCommand(['src/gateway/main.ts'], {
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    BERTH_PUBLIC_URL: services.config.publicUrl,
    BERTH_DATA_DIR: dataDir,
    BERTH_LOG_LEVEL: 'trace',
    BERTH_METRICS_PORT: String(await freePort()),
    ...settings,
  })
  const end = async (): Promise<void> => {
    web.child.kill('SIGTERM')
    await web.ended
  }
  await web.line(/listens/).catch(async (error: Error) => {
    await end()
    throw error
  })
  return {
    url: `http://127.0.0.1:${port}`,
    notices,
    async lastWords() {
      await end()
      return web.lines.join('\n')
    },
    async tablesWith(secrets) {
      const tables = (
        await pool.query<{ name: string }>(
          "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'pgboss')",
        )
      ).rows
      if (tables.length < 15) throw new Error('these are not all tables')
      const found: string[] = []
      for (const { name } of tables) {
        for (const secret of secrets) {
          const { rows } = await pool.query(
            `select 1 from ${name} t where position($1 in t::text) > 0 or position($2 in t::text) > 0 limit 1`,
            [secret, Buffer.from(secret).toString('hex')],
          )
          if (rows.length > 0) found.push(`${name}: ${secret}`)
        }
      }
      return found
    },
    async stop() {
      await end()
      await listening.end()
    },
  }
}

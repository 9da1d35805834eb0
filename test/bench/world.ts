/** What benchmarks run on: a durable Postgres of their own, and Berth's processes as real processes. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig, type Config } from '#src/platform/config.ts'
import { migrate } from '#src/platform/migrate.ts'
import { openDatabase, type Database } from '#src/platform/postgres.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { startPostgres, stopPostgres, waitForPostgres } from '#src/start/embedded-postgres.ts'
import { preparePostgres } from '#src/start/postgres-cluster.ts'
import { readProcfile } from '#src/start/procfile.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'

const endLimitMs = 12_000
const tokenSeconds = 6 * 3600

/** A Postgres at the newest migration, and the processes that were started on it. */
export type World = {
  databaseUrl: string
  database: Database
  dataDir: string
  config: Config
  /** Where the web process listens. */
  url: string
  /** An owner's token. */
  token: () => Promise<string>
  /** Starts a process of Berth or of a peer; resolves at the line that fits. It ends with the world. */
  start: (words: readonly string[], ready: RegExp, variables?: Readonly<Record<string, string>>) => Promise<Command>
  /** Ends one process now. */
  end: (command: Command) => Promise<void>
  /** Ends all of them. */
  endAll: () => Promise<void>
  close: () => Promise<void>
}

/** Makes one. `settings` are environment variables of Berth's processes, as in docs/operating.md. */
export async function openWorld(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-bench-'))
  chmodSync(dataDir, 0o711) // Postgres and QEMU run as other users when we are root
  const postgres = await preparePostgres({ dataDir, runDir: join(dataDir, 'run'), cacheDir: join(dataDir, 'cache') })
  const server = await startPostgres(postgres)
  server.stdout?.resume()
  server.stderr?.resume()
  await waitForPostgres(postgres, server)
  const { databaseUrl } = postgres
  await migrate(databaseUrl)
  const variables = {
    DATABASE_URL: databaseUrl,
    BERTH_DATA_DIR: dataDir,
    PORT: String(await freePort()),
    BERTH_RATE_LIMIT_FACTOR: '1000000',
    BERTH_ORG_MEMORY_MB: '0',
    BERTH_ORG_DISK_GB: '0',
    BERTH_ORG_VMS: '0',
    ...settings,
  }
  const config = readConfig(variables)
  const database = openDatabase(databaseUrl, { connections: 4, applicationName: 'berth-bench' })
  const commands = new Set<Command>()
  const end = async (command: Command): Promise<void> => {
    commands.delete(command)
    command.child.kill('SIGTERM')
    const cut = setTimeout(() => command.child.kill('SIGKILL'), endLimitMs)
    await command.ended
    clearTimeout(cut)
  }
  const endAll = async (): Promise<void> => {
    for (const command of commands) await end(command)
  }
  return {
    databaseUrl,
    database,
    dataDir,
    config,
    endAll,
    url: config.publicUrl.replace('localhost', '127.0.0.1'),
    end,
    token: async () =>
      (
        await issueToken(
          { db: database.db, sealer: loadSealer(config.secretKey, dataDir), config },
          { user: 'alice', organization: 'acme', role: 'owner', ttlSeconds: tokenSeconds, newNames: { make: true } },
        )
      ).token,
    async start(words, ready, more = {}) {
      const command = startCommand(words, { ...variables, ...more })
      commands.add(command)
      await command.line(ready)
      return command
    },
    async close() {
      await endAll()
      await database.close()
      await stopPostgres(server)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Starts a web or an edge process as the Procfile does, with its options of Node. */
export function startProcess(
  world: World,
  name: 'web' | 'edge',
  variables: Readonly<Record<string, string>> = {},
): Promise<Command> {
  return world.start(wordsOf(name), new RegExp(`the ${name} process listens`), variables)
}

/** What the Procfile gives to Node for this process. */
export function wordsOf(name: string): string[] {
  const line = readProcfile('Procfile').processes.find((one) => one.name === name)
  if (!line) throw new Error(`the Procfile has no ${name} process`)
  return line.command.split(' ').slice(1) // behind `node`
}

/** Runs the work in a world of its own, and ends it whatever happens. */
export async function inWorld<Result>(
  settings: Readonly<Record<string, string>>,
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const world = await openWorld(settings)
  try {
    return await work(world)
  } finally {
    await world.close()
  }
}

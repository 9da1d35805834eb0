/**
 * `npm start`: all of Berth on one host. Postgres when DATABASE_URL is unset, migrations, VM templates, then the
 * processes of the Procfile, each restarted when it dies. Ctrl-C, or `npm stop`, stops web, then worker, then Postgres.
 */
import './start/node-version.ts'
import { fileURLToPath } from 'node:url'
import { readFlags, reportError, UsageError } from './platform/command-line.ts'
import { ConfigError, readConfig } from './platform/config.ts'
import { redact, setLogLevel } from './platform/log.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { modelTable } from './resources/llm/models/table.ts'
import { Berth } from './start/berth.ts'
import { startDetached } from './start/background/detached.ts'
import { claim, clearLeftovers, makeFolders, refuseHalfRestored, whyNotListen } from './start/instance.ts'
import { LogFile } from './start/background/log-file.ts'
import { StartError } from './start/start-error.ts'

/** Signals this close together count as one: Ctrl-C arrives from the terminal, and again from npm, which forwards it. */
const sameWishMs = 1_000

const usage = `npm start [-- --without-vms] [--procfile <file>] [--detach] [--log-file <file>]: all of Berth on this host.
  --without-vms     leaves VMs out
  --procfile <file> runs the processes of this file instead of those of Procfile
  --detach          goes on in the background once Berth is ready; npm stop stops it
  --log-file <file> writes its output there too; with --detach to berth.log in the data folder by default
Settings are environment variables: see "Settings" in docs/operating.md.`

let logFile: LogFile | undefined
let isRead = true // until the reader of our output has gone
const say = (line: string): void => {
  logFile?.write(line)
  if (isRead) process.stdout.write(`${line}\n`)
}

async function main(): Promise<void> {
  const flags = readFlags(process.argv.slice(2), usage, {
    procfile: { type: 'string', default: 'Procfile' },
    'without-vms': { type: 'boolean', default: false },
    detach: { type: 'boolean', default: false },
    'log-file': { type: 'string' },
  })
  process.chdir(fileURLToPath(new URL('..', import.meta.url))) // .berth and the Procfile's paths belong to the checkout
  process.umask(0o022) // the users of Postgres and QEMU must be able to traverse our folders
  const config = readConfig()
  modelTable(config)
  serviceCatalog(config)
  memoryModel(config)
  setLogLevel('warn')
  makeFolders(config)
  if (flags.detach) {
    const words = process.argv.slice(2).filter((word) => word !== '--detach')
    process.exit(await startDetached(config, { words, logFile: flags['log-file'], say }))
  }
  if (!(await claim(config.dataDir)))
    throw new StartError(
      `Berth already runs on ${config.dataDir}. Stop it first, or give this one a BERTH_DATA_DIR and a PORT of its own.`,
    )
  if (flags['log-file'] !== undefined) logFile = new LogFile(flags['log-file'])
  refuseHalfRestored(config.dataDir)
  await clearLeftovers(config.dataDir)
  const reason = await whyNotListen(config.host, config.port)
  if (reason)
    throw new StartError(
      `Cannot listen on ${config.host} port ${config.port}: ${reason === 'EADDRINUSE' ? 'another program does. Stop it, or set PORT to a free port.' : `${reason}. Set PORT or BERTH_HOST to what this user may listen on.`}`,
    )
  const berth = new Berth(config, {
    procfile: flags.procfile,
    withVms: !flags['without-vms'],
    say,
    screen: logFile ? { write: (text) => say(text.trimEnd()) } : process.stdout,
    howToStop: logFile ? 'npm stop, or berth down, stops it' : 'Ctrl-C stops it',
  })
  stopOnSignals(berth)
  await berth.start()
}

function stopOnSignals(berth: Berth): void {
  let askedAt: number | null = null
  const stop = () => {
    if (askedAt !== null) {
      if (performance.now() - askedAt < sameWishMs) return
      berth.kill()
      process.exit(1)
    }
    askedAt = performance.now()
    say('Stopping; press Ctrl-C again to stop immediately.')
    berth.stop().then(() => process.exit(0), fail)
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  process.stdout.on('error', () => {
    isRead = false // Berth goes on without it
  })
}

/** Wrong arguments or settings: each is named, exit 2. What a person can fix: a sentence, exit 1. A bug: its stack, exit 1. */
function fail(error: unknown): never {
  if (error instanceof UsageError) process.exit(reportError(error))
  const isSentence = error instanceof ConfigError || error instanceof StartError
  const text = error instanceof Error ? (isSentence ? error.message : (error.stack ?? error.message)) : String(error)
  process.stderr.write(`${redact(text)}\n`)
  process.exit(error instanceof ConfigError ? 2 : 1)
}

await main().catch(fail)

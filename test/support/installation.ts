/** A complete `npm start` in its own folder, for tests that kill parts of it. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signal } from '#src/platform/locks/process-marks.ts'
import { findRun } from '../../src/start/run-file.ts'
import { startCommand, type Command } from './command.ts'
import { freePort } from './ports.ts'
import { endQemus, qemuProcesses } from './qemu-processes.ts'

/** An instance that is ready. */
export type Installation = {
  url: string
  /** Where clients of Postgres are let in to databases. */
  postgresPort: number
  /** Where proxies, domains and functions are served by HTTP, and by HTTPS. */
  httpPort: number
  httpsPort: number
  /** Berth's own Postgres, as long as it runs. */
  databaseUrl: () => string
  dataDir: string
  /** A token of alice's, an owner, made by the command. */
  token: (organization?: string) => Promise<string>
  /** Calls REST or GraphQL, with JSON in both directions. @throws TypeError when it is not there */
  call: <Body>(token: string, method: string, path: string, body?: unknown) => Promise<{ status: number; body: Body }>
  /** Kills the process of this name in the Procfile, `postgres`, or some `qemu`, with -9 or another signal; false when there is none now. */
  kill: (name: string, how?: NodeJS.Signals) => boolean
  /** Starts a second worker beside the one that is kept running. */
  startWorker: () => Command
  qemuPids: () => number[]
  /** The lines that it has logged so far which match. */
  logged: (pattern: RegExp) => string[]
  stop: () => Promise<void>
}

/**
 * Starts one, with a VM kept warm.
 * @param before what to do with its data folder, which is not there yet, before it starts.
 */
export async function startInstallation(
  more: Record<string, string> = {},
  before?: (dataDir: string) => Promise<void>,
): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-whole-'))
  chmodSync(folder, 0o711) // QEMU runs as another user when we are root
  const dataDir = join(folder, 'data')
  const settings = {
    PORT: String(await freePort()),
    BERTH_POSTGRES_PORT: String(await freePort()),
    BERTH_HTTP_PORT: String(await freePort()),
    BERTH_HTTPS_PORT: String(await freePort()),
    BERTH_DATA_DIR: dataDir,
    BERTH_VM_POOL: '1',
    BERTH_RATE_LIMIT_FACTOR: '100',
    ...more,
  }
  await before?.(dataDir)
  const berth = startCommand(['src/start.ts'], settings)
  const stop = async (): Promise<void> => {
    berth.child.kill('SIGTERM')
    await berth.ended
    await endQemus(folder) // last: VMs outlive their worker, and a worker makes new ones
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await berth.line(/^Berth is ready/, 0, 240_000)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `http://127.0.0.1:${settings.PORT}`,
    postgresPort: Number(settings.BERTH_POSTGRES_PORT),
    httpPort: Number(settings.BERTH_HTTP_PORT),
    httpsPort: Number(settings.BERTH_HTTPS_PORT),
    databaseUrl: () => findRun(dataDir)?.databaseUrl ?? '',
    dataDir,
    async token(organization = 'acme') {
      const asked = startCommand(
        ['src/identity/token.ts', '--user', 'alice', '--org', organization, '--role', 'owner', '--create'],
        settings,
      )
      await asked.ended
      return asked.lines.at(-1)?.trim() ?? ''
    },
    async call<Body>(token: string, method: string, path: string, body?: unknown) {
      const answer = await fetch(`http://127.0.0.1:${settings.PORT}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: (await answer.json()) as Body } // the caller says what it asked for
    },
    kill(name, how = 'SIGKILL') {
      const pid = name === 'qemu' ? qemuProcesses(folder)[0] : findRun(dataDir)?.processes[name]?.pid
      if (pid) signal(pid, how)
      return pid !== undefined
    },
    startWorker: () =>
      startCommand(['workers/main.ts'], { ...settings, DATABASE_URL: findRun(dataDir)?.databaseUrl ?? '' }),
    qemuPids: () => qemuProcesses(folder),
    logged: (pattern) => berth.lines.filter((line) => pattern.test(line)),
    stop,
  }
}

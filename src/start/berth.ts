/** All of Berth on this host, from the database to the ready line, and back. */
import type { Config } from '../platform/config.ts'
import { redact, writesForPeople } from '../platform/log.ts'
import { makeSignInCode, offersSignIn } from '#src/platform/tokens/sign-in-code.ts'
import { announcement, answersReady, takesConnections, type Without } from './announcement.ts'
import { whyNoEdgePorts } from './edge-checks.ts'
import { preparePostgres } from './postgres-cluster.ts'
import { waitForDatabase } from './external-database.ts'
import { whyNoPostgresPort } from './instance.ts'
import { markProcess } from '#src/platform/locks/process-marks.ts'
import { readProcfile } from './procfile.ts'
import type { Screen } from './progress.ts'
import { postgresProgram, procfileProgram, runRelease } from './programs.ts'
import { removeRunFile, writeRunFile, type RunFile } from './run-file.ts'
import { StartError } from './start-error.ts'
import { supervise, type Program, type Supervised } from './supervisor.ts'
import { prepareVms } from './vms.ts'
import { pollUntil } from './wait.ts'

const readyLimitMs = 10 * 60_000
const readyPollMs = 50
const nameWidth = 8

/** The options of `npm start`: the Procfile, whether to prepare the host for VMs, where output goes, and what a person is told of how to stop it. */
export type BerthOptions = {
  procfile: string
  withVms: boolean
  say: (line: string) => void
  screen: Screen
  howToStop: string
}

/** Everything that one `npm start` keeps running. */
export class Berth {
  readonly #config: Config
  readonly #options: BerthOptions
  readonly #run: RunFile
  #postgres: Supervised | null = null
  /** The processes of each line of the Procfile, in its order. */
  #processes: Supervised[][] = []
  #stopping: Promise<void> | null = null
  #signInCode: string | null = null

  constructor(config: Config, options: BerthOptions) {
    this.#config = config
    this.#options = options
    this.#run = {
      starter: markProcess(process.pid)!, // we live
      databaseUrl: config.databaseUrl ?? '',
      publicUrl: config.publicUrl,
      port: config.port,
      webMetricsPort: config.webMetricsPort,
      workerMetricsPort: config.workerMetricsPort,
      edgeMetricsPort: config.edgeMetricsPort,
      postgresPort: config.postgresPort,
      processes: {},
    }
  }

  /**
   * Resolves when Berth answers, or has been asked to stop meanwhile.
   * @throws StartError when it cannot work; then nothing is left running.
   */
  async start(): Promise<void> {
    try {
      const { release, processes } = readProcfile(this.#options.procfile)
      this.#run.databaseUrl = await this.#startDatabase()
      if (this.#stopping) return
      writeRunFile(this.#config.dataDir, this.#run)
      if (offersSignIn(this.#config)) this.#signInCode = makeSignInCode(this.#config.dataDir)
      if (release && (await runRelease(release, this.#forChildren(), (line) => this.#show('release', line))) !== 0)
        throw new StartError('The database could not be migrated; the lines above say why.')
      const withoutVms =
        this.#options.withVms && this.#config.runsVms
          ? await prepareVms(this.#config, this.#options.screen)
          : this.#options.withVms
            ? 'BERTH_VMS is off.'
            : '--without-vms was given.'
      if (this.#stopping) return
      if (withoutVms) this.#options.say(`Starting without VMs: ${withoutVms}`)
      const withEdge = processes.some(({ name }) => name === 'edge')
      const noEdge = 'The Procfile has no process `edge`.'
      const withoutDatabases = withEdge ? await whyNoPostgresPort(this.#config) : noEdge
      const withoutProxies = withEdge ? await whyNoEdgePorts(this.#config) : noEdge
      const variables = { ...this.#forChildren(), ...(this.#options.withVms ? {} : { BERTH_VMS: 'off' }) }
      this.#processes = processes.map((line) =>
        namesOf(line.name, this.#config).map((name) => this.#keep(procfileProgram({ ...line, name }, variables))),
      )
      await this.#announce({ withoutVms, withoutDatabases, withoutProxies })
    } catch (error) {
      if (this.#stopping) return // a step failed because Berth is being stopped
      await this.stop()
      throw error
    }
  }

  /** Web first and the edge next, so that no request is accepted that cannot be served; Postgres last, because the others write until they end. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      for (const same of this.#processes) await Promise.all(same.map((one) => one.stop()))
      await this.#postgres?.stop()
      removeRunFile(this.#config.dataDir)
    })()
    return this.#stopping
  }

  /** Everything at once, after a second Ctrl-C. Postgres gets an immediate shutdown, and recovers at the next start. */
  kill(): void {
    for (const one of this.#processes.flat()) one.kill('SIGKILL')
    this.#postgres?.kill('SIGQUIT')
  }

  async #startDatabase(): Promise<string> {
    if (this.#config.databaseUrl) {
      await waitForDatabase(this.#config.databaseUrl, this.#options.say)
      return this.#config.databaseUrl
    }
    const postgres = await preparePostgres(this.#config)
    this.#postgres = this.#keep(postgresProgram(postgres))
    await this.#postgres.up
    return postgres.databaseUrl
  }

  /** The environment of child processes. They write to our pipe, so we tell them whether there is a terminal. */
  #forChildren(): Record<string, string> {
    return {
      DATABASE_URL: this.#run.databaseUrl,
      BERTH_LOG_FORMAT: writesForPeople(this.#config.logFormat) ? 'pretty' : 'json',
    }
  }

  #keep(program: Program): Supervised {
    return supervise(program, {
      onLine: (name, line) => this.#show(name, line),
      onStarted: (name, mark) => {
        this.#run.processes[name] = mark
        if (!this.#stopping) writeRunFile(this.#config.dataDir, this.#run)
      },
    })
  }

  #show(name: string, line: string): void {
    this.#options.say(`${name.padEnd(nameWidth)} | ${redact(line)}`)
  }

  async #announce(without: Without): Promise<void> {
    const isReady = async (): Promise<boolean> =>
      (await answersReady(this.#config, without.withoutVms === null)) &&
      (without.withoutDatabases !== null || (await takesConnections(this.#config, this.#config.postgresPort))) &&
      (without.withoutProxies !== null || takesConnections(this.#config, this.#config.httpsPort))
    const ready = await pollUntil(() => this.#stopping !== null || isReady(), {
      limitMs: readyLimitMs,
      everyMs: readyPollMs,
    })
    if (this.#stopping) return
    this.#options.say(
      ready
        ? announcement(this.#config, without, { signInCode: this.#signInCode, howToStop: this.#options.howToStop })
        : `Berth has not answered after ${readyLimitMs / 60_000} minutes; the lines above say why. It keeps trying.`,
    )
  }
}

/** The names of a line's processes: `web` alone, else `web.1`, `web.2` …; all of them listen on the same port. */
function namesOf(line: string, { webProcesses }: Config): string[] {
  return line === 'web' && webProcesses > 1
    ? Array.from({ length: webProcesses }, (_, at) => `${line}.${at + 1}`)
    : [line]
}

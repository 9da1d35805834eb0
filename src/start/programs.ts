/** How each process of Berth is started and stopped: the embedded Postgres, and the lines of the Procfile. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname } from 'node:path'
import { environmentWith } from '../platform/config.ts'
import { startPostgres, stopPostgres, waitForPostgres } from './embedded-postgres.ts'
import type { EmbeddedPostgres } from './postgres-cluster.ts'
import { dyingWithUs } from './processes.ts'
import type { ProcfileLine } from './procfile.ts'
import { followLines, type Program } from './supervisor.ts'
import { pollUntil } from './wait.ts'

const stopLimitMs = 11_000 // a process drains for 10 s at most

/** The embedded Postgres as a process that is kept running. */
export function postgresProgram(postgres: EmbeddedPostgres): Program {
  return {
    name: 'postgres',
    start: () => startPostgres(postgres),
    waitUntilUp: (server) => waitForPostgres(postgres, server),
    stop: stopPostgres,
  }
}

/** A line of the Procfile as a process that is kept running; `variables` are set in addition to our own. */
export function procfileProgram({ name, command }: ProcfileLine, variables: Readonly<Record<string, string>>): Program {
  return {
    name,
    start: () => run(command, variables),
    stop: async (child) => {
      child.kill('SIGTERM')
      await pollUntil(() => child.exitCode !== null || child.signalCode !== null, {
        limitMs: stopLimitMs,
        everyMs: 20,
      })
    },
  }
}

/**
 * Runs the Procfile's release command to its end.
 * @returns its exit code; null when a signal ended it.
 */
export async function runRelease(
  command: string,
  variables: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<number | null> {
  const child = run(command, variables)
  followLines(child, onLine)
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}

function run(command: string, variables: Readonly<Record<string, string>>): ChildProcess {
  // exec: the process must be our own child, not the shell's, so that signals and exits reach the right one.
  const [program, ...words] = [...dyingWithUs('TERM'), '/bin/sh', '-c', `exec ${command}`]
  const environment = environmentWith(variables)
  return spawn(program!, words, {
    // `node` in the Procfile means the Node that runs this process, also if npm did not put it first on the PATH.
    env: { ...environment, PATH: [dirname(process.execPath), environment.PATH ?? ''].join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // Ctrl-C reaches the whole process group of the terminal; we stop them in order instead
  })
}

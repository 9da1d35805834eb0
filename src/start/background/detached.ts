/** `npm start -- --detach`: a start that goes on in the background, with its log in a file. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { environmentWith, type Config } from '../../platform/config.ts'
import { findRun } from '../run-file.ts'
import { StartError } from '../start-error.ts'

/** Of a start that fails, so many lines are shown; the rest is in its log. */
const lastLinesMax = 20

/** What is passed on to it, and where its lines are shown until it is ready. */
export type DetachedStart = { words: readonly string[]; logFile: string | undefined; say: (line: string) => void }

/**
 * Starts Berth in a session of its own, so that it outlives this process and its terminal. Resolves when it is ready, has
 * given up waiting for that, or has ended.
 * @returns the exit code. @throws StartError when one runs already, or the log cannot be written.
 */
export async function startDetached({ dataDir }: Config, { words, logFile, say }: DetachedStart): Promise<number> {
  const run = findRun(dataDir)
  if (run)
    throw new StartError(
      `Berth already runs on ${dataDir}, at ${run.publicUrl}. Stop it first, or give this one a BERTH_DATA_DIR and a PORT of its own.`,
    )
  const log = resolve(logFile ?? join(dataDir, 'berth.log'))
  const beginsAt = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  const child = start(log, logFile === undefined ? [...words, '--log-file', log] : words)
  passSignals(child)
  const shown = new Set<string>()
  const lines = child.stdout ? createInterface({ input: child.stdout }) : []
  for await (const line of lines) {
    if (isOfProcess(line)) continue
    shown.add(line)
    say(line)
    if (!/^Berth (?:is ready at|has not answered)/.test(line)) continue
    say(`Its log is ${log}`)
    child.unref()
    return line.startsWith('Berth is ready') ? 0 : 1
  }
  const unseen = linesFrom(log, beginsAt).filter((line) => !shown.has(line))
  for (const line of unseen.slice(-lastLinesMax)) process.stderr.write(`${line}\n`)
  return ended(child)
}

/** What it prints before it has opened its log, and if it crashes, goes to the file by itself. */
function start(log: string, words: readonly string[]): ChildProcess {
  let errors: number
  try {
    errors = openSync(log, 'a', 0o600)
  } catch (error) {
    throw new StartError(
      `The log ${log} cannot be written: ${error instanceof Error ? error.message : String(error)}. Name another one: --log-file`,
      { cause: error },
    )
  }
  const program = join(import.meta.dirname, '../../start.ts')
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    detached: true,
    env: environmentWith({}),
    stdio: ['ignore', 'pipe', errors],
  })
  closeSync(errors)
  return child
}

/** Who interrupts us while we wait ends it too. */
function passSignals(child: ChildProcess): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name))
}

/** Lines of its processes have a name and a bar before them; those of the release say why a start fails. */
function isOfProcess(line: string): boolean {
  return /^[\w.-]+ +\| /.test(line) && !line.startsWith('release ')
}

function linesFrom(log: string, at: number): string[] {
  const bytes = readFileSync(log)
  return bytes
    .subarray(at > bytes.length ? 0 : at)
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
}

async function ended(child: ChildProcess): Promise<number> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode ?? 1
}

/**
 * Keeps one process running: restarts it when it dies, whatever its exit code, with an exponential backoff.
 * `concurrently` 10 is not enough: it does not restart a process that exits with code 0, its backoff has no upper limit
 * and is never reset, and it stops all processes at once, where the web process must stop first and Postgres last.
 */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { markProcess, type ProcessMark } from '#src/platform/locks/process-marks.ts'
import { pollUntil } from './wait.ts'

/** A process to keep running. */
export type Program = {
  name: string
  start: () => ChildProcess | Promise<ChildProcess>
  /** Resolves when it is up; without this, a started process counts as up. */
  waitUntilUp?: (child: ChildProcess) => Promise<void>
  /** Asks it to end; what still runs afterwards is killed. */
  stop: (child: ChildProcess) => Promise<void>
}

/** A program that is being kept running. */
export type Supervised = {
  name: string
  /** Resolves when it is up for the first time. */
  up: Promise<void>
  /** Ends it without a restart; resolves when it has ended. */
  stop: () => Promise<void>
  /** Sends it the signal immediately, without a restart. */
  kill: (signal: NodeJS.Signals) => void
}

/** Receives its output lines, and each process that is started. */
export type Watch = {
  onLine: (name: string, line: string) => void
  onStarted: (name: string, mark: ProcessMark) => void
}

const firstPauseMs = 200
const longestPauseMs = 5_000
/** A process that ran this long did not fail at its start, so the backoff is reset. */
const steadyAfterMs = 3_000
const killWaitMs = 5_000

/** Starts the program and keeps it running until it is stopped. */
export function supervise(program: Program, watch: Watch): Supervised {
  const { name } = program
  const up = Promise.withResolvers<void>()
  const stopping = new AbortController()
  let child: ChildProcess | undefined
  const ended = () => !child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null

  async function runOnce(): Promise<string> {
    child = await program.start()
    const end = Promise.withResolvers<string>()
    child.once('error', (error) => end.resolve(`could not start: ${error.message}`))
    child.once('exit', (code, signalName) => end.resolve(`ended (${signalName ?? `code ${code}`})`))
    followLines(child, (line) => watch.onLine(name, line))
    const mark = child.pid === undefined ? undefined : markProcess(child.pid)
    if (mark) watch.onStarted(name, mark)
    if (stopping.signal.aborted) await program.stop(child) // it was asked to stop while it was being started
    await program.waitUntilUp?.(child)
    if (!ended()) up.resolve()
    return end.promise
  }

  async function keepRunning(): Promise<void> {
    let pauseMs = firstPauseMs
    while (!stopping.signal.aborted) {
      // for as long as Berth runs: it has no other end
      const startedAt = performance.now()
      const how = await runOnce().catch(
        (error: unknown) => `did not come up: ${error instanceof Error ? error.message : String(error)}`,
      )
      if (stopping.signal.aborted) return
      if (!ended()) child?.kill('SIGKILL')
      if (performance.now() - startedAt >= steadyAfterMs) pauseMs = firstPauseMs
      watch.onLine(name, `${how}; starting it again in ${pauseMs / 1000} s`)
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => {
        /* stopped while waiting */
      })
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
  }

  const running = keepRunning()
  return {
    name,
    up: up.promise,
    stop: async () => {
      stopping.abort()
      if (child && !ended()) {
        await program.stop(child)
        if (!ended()) child.kill('SIGKILL')
        await pollUntil(ended, { limitMs: killWaitMs, everyMs: 20 })
      }
      await running
    },
    kill: (signalName) => {
      stopping.abort()
      if (!ended()) child?.kill(signalName)
    },
  }
}

/** Passes on every line that the child prints, on either output. */
export function followLines(child: ChildProcess, onLine: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine)
  }
}

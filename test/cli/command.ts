/** The command line as people run it: a process of its own, in a pipe or at a terminal. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environmentWith } from '#src/platform/config.ts'

const usualLimitMs = 20_000 // until it must have printed something

/** How one ended, and what it printed. */
export type Ended = { exit: number | null; out: string; err: string }

/** One that runs. */
export type Running = {
  child: ChildProcess
  ended: Promise<Ended>
  /** Waits until what it printed so far, to both outputs, has this. Rejects when it ends without it, and after 20 s or `limitMs`. */
  printed(text: string, limitMs?: number): Promise<void>
  /** What it printed so far, to both outputs. */
  text(): string
  type(text: string): void
}

/** A person's own folders, and the Berth that they use. */
export type Person = {
  home: string
  env: Record<string, string>
  start(words: readonly string[], more?: Record<string, string>): Running
  /** Runs a command to its end, with this on stdin. */
  run(words: readonly string[], input?: string, more?: Record<string, string>): Promise<Ended>
  /** Starts it at a terminal. */
  atTerminal(words: readonly string[], more?: Record<string, string>): Running
  leave(): void
}

/** Makes one. `env` are their variables, such as BERTH_URL; `cwd` is where they are, the checkout by default. */
export function makePerson(env: Record<string, string> = {}, cwd?: string): Person {
  const home = mkdtempSync(join(tmpdir(), 'berth-cli-'))
  const own = { ...env, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state') }
  const environment = (more: Record<string, string>): NodeJS.ProcessEnv => {
    const { CI: _, FORCE_COLOR: __, ...given } = environmentWith({ ...own, NODE_NO_WARNINGS: '1' }) // of who runs the tests
    return { ...given, ...more }
  }
  const main = join(import.meta.dirname, '../../cli/main.ts')
  const started: Running[] = []
  const kept = (running: Running): Running => {
    started.push(running)
    return running
  }
  const start = (words: readonly string[], more: Record<string, string> = {}): Running =>
    kept(watch(spawn(process.execPath, [main, ...words], { env: environment(more), stdio: 'pipe', cwd })))
  return {
    home,
    env: own,
    start,
    run(words, input = '', more = {}) {
      const running = start(words, more)
      running.child.stdin?.on('error', () => undefined) // it may end without reading
      running.child.stdin?.end(input)
      return running.ended
    },
    atTerminal(words, more = {}) {
      const line = [process.execPath, main, ...words].map((one) => `'${one.replaceAll("'", `'\\''`)}'`).join(' ')
      const variables = environment({ TERM: 'xterm', ...more })
      return kept(watch(spawn('script', ['-qec', line, '/dev/null'], { env: variables, stdio: 'pipe' })))
    },
    leave() {
      for (const { child } of started) if (child.exitCode === null) child.kill('SIGKILL') // of a test that failed
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** What a child prints, as it comes. */
export function watch(child: ChildProcess): Running {
  const printed = { out: '', err: '' }
  const waiting = new Set<() => void>()
  const look = (): void => {
    for (const one of waiting) one()
  }
  let isOver = false
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => ((printed.out += piece), look()))
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => ((printed.err += piece), look()))
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (exit) => {
      isOver = true
      look()
      resolve({ exit, ...printed })
    }),
  )
  return {
    child,
    ended,
    printed: (text, limitMs = usualLimitMs) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(() => {
          waiting.delete(check)
          reject(new Error(`not in ${limitMs} ms: '${text}'; it printed: ${JSON.stringify(printed)}`))
        }, limitMs)
        const check = (): void => {
          if (`${printed.out}${printed.err}`.includes(text)) resolve()
          else if (isOver) reject(new Error(`it ended without '${text}': ${printed.out}${printed.err}`))
          else return
          clearTimeout(limit)
          waiting.delete(check)
        }
        waiting.add(check)
        check()
      }),
    text: () => `${printed.out}${printed.err}`,
    type: (text) => void child.stdin?.write(text),
  }
}

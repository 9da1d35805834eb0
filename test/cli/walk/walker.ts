/** Walks along a recording, at a terminal or in a pipe, as somebody who types its commands into a shell. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { environmentWith } from '#src/platform/config.ts'
import { makePerson, watch, type Person } from '../command.ts'
import { plainOf, type Piece, type Step } from './recording.ts'

/** Where it walks. */
export type Mode = 'at a terminal' | 'in a pipe'

/** Somebody who walks. */
export type Walker = {
  person: Person
  /** Where files of theirs are. */
  folder: string
  /** Does all steps of a piece: what really happened, in the recording's form. */
  walk(piece: Extract<Piece, { kind: 'steps' }>): Promise<Step[]>
}

/** Makes one. `port` is where Berth is. */
export function makeWalker(mode: Mode, port: number, env: Record<string, string> = {}): Walker {
  const person = makePerson(env)
  const folder = join(person.home, 'here')
  const programs = join(person.home, 'programs')
  for (const path of [folder, programs]) mkdirSync(path)
  const main = join(import.meta.dirname, '../../../cli/main.ts')
  writeFileSync(join(programs, 'berth'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(join(programs, 'berth'), 0o755)
  const { CI: _, FORCE_COLOR: __, ...given } = environmentWith(person.env)
  const shell: Shell = {
    cwd: folder,
    env: { ...given, PATH: `${programs}:/usr/bin:/bin`, NODE_NO_WARNINGS: '1', NO_COLOR: '1', TERM: 'xterm' },
  }
  /** The last id of each kind that was printed: what `vm_<id>` in a command means. */
  const ids = new Map<string, string>()
  const step = mode === 'at a terminal' ? stepAtTerminal : stepInPipe
  return {
    person,
    folder,
    async walk({ steps, atTerminal }) {
      if (atTerminal && mode === 'in a pipe') return steps
      const walked: Step[] = []
      const named = (text: string): string =>
        text
          .replaceAll('localhost:4000', `localhost:${port}`)
          .replace(/\b([a-z]{2,8})_<id>/g, (whole, kind: string) => ids.get(kind) ?? whole)
      for (const recorded of steps) {
        const asked = { ...recorded, printed: recorded.printed.map(named) }
        const { output, exit } = await step(shell, named(recorded.command), asked)
        for (const [id, kind = ''] of output.matchAll(/\b([a-z]{2,8})_[0-9a-z]{26}\b/g)) ids.set(kind, id)
        walked.push({ command: recorded.command, printed: withTyped(plainOf(output, port), recorded), exit })
      }
      return walked
    },
  }
}

type Shell = { cwd: string; env: NodeJS.ProcessEnv }
type Done = { output: string; exit: number }

/** What is typed at its questions, with what stands before it. */
function typedIn({ printed }: Step): { question: string; typed: string }[] {
  return printed.flatMap((line) => {
    const [, question, typed] = /^(.*)«(.*)»$/.exec(line) ?? []
    return question === undefined || typed === undefined ? [] : [{ question: question.trim(), typed }]
  })
}

/** The lines as they are recorded: with a mark around what was typed. */
function withTyped(lines: string[], step: Step): string[] {
  const questions = typedIn(step)
  return lines.map((line) => {
    const found = questions.find(({ question, typed }) => line === `${question} ${typed}`.trimEnd())
    return found ? `${found.question} «${found.typed}»` : line
  })
}

async function stepAtTerminal({ cwd, env }: Shell, command: string, step: Step): Promise<Done> {
  const running = watch(spawn('script', ['-qec', command, '/dev/null'], { cwd, env, stdio: 'pipe' }))
  for (const { question, typed } of typedIn(step)) {
    await running.printed(question)
    running.type(`${typed}\r`)
  }
  const { exit, out } = await running.ended
  return { output: out, exit: exit ?? -1 }
}

/**
 * Nobody answers questions there: a command that would ask must refuse, and name the flag; then it is given the flag. JSON, which
 * is one line there, is shown as at a terminal.
 */
async function stepInPipe(shell: Shell, command: string, step: Step): Promise<Done> {
  const questions = typedIn(step)
  if (questions.length === 0) return shownAsJson(await inPipe(shell, command), command)
  const refused = await inPipe(shell, command)
  if (refused.exit !== 2 || refused.output !== 'berth: There is no terminal to ask at. Pass --yes.\n')
    return { output: `without --yes in a pipe: ${refused.exit} ${refused.output}`, exit: refused.exit }
  const done = await inPipe(shell, `${command} --yes`)
  return {
    output: `${questions.map(({ question, typed }) => `${question} ${typed}\n`).join('')}${done.output}`,
    exit: done.exit,
  }
}

async function inPipe({ cwd, env }: Shell, command: string): Promise<Done> {
  const child: ChildProcess = spawn('sh', ['-c', `{ ${command}\n} 2>&1`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => (output += piece))
  const [exit] = (await once(child, 'close')) as [number | null]
  return { output, exit: exit ?? -1 }
}

function shownAsJson(done: Done, command: string): Done {
  if (!/ --json\b|^berth api /.test(command) || done.exit !== 0) return done
  return { ...done, output: `${JSON.stringify(JSON.parse(done.output), null, 2)}\n` }
}

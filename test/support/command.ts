/** A command of Berth run as a process of its own, whose lines a test can wait for. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { environmentWith } from '../../src/platform/config.ts'

const usualLimitMs = 25_000

/** A running command. */
export type Command = {
  child: ChildProcess
  /** Every line of both outputs so far. */
  lines: string[]
  /** The first line that matches, from the given line number on; rejects after 25 s or `limitMs`, or when the command ends without it. */
  line: (pattern: RegExp, from?: number, limitMs?: number) => Promise<string>
  /** How it ended: its exit code, or null when a signal ended it. */
  ended: Promise<number | null>
}

/** Starts `node <words>` in the checkout. @param uid as another user, which only root may do. */
export function startCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  uid?: number,
): Command {
  const child = spawn(process.execPath, words, {
    env: environmentWith(variables),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const look of waiting) look()
  }
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      changed()
    })
  }
  let over = false
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      over = true
      changed()
      resolve(code)
    }),
  )
  const line = (pattern: RegExp, from = 0, limitMs = usualLimitMs) =>
    new Promise<string>((resolve, reject) => {
      const give = (settle: () => void) => {
        waiting.delete(look)
        clearTimeout(limit)
        settle()
      }
      const fail = (why: string) => give(() => reject(new Error(`${why} ${pattern}; it said:\n${lines.join('\n')}`)))
      const limit = setTimeout(() => fail(`no line in ${limitMs / 1000} s fits`), limitMs)
      function look(): void {
        const found = lines.slice(from).find((one) => pattern.test(one))
        if (found !== undefined) give(() => resolve(found))
        else if (over) fail('the command ended before a line fitted')
      }
      waiting.add(look)
      look()
    })
  return { child, lines, line, ended }
}

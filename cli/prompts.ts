/** Questions to the person at the terminal; without one, what to pass instead. */
import { createInterface } from 'node:readline/promises'
import { exits, Failure, UsageError } from './errors.ts'

/** Whether somebody can answer. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Asks for a line. @throws UsageError, which names the flag, when nobody can answer. */
export async function ask(question: string, { flag, usual }: { flag: string; usual?: string }): Promise<string> {
  if (!isInteractive()) throw new UsageError(`There is no terminal to ask at. Pass ${flag}.`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const interrupted = new Promise<never>((_resolve, reject) => {
      lines.once('SIGINT', () => reject(new Failure('Interrupted.', exits.interrupted)))
      lines.once('close', () => reject(new Failure('Nothing was answered.')))
    })
    const shown = usual === undefined ? question : `${question} [${usual}]`
    const answer = (await Promise.race([lines.question(`${shown} `), interrupted])).trim()
    return answer || usual || ''
  } finally {
    lines.removeAllListeners('close')
    lines.close()
  }
}

/** Asks for a yes. @throws UsageError without a terminal; Failure for anything but a yes. */
export async function confirm(question: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return
  const answer = await ask(`${question} [y/N]`, { flag: '--yes' })
  if (!/^y(?:es)?$/i.test(answer)) throw new Failure('Nothing was done.')
}

/** All of stdin as text. */
export async function readStdin(): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer) // it has no encoding
  return Buffer.concat(pieces).toString('utf8')
}

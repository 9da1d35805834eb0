/** Runs the blocks of a document as if a reader pasted them into a shell, one after the other. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

const turnLimitMs = 200_000
const blockLimitMs = 120_000

/** The blocks of shell of a document, or of one of its sections. Blocks that start Berth or call our own commands are left out. */
export function shellBlocks(path: string, heading?: string): string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const section =
    heading === undefined ? text : (new RegExp(`\n## ${heading}\n([^]*?)(?:\n## |$)`).exec(text)?.[1] ?? '')
  return [...section.matchAll(/```sh\n([^]*?)```/g)]
    .map((match) => match[1] ?? '')
    .filter((block) => !/^(?:export \w+=\$\()?npm /.test(block))
}

/**
 * Runs the blocks in one shell, and returns what each printed. Presses Ctrl-C when a session's stream says `end_turn`.
 * @param url where Berth is, in place of the address that is printed.
 * @param folder where the shell is; a new one without it, which is removed.
 */
export async function paste(
  printed: readonly string[],
  { url, folder, env }: { url: string; folder?: string; env: Record<string, string> },
): Promise<string[]> {
  const own = folder === undefined ? mkdtempSync(join(tmpdir(), 'berth-walk-')) : undefined
  const shell = spawn('bash', ['-s'], {
    cwd: folder ?? own,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => shell.once('exit', resolve))
  let said = ''
  shell.stdout.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  const answers: string[] = []
  shell.stdin.write('trap : INT\n') // an interactive shell outlives Ctrl-C; what it runs does not
  try {
    for (const block of printed) {
      said = ''
      shell.stdin.write(`${block.replaceAll('http://localhost:4000', url)}\necho; echo __done__\n`)
      if (block.includes('/events/stream')) {
        await until(`the stream says end_turn after ${said}`, () => said.includes('"end_turn"'), turnLimitMs)
        process.kill(-(shell.pid ?? NaN), 'SIGINT')
      }
      await until(`this block ends: ${block}`, () => said.includes('__done__'), blockLimitMs)
      answers.push(said.split('\n__done__')[0] ?? '')
    }
    shell.stdin.end()
    await ended
  } finally {
    shell.kill()
    if (own) rmSync(own, { recursive: true, force: true })
  }
  return answers
}

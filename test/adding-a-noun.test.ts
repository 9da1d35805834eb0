/** CONTRIBUTING's chapter "Adding a noun", followed to the letter in a scratch copy of the repository: it is complete. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './architecture/sources.ts'

const copied = [
  'package.json',
  'tsconfig.json',
  'biome.json',
  'Procfile',
  'schema',
  'src',
  'workers',
  'rest-compat',
  'test',
  'README.md',
  'docs',
  'CONTRIBUTING.md',
]
const chapter = /^## Adding a noun\n(.*?)^## /ms.exec(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'))?.[1] ?? ''
const step =
  /^(?:New `(?<path>[^`]+)`|In `(?<edited>[^`]+)`, behind `(?<line>[^\n]+)`):\n\n```\w+\n(?<text>.*?)^```$/gms
const longMs = 300_000
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-noun-'))
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program of the scratch copy; what it printed, and how it ended. */
async function run(...args: string[]): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, text }
}

const vitest = (...args: string[]): ReturnType<typeof run> =>
  run('node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--project', 'fast', ...args)

test(
  'following it to the letter makes a noun that type-checks, passes its tests, and is in the graph and over REST',
  async () => {
    const steps = [...chapter.matchAll(step)].map(({ groups }) => groups ?? {})
    expect(steps.length).toBeGreaterThan(10)
    const last = readdirSync(join(folder, 'src/platform/migrations')).toSorted().at(-1) ?? ''
    const next = String(Number(last.slice(0, 4)) + 1).padStart(4, '0')
    for (const { path, edited, line, text = '' } of steps) {
      if (path) {
        const file = join(folder, path.replace('{next}', next))
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text)
        continue
      }
      const file = join(folder, edited ?? '')
      const before = readFileSync(file, 'utf8')
      expect(before.split('\n'), `${edited} has the line ${line}`).toContain(line)
      writeFileSync(
        file,
        before.replace(`${line}\n`, () => `${line}\n${text}`),
      )
    }
    for (const generated of [['tables'], ['sizes', 'nouns']]) {
      const files = generated.map((name) => `test/architecture/${name}.test.ts`)
      expect(await vitest(...files, '--update')).toMatchObject({ code: 0 })
    }
    expect(await run('schema/print.ts')).toMatchObject({ code: 0 })
    expect(await run('node_modules/typescript/bin/tsc', '--noEmit')).toEqual({ code: 0, text: '' })
    const made = steps.flatMap(({ path }) => (path?.endsWith('.ts') ? [path] : []))
    expect((await run('node_modules/@biomejs/biome/bin/biome', 'format', ...made)).text).toMatch(/No fixes applied/)
    const architecture = ['schema', 'used', 'owners', 'tables', 'sizes', 'floors', 'nouns', 'style'].map(
      (name) => `test/architecture/${name}.test.ts`,
    )
    const { code, text } = await vitest('test/infra/notes.test.ts', ...architecture)
    expect(text.slice(-4_000)).not.toMatch(/FAIL/)
    expect(code).toBe(0)
  },
  longMs,
)

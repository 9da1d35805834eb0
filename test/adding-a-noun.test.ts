/** CONTRIBUTING's chapter "Adding a noun", followed to the letter in a scratch copy of the repository: it is complete. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './architecture/sources.ts'
import { patternOf } from './near/columns.ts'
import { testsOfAll } from './near/runs.ts'

const copied = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'biome.json',
  'Procfile',
  'schema',
  'src',
  'console',
  'deploy',
  'cli',
  'workers',
  'rest-compat',
  'test',
  'README.md',
  'docs',
  'CONTRIBUTING.md',
]
const chapter = /^## Adding a noun\n(.*?)^## /ms.exec(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'))?.[1] ?? ''
const step =
  /^(?:New `(?<path>[^`]+)`:\n\n```\w+\n(?<text>.*?)^```|\| `(?<edited>[^`]+)` \| `(?<line>[^\n|]+)` \| `(?<added>[^\n|]+)` \|)$/gms
const longMs = 600_000
/** What is generated, as `npm run generate` does it. */
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { generate: string } }
const operations = ['/api/v1/notes', 'note', 'notes', 'createNote', 'updateNote', 'archiveNote', 'deleteNote']
/** What looks at each operation, and says so by its name. */
const contractTests = ['tenants', 'vm-tokens', 'openapi', 'thrice', 'unknown-keys', 'names/empty-updates']
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-noun-'))
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program in the scratch copy; what it printed, and how it ended. */
async function run(program: string, ...args: string[]): Promise<{ code: number; text: string }> {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, text }
}

const node = (...args: string[]): ReturnType<typeof run> => run(process.execPath, ...args)
async function expectPassing(least: number, ...args: string[]): Promise<void> {
  const projects = ['--project', 'fast', '--project', 'slow']
  const { code, text } = await node(
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    ...projects,
    ...args,
  )
  expect(text.slice(-4_000)).not.toMatch(/FAIL/)
  expect(code).toBe(0)
  expect(Number(/Tests +(\d+) passed/.exec(stripVTControlCharacters(text))?.[1])).toBeGreaterThanOrEqual(least)
}

test(
  'following it to the letter makes a noun that type-checks, passes its tests and the contract tests, and is in the graph and over REST',
  async () => {
    const steps = [...chapter.matchAll(step)].map(({ groups }) => groups ?? {})
    expect(steps.length).toBeGreaterThan(10)
    const last = readdirSync(join(folder, 'src/platform/migrations')).toSorted().at(-1) ?? ''
    const next = String(Number(last.slice(0, 4)) + 1).padStart(4, '0')
    for (const { path, text = '', edited, line, added } of steps) {
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
        before.replace(`${line}\n`, () => `${line}\n${added}\n`),
      )
    }
    expect(await run('sh', '-c', scripts.generate)).toMatchObject({ code: 0 })
    expect(await node('node_modules/typescript/bin/tsc', '--noEmit')).toEqual({ code: 0, text: '' })
    const made = steps.flatMap(({ path }) => (path?.endsWith('.ts') ? [path] : []))
    expect((await node('node_modules/@biomejs/biome/bin/biome', 'format', ...made)).text).toMatch(/No fixes applied/)
    const architecture = ['schema', 'used', 'owners', 'rows', 'tables', 'sizes', 'floors', 'nouns', 'style'].map(
      (name) => `test/architecture/${name}.test.ts`,
    )
    await expectPassing(50, 'test/infra/notes.test.ts', ...architecture)
    const files = [...contractTests.map((name) => `contract/${name}`), 'gateway/docs-page'].map(
      (name) => `test/${name}.test.ts`,
    )
    await expectPassing(
      70,
      ...files,
      '--testNamePattern',
      patternOf([...testsOfAll, ...operations, 'has an example of a body']),
    )
  },
  longMs,
)

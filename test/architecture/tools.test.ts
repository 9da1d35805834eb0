/** The gate of the tools: every file is formatted, and the linter, which knows the types, finds nothing. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { firstFiles } from '../support/longest-first.ts'
import { measuredTests, slowTests, waitingTests } from '../vitest.config.ts'
import { root } from './sources.ts'

const outputBytes = 16 * 2 ** 20
const toolTimeoutMs = 120_000

/** What a tool of ours prints about the checkout, and the code it ends with. */
async function run(script: string, ...words: readonly string[]): Promise<{ code: number; said: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [`node_modules/${script}`, ...words], {
      cwd: root,
      maxBuffer: outputBytes,
      timeout: toolTimeoutMs,
    })
    return { code: 0, said: stdout + stderr }
  } catch (error) {
    const failed = error as { code?: number | string; stdout?: string; stderr?: string } // what execFile adds to its error
    return { code: Number(failed.code ?? 1), said: `${failed.stdout ?? ''}${failed.stderr ?? ''}` || String(error) }
  }
}

test(
  'every file is formatted as `npm run format` writes it',
  async () => {
    const { code, said } = await run('@biomejs/biome/bin/biome', 'format', '--colors=off', '.')
    expect(code, said).toBe(0)
    expect(Number(/Checked (\d+) files/.exec(said)?.[1])).toBeGreaterThan(500) // it looked at the tree
  },
  toolTimeoutMs,
)

const lint = (...words: readonly string[]): ReturnType<typeof run> =>
  run('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--format=unix', ...words)

test(
  'the linter finds no fault in any file',
  async () => {
    const { code, said } = await lint()
    expect(said.trim()).toBe('')
    expect(code).toBe(0)
  },
  toolTimeoutMs,
)

test('the linter knows the types: it finds a promise that nobody awaits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-lint-'))
  try {
    writeFileSync(join(folder, 'tsconfig.json'), '{ "compilerOptions": { "strict": true } }')
    writeFileSync(join(folder, 'wrong.ts'), 'const save = async () => 1\nsave()\n')
    const { code, said } = await lint('--config', `${root}/.oxlintrc.json`, folder)
    expect(said).toContain('no-floating-promises')
    expect(code).toBe(1)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('every file that is excluded from the fast tests exists', () => {
  const excluded = [...slowTests, ...measuredTests, ...waitingTests]
  expect(excluded.filter((path) => !existsSync(`${root}/${path}`) || path.endsWith('.vm.test.ts'))).toEqual([])
  expect(new Set(excluded).size).toBe(excluded.length)
})

test('every file that is to begin first exists, and is a slow one', () => {
  const isSlow = (path: string): boolean =>
    path.endsWith('.vm.test.ts') || [...slowTests, ...measuredTests, ...waitingTests].includes(path)
  expect(firstFiles.filter((path) => !existsSync(`${root}/${path}`) || !isSlow(path))).toEqual([])
})

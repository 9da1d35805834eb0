/** The examples that need no VM, and the programs that docs/models.md prints, run as they are by a Node of their own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from './support/berth.ts'
import { makeKey } from './support/makers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const runLimitMs = 25_000

let berth: Berth
let env: Record<string, string>
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  const token = await berth.token('alice', 'acme', 'owner')
  const { key } = await makeKey(berth, token)
  env = { TOKEN: token, KEY: key, SERVER_URL: berth.url }
})
afterAll(() => berth.stop())

/** Runs a program, and answers what it printed; fails when it fails or does not end. */
async function run(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: root,
    env: { ...process.env, ...env },
    timeout: runLimitMs,
  })
  return stdout
}

test.each(['chat-openai.mjs', 'chat-ai-sdk.mjs', 'chat-langchain.mjs', 'chat-openai-agents.mjs'])(
  '%s prints what the built-in model answers',
  async (name) => {
    expect(await run(`examples/${name}`)).toContain('Hello!')
  },
)

test('agent-anthropic.mjs answers the tool that the agent asks for, and ends with the turn', async () => {
  expect((await run('examples/agent-anthropic.mjs')).trim().split('\n')).toEqual([
    'clock is asked for: {"zone":"UTC"}',
    'agent: Now you know.',
  ])
})

test('agent-eventsource.mjs follows a run from its beginning to its rest', async () => {
  const printed = (await run('examples/agent-eventsource.mjs')).trim().split('\n')
  expect(printed).toContain('Hello from a run.')
  expect(printed[0]).toMatch(/^(?:user\.message|session\.status_running)$/)
  expect(printed.at(-1)).toBe('session.status_idle')
})

test('the programs that docs/models.md prints run as printed', async () => {
  const document = readFileSync(join(root, 'docs/models.md'), 'utf8')
  const programs = [...document.matchAll(/```js\n([^]*?)```/g)].map((match) => match[1] ?? '')
  expect(programs).toHaveLength(7)
  const folder = mkdtempSync(join(root, 'test/printed-')) // in the checkout, where the SDKs are found
  try {
    for (const [at, program] of programs.entries()) {
      const file = join(folder, `${at}.mjs`)
      writeFileSync(file, program.replaceAll('http://localhost:4000', berth.url))
      expect(await run(file)).toContain('Hello!')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

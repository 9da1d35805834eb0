/** The source of a real published npm package, built in a VM with its own tests; its test runner comes through the egress proxy. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { finished, submit } from '../../support/builds.ts'
import { startGitServer, type GitServer } from '../../support/git/git-server.ts'

const packageName = 'minimist@1.2.8' // small, and its tests are in what was published
const testRunner = 'tape@4.0.0' // the same 153 tests pass as with the newest, which brings 126 packages
const forgetLinters = `node -e "const fs = require('fs'); const made = JSON.parse(fs.readFileSync('package.json')); delete made.devDependencies; fs.writeFileSync('package.json', JSON.stringify(made))"`
const buildLimitMs = 400_000
let berth: Berth
let git: GitServer
let token: string

beforeAll(async () => {
  git = await startGitServer()
  git.addRepository('minimist', publishedSource())
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_VM_HOST_PORTS: String(git.port) } })
  token = await berth.token()
}, 180_000)
afterAll(async () => {
  git?.stop()
  await berth?.stop()
})

/** The package's files as npm serves them. */
function publishedSource(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-package-'))
  try {
    const [archive = ''] = execFileSync('npm', ['pack', packageName, '--silent'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split('\n')
      .slice(-1)
    execFileSync('tar', ['-xzf', archive], { cwd: folder })
    const root = join(folder, 'package')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .map((name) => join(root, name))
      .filter((path) => statSync(path).isFile())
    return Object.fromEntries(files.map((path) => [relative(root, path), readFileSync(path, 'utf8')]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test(
  'it is cloned, its tests pass in the VM, and what was tested is kept',
  async () => {
    const spec = {
      // Only the runner of its tests: the linters among its development packages would take the emulated machine minutes.
      commands: [
        forgetLinters,
        `npm install --no-save --no-audit --no-fund --ignore-scripts ${testRunner}`,
        "node_modules/.bin/tape 'test/**/*.js'",
        'mkdir dist && cp index.js package.json dist/',
      ],
      output: { type: 'artifact', name: 'minimist', path: 'dist' },
      timeout_seconds: 380,
      cache: true,
    }
    const made = await submit(berth, token, spec, { repo_url: `http://host.berth.internal:${git.port}/minimist.git` })
    const { job, log } = await finished(berth, token, made, buildLimitMs)
    expect(log).toMatch(/^# pass +\d{2,}$/m)
    expect(log).not.toMatch(/^not ok/m)
    expect(job).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      error: null,
      commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
  },
  buildLimitMs + 20_000,
)

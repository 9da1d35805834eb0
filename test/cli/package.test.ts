/** The command line by itself: its package, installed into an empty folder and run by whatever `node` is in the PATH. */
import { execFile } from 'node:child_process'
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packCli } from '#src/start/pack-cli.ts'
import { environmentWith } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { append, makeSessionRow } from '../support/sessions.ts'

const run = promisify(execFile)
const bytesMax = 2_000_000
/** The user that Debian has for programs that shall own nothing. */
const nobody = { uid: 65_534, gid: 65_534 }
let berth: Berth
let token: string
let folder: string
let packed: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  folder = mkdtempSync(join(tmpdir(), 'berth-package-'))
  packed = await packCli(folder)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await berth.stop()
})

/** The machine's own Node is looked for outside the checkout, whose scripts put Node 26 first. */
function pathOfMachine(): string {
  const own = environmentWith({})['PATH'] ?? ''
  return own
    .split(':')
    .filter((one) => !one.includes('node_modules'))
    .join(':')
}

test('it is small, is installed without asking any registry, and does on the machine’s own Node what it does here', async () => {
  expect(statSync(packed).size).toBeLessThan(bytesMax)
  const env = environmentWith({ PATH: pathOfMachine(), HOME: folder, BERTH_URL: berth.url, BERTH_TOKEN: token })
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--prefix', folder, packed], { env })
  const command = join(folder, 'node_modules/.bin/berth')
  const berthCommand = (...words: string[]) => run(command, words, { env })
  expect(
    Number((await run('node', ['-p', 'process.versions.node.split(".")[0]'], { env })).stdout),
  ).toBeGreaterThanOrEqual(20)
  expect((await berthCommand('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  const made = await berthCommand('project', 'create', 'packed')
  expect((await berthCommand('project', 'ls', '--json')).stdout).toContain(made.stdout.trim())
  writeFileSync(join(folder, 'berth.yaml'), 'projects: {packed: {}}\n')
  expect((await berthCommand('apply', '-f', join(folder, 'berth.yaml'))).stdout).toMatch(/^= 1 unchanged/)
  expect((await berthCommand('export', '--schema')).stdout).toContain('"title": "A file for berth apply"')
  // A stream, whose web socket Node 20 does not have by itself.
  const row = await makeSessionRow(berth.services.db, token)
  await append(berth.services.db, row, {
    type: 'agent.message',
    data: { content: [{ type: 'text', text: 'over a socket' }] },
  })
  const id = encodeId('session', row)
  const following = berthCommand('session', 'transcript', id, '--follow')
  let printed = ''
  following.child.stdout?.on('data', (piece: string) => (printed += piece))
  await expect.poll(() => printed).toContain('over a socket')
  following.child.kill('SIGINT')
  await expect(following).rejects.toMatchObject({ code: 130 })
  await expect(berthCommand('vm', 'creat')).rejects.toMatchObject({ code: 2 })
  await expect(berthCommand('up')).rejects.toMatchObject({
    code: 1,
    stderr:
      'berth: berth up works on the host of a Berth, whose checkout is not here: run it in that checkout, as npx berth up or npm start.\n',
  })
})

/** Why a test cannot become somebody else; undefined when it can. */
const whyNotNobody = process.getuid?.() === 0 ? undefined : 'only root may run a program as another user'

test('another user installs it into an empty folder, without a registry, and signs in for themselves', async () => {
  if (whyNotNobody !== undefined) {
    // The same with our own user is the test above; this one says why it does no more.
    expect(process.getuid?.()).toBeGreaterThan(0)
    return
  }
  const theirs = mkdtempSync(join(tmpdir(), 'berth-nobody-'))
  try {
    const tarball = join(theirs, 'berth-cli.tgz')
    copyFileSync(packed, tarball)
    mkdirSync(join(theirs, 'home'))
    for (const path of [theirs, tarball, join(theirs, 'home')]) chownSync(path, nobody.uid, nobody.gid)
    // Nothing of ours: no token, no cache of npm, no folder that they may not enter; and a registry that does not answer.
    const env = {
      PATH: pathOfMachine(),
      HOME: join(theirs, 'home'),
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_update_notifier: 'false',
    }
    const asThem = (file: string, ...words: string[]) => run(file, words, { env, cwd: theirs, ...nobody })
    await asThem('npm', 'install', '--no-audit', '--no-fund', '--prefix', theirs, tarball)
    const command = join(theirs, 'node_modules/.bin/berth')
    const uid = Number((await asThem('node', '-p', 'process.getuid()')).stdout)
    expect([uid, statSync(command).uid]).toEqual([nobody.uid, nobody.uid])
    expect((await asThem(command, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    await expect(asThem(command, 'vm', 'ls')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('login'),
    })
    const login = asThem(command, 'login', berth.url, '--token-file', '-')
    login.child.stdin?.end(token)
    expect((await login).stdout).toBe('Signed in as alice (acme, owner).\n')
    expect(statSync(join(theirs, 'home/.local/state/berth/credentials.json'))).toMatchObject({ uid: nobody.uid })
    expect(await asThem(command, 'vm', 'ls')).toMatchObject({ stdout: '', stderr: 'None.\n' })
  } finally {
    rmSync(theirs, { recursive: true, force: true })
  }
}, 120_000)

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
})
afterAll(() => running.stop())

/** Runs a command as `npm run -s token --` does. */
function run(
  words: string[],
  variables: Record<string, string> = {},
  command = 'token',
): Promise<{ code: number | null; out: string; errors: string }> {
  const { config, database } = running.services
  const own = { DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir, PORT: String(config.port) }
  const child = spawn(process.execPath, [`src/identity/${command}.ts`, ...words], {
    env: environmentWith({ ...own, ...variables }),
  })
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })))
}

describe('npm run -s token', () => {
  it('prints a token that works, and nothing else', async () => {
    const { code, out, errors } = await run(['--user', 'carol', '--org', 'tools', '--role', 'member', '--ttl', '15m'])
    expect([code, errors]).toEqual([0, ''])
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const claims = decodeJwt(out.trim())
    expect(claims.exp! - claims.iat!).toBe(900)
    expect(claims['role']).toBe('member')
    expect((await running.ask('{ me { name } }', { token: out.trim() })).status).toBe(200)
  })

  it('says in one sentence what is wrong with the command line, and exits 2', async () => {
    for (const words of [
      [],
      ['--user', 'a'],
      ['--user', 'a', '--org', 'b', '--role', 'king'],
      ['--user', 'a', '--org', 'b', '--ttl', '31d'],
      ['--colour'],
      ['--user', 'a', '--org', 'b', 'c'],
    ]) {
      const { code, out, errors } = await run(words)
      expect([words, code, out, errors.trim().split('\n').length]).toEqual([words, 2, '', 1])
    }
  })

  it('creates nothing after a typing error: it names the nearest name, and the flag that creates one', async () => {
    const names = async (): Promise<unknown> =>
      (
        await running.services.database.pool.query(
          'select name from organizations union all select name from users order by 1',
        )
      ).rows
    const before = await names()
    expect(await run(['--user', 'carol', '--org', 'toosl'])).toEqual({
      code: 1,
      out: '',
      errors: 'There is no organization named toosl. Did you mean tools? Add --create to create it.\n',
    })
    expect(await run(['--user', 'carl', '--org', 'tools'])).toEqual({
      code: 1,
      out: '',
      errors: 'tools has no member named carl. Did you mean carol? Add --create to create it.\n',
    })
    expect(await run(['--user', 'zoe', '--org', 'elsewhere'])).toEqual({
      code: 1,
      out: '',
      errors: 'There is no organization named elsewhere. Add --create to create it.\n',
    })
    expect(await names()).toEqual(before)
    const made = await run(['--user', 'zoe', '--org', 'elsewhere', '--create'])
    expect([made.code, made.errors, decodeJwt(made.out.trim())['role']]).toEqual([0, '', 'owner'])
  })

  it('with a lower role grants less than the membership, which stays as it is; without one it has the membership’s role', async () => {
    const roleOf = async (...words: string[]): Promise<unknown> =>
      decodeJwt((await run(['--user', 'zoe', '--org', 'elsewhere', ...words])).out.trim())['role']
    expect([await roleOf('--role', 'viewer'), await roleOf(), await roleOf('--role', 'owner')]).toEqual([
      'viewer',
      'owner',
      'owner',
    ])
  })

  it('says that Berth does not run, or that its database does not answer, and exits 1', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'berth-token-'))
    try {
      const nothing = await run(['--user', 'a', '--org', 'b'], { DATABASE_URL: '', BERTH_DATA_DIR: elsewhere })
      expect([nothing.code, nothing.out, nothing.errors]).toEqual([
        1,
        '',
        `Berth is not running on the data folder ${elsewhere}. Start it with npm start, or set the BERTH_DATA_DIR that it was started with: every command needs the same.\n`,
      ])
      const away = await run(['--user', 'a', '--org', 'b'], { DATABASE_URL: `postgres://x:y@/x?host=${elsewhere}` })
      expect([away.code, away.out, away.errors]).toEqual([
        1,
        '',
        'The database does not answer. Is Berth running? Start it with: npm start\n',
      ])
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
  })
})

describe('npm run rotate-keys', () => {
  it('signs with a new key from now on, and a token of the previous key stays valid', async () => {
    const { out: before } = await run(['--user', 'dora', '--org', 'tools', '--create'])
    expect(await run([], {}, 'rotate-keys')).toEqual({
      code: 0,
      out: 'A new key signs tokens from now on.\n',
      errors: '',
    })
    const { out: after } = await run(['--user', 'dora', '--org', 'tools'])
    expect(decodeProtectedHeader(after.trim()).kid).not.toBe(decodeProtectedHeader(before.trim()).kid)
    for (const token of [before, after])
      expect((await running.ask('{ me { name } }', { token: token.trim() })).status).toBe(200)
  })

  it('says in one sentence that settings are wrong, or that Berth does not run', async () => {
    const { code, out } = await run(['--help'], {}, 'rotate-keys')
    expect([code, out]).toEqual([0, expect.stringContaining('npm run rotate-keys')])
    for (const words of [['now'], ['--now']])
      expect(await run(words, {}, 'rotate-keys')).toEqual({
        code: 2,
        out: '',
        errors: 'The command takes no arguments: npm run rotate-keys\n',
      })
    expect(await run([], { PORT: 'http' }, 'rotate-keys')).toMatchObject({
      code: 2,
      out: '',
      errors: expect.stringContaining('PORT must be'),
    })
    expect(await run([], { DATABASE_URL: '' }, 'rotate-keys')).toEqual({
      code: 1,
      out: '',
      errors: expect.stringContaining('set the BERTH_DATA_DIR that it was started with') as string,
    })
  })
})

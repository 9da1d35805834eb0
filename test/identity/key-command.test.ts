import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

/** Runs the command as `npm run -s key --` does. */
function run(words: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const { config, database } = berth.services
  const child = spawn(process.execPath, ['src/identity/key.ts', ...words], {
    env: environmentWith({ DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir, PORT: String(config.port) }),
  })
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })))
}

describe('npm run -s key', () => {
  it('prints a key that works, and nothing else, and the organization lists it', async () => {
    const { code, out, errors } = await run(['--org', 'fresh', '--name', 'laptop', '--days', '30'])
    expect([code, errors]).toEqual([0, ''])
    expect(out).toMatch(/^svc_live_ak_[0-9a-z]{16}\.[\w-]{43}\n$/)
    expect((await berth.call('GET', '/llm/v1/models', { token: out.trim() })).status).toBe(200)
    const { body } = await berth.ask('{ apiKeys { nodes { name lastFour expiresAt } } }', {
      token: await berth.token('alice', 'fresh', 'viewer'),
    })
    expect(body.data).toEqual({
      apiKeys: { nodes: [{ name: 'laptop', lastFour: out.trim().slice(-4), expiresAt: expect.stringMatching(/Z$/) }] },
    })
  })

  it('says in one sentence what is wrong with the command line, and exits 2', async () => {
    for (const words of [
      [],
      ['--org', 'a'],
      ['--name', 'a'],
      ['--org', 'a', '--name', 'b', '--days', '0'],
      ['--org', 'a', '--name', 'b', '--days', '3654'],
      ['--org', 'a', '--name', 'b', 'c'],
      ['--colour'],
    ]) {
      const { code, out, errors } = await run(words)
      expect([words, code, out, errors.trim().split('\n').length]).toEqual([words, 2, '', 1])
    }
  })

  it('creates no organization after a typing error: it names the nearest one, and the flag that creates one', async () => {
    expect(await run(['--org', 'fersh', '--name', 'x'])).toEqual({
      code: 1,
      out: '',
      errors: 'There is no organization named fersh. Did you mean fresh? Add --create to create it.\n',
    })
    expect(await run(['--org', 'fresh', '--name', 'x', '--user', 'nobody'])).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringMatching(/^There is no user named nobody\..*--create/),
    })
    expect((await run(['--org', 'fersh', '--name', 'x', '--create'])).code).toBe(0)
  })

  it('says what is wrong with a name, and makes nothing', async () => {
    expect(await run(['--org', 'unmade', '--name', 'x'.repeat(256), '--create'])).toEqual({
      code: 1,
      out: '',
      errors: 'name must have 1 to 255 characters.\n',
    })
    const { rows } = await berth.services.database.pool.query("select 1 from organizations where name = 'unmade'")
    expect(rows).toEqual([])
  })
})

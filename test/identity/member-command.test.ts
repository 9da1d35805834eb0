import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
  await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

/** Runs the command as `npm run -s member --` does. */
function run(words: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const { config, database } = berth.services
  const child = spawn(process.execPath, ['src/identity/member.ts', ...words], {
    env: environmentWith({ DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir, PORT: String(config.port) }),
  })
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })))
}

describe('npm run -s member', () => {
  it('lists, changes a role, and removes; a running Berth knows at once', async () => {
    const bob = await berth.token('bob', 'acme', 'admin')
    const role = async (): Promise<unknown> => (await berth.ask('{ viewer { role } }', { token: bob })).body.data
    expect(await run(['--org', 'acme'])).toEqual({ code: 0, out: 'owner   alice\nadmin   bob\n', errors: '' })
    expect(await run(['role', '--org', 'acme', '--user', 'bob', '--role', 'viewer'])).toEqual({
      code: 0,
      out: 'bob is now viewer of acme.\n',
      errors: '',
    })
    expect(
      await pollUntil(async () => JSON.stringify(await role()) === '{"viewer":{"role":"VIEWER"}}', {
        limitMs: 1_000,
        everyMs: 20,
      }),
    ).toBe(true)
    expect(await run(['remove', '--org', 'acme', '--user', 'bob'])).toEqual({
      code: 0,
      out: 'bob no longer belongs to acme.\n',
      errors: '',
    })
    expect(
      await pollUntil(async () => (await berth.ask('{ viewer { role } }', { token: bob })).status === 401, {
        limitMs: 1_000,
        everyMs: 20,
      }),
    ).toBe(true)
  })

  it('leaves the last owner, and says what to do', async () => {
    const sentence = 'alice is the last owner of the organization. Make somebody else an owner first.\n'
    expect(await run(['remove', '--org', 'acme', '--user', 'alice'])).toEqual({ code: 1, out: '', errors: sentence })
    expect(await run(['role', '--org', 'acme', '--user', 'alice', '--role', 'viewer'])).toEqual({
      code: 1,
      out: '',
      errors: sentence,
    })
  })

  it('says which name was probably intended', async () => {
    expect(await run(['--org', 'acmee'])).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringContaining('Did you mean acme?'),
    })
    expect(await run(['remove', '--org', 'acme', '--user', 'alise'])).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringContaining('Did you mean alice?'),
    })
  })

  it('says how it is used when asked, and in one sentence what is wrong with the command line', async () => {
    expect(await run(['--help'])).toEqual({ code: 0, out: expect.stringContaining('remove --org'), errors: '' })
    const wrong = [
      [],
      ['remove', '--org', 'acme'],
      ['role', '--org', 'acme', '--user', 'alice', '--role', 'king'],
      ['fire', '--org', 'acme'],
    ]
    const answers = await Promise.all(wrong.map(run))
    expect(answers.map(({ code, out, errors }) => [code, out, errors.trim().split('\n').length])).toEqual(
      wrong.map(() => [2, '', 1]),
    )
  })
})

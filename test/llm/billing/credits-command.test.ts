/** The operator's command for credits and plans, run as it is by hand. */
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { startApp, type RunningApp } from '../../gateway/running-app.ts'
import { idsOf } from '../../support/makers.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
  await running.token('alice', 'acme')
})
afterAll(() => running.stop())

/** Runs the command as `npm run -s credits --` does. */
function run(...words: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const { config, database } = running.services
  const child = spawn(process.execPath, ['src/identity/credits.ts', ...words], {
    env: environmentWith({ DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir, PORT: String(config.port) }),
  })
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })))
}

describe('npm run -s credits', () => {
  it('grants, takes back, and shows what is left', async () => {
    const { code, out, errors } = await run('grant', '--org', 'acme', '--usd', '25.5', '--note', 'first month')
    expect([code, errors]).toEqual([0, ''])
    expect(out).toBe(
      'organization  acme\nplan          self_hosted\nleft          $25.5, $0 of it reserved for requests\ngranted       $25.5\nspent         $0\nthis month    $0\n',
    )
    expect((await run('grant', '--org', 'acme', '--usd=-0.5')).out).toContain('left          $25, ')
    expect((await run('show', '--org', 'acme')).out).toContain('granted       $25\n')
    const { organizationId } = idsOf(await running.token('alice', 'acme'))
    const grants = await findAll<{ grantedBy: string }>(
      running.services.db,
      sql`select amount_nano_usd, note, granted_by from inference_grants where organization_id = ${organizationId} order by id`,
    )
    expect(grants).toMatchObject([
      { amountNanoUsd: 25.5e9, note: 'first month' },
      { amountNanoUsd: -0.5e9, note: null },
    ])
    expect(grants[0]?.grantedBy).not.toBe('')
  })

  it('removes a plan and sets it again', async () => {
    expect((await run('plan', '--org', 'acme', '--plan', 'none')).out).toContain('plan          none\n')
    expect((await run('plan', '--org', 'acme', '--plan', 'self_hosted')).out).toContain('plan          self_hosted\n')
  })

  it('says in one sentence what is wrong with the command line, and exits 2', async () => {
    for (const words of [
      [],
      ['show'],
      ['grant', '--org', 'acme'],
      ['grant', '--org', 'acme', '--usd', 'much'],
      ['grant', '--org', 'acme', '--usd', '1e3'],
      ['plan', '--org', 'acme', '--plan', 'gold'],
      ['give', '--org', 'acme'],
      ['show', '--org', 'acme', 'more'],
      ['--colour'],
    ]) {
      const { code, out, errors } = await run(...words)
      expect([words, code, out, errors.trim().split('\n').length]).toEqual([words, 2, '', 1])
    }
  })

  it('reports an unknown organization, and an amount out of bounds, and exits 1', async () => {
    const unknown = await run('show', '--org', 'nobody')
    expect([unknown.code, unknown.out, unknown.errors]).toEqual([
      1,
      '',
      'There is no organization named nobody. Creating a token creates one: npm run -s token -- --user <name> --org nobody --create\n',
    ])
    for (const usd of ['0', '2000000']) {
      const refused = await run('grant', '--org', 'acme', '--usd', usd)
      expect([refused.code, refused.out, refused.errors]).toEqual([
        1,
        '',
        'An amount must be in US dollars, at most 1,000,000, and not zero.\n',
      ])
    }
  })
})

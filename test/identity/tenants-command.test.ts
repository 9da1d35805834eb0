/** The operator's list of organizations by what they use. */
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { listTenants } from '#src/resources/tenants.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { makeSessionRow } from '../support/sessions.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
  const { db, config } = berth.services
  const factor = config.rateLimitFactor
  const [busy, large] = [await berth.token('alice', 'busy'), await berth.token('bob', 'large')]
  await berth.token('carol', 'quiet')
  const node = await makeSilentNode(db)
  for (const status of ['running', 'stopped', 'deleted']) await makeVmRow(db, large, node, { status })
  await makeSessionRow(db, busy)
  await sql`update sessions set status = 'running', running_since = now()`.execute(db)
  // Refilled in an hour: nothing comes back while the test looks.
  for (const [bucket, tokens] of [
    [`create:${idsOf(busy).organizationId}`, limits.createsPerMinute * factor - 100],
    [`other:${idsOf(busy).organizationId}`, limits.otherPerMinute * factor - 200],
    [`other:${newUuid()}`, 0], // of nobody who is here
  ] as const)
    await sql`insert into rate_buckets (bucket, tokens, granted, refilled_at) values (${bucket}, ${tokens}, 1, now() + interval '1 hour')
      on conflict (bucket) do update set tokens = excluded.tokens, refilled_at = excluded.refilled_at`.execute(db)
  await sql`insert into stored_bytes (organization_id, room, part, bytes) values (${idsOf(large).organizationId}, 'transcripts', 1, 7340032)`.execute(
    db,
  )
})
afterAll(() => berth.stop())

function run(...words: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const { config, database } = berth.services
  const child = spawn(process.execPath, ['src/identity/tenants.ts', ...words], {
    env: environmentWith({ DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir }),
  })
  let [out, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })))
}

test('organizations are told by what they use, the first in the order asked for first', async () => {
  const nothing = { vms: 0, memoryMb: 0, builds: 0, sessions: 0, storedMb: 0 }
  const byRequests = await listTenants(berth.services, 'requests')
  expect(byRequests[0]).toEqual({ ...nothing, name: 'busy', requests: 300, sessions: 1 })
  expect(byRequests.map(({ name }) => name).toSorted()).toEqual(['busy', 'large', 'quiet'])
  const [first] = await listTenants(berth.services, 'memory')
  expect(first).toMatchObject({ ...nothing, name: 'large', vms: 2, memoryMb: 2048, storedMb: 7 })
  for (const order of ['vms', 'stored'] as const)
    expect([order, (await listTenants(berth.services, order))[0]?.name]).toEqual([order, 'large'])
  expect((await listTenants(berth.services, 'sessions'))[0]?.name).toBe('busy')
})

test('the command prints them as a table, and says in one sentence what is wrong with its words', async () => {
  const { code, out, errors } = await run('--by', 'memory')
  expect([code, errors]).toEqual([0, ''])
  const [head = '', first = ''] = out.split('\n')
  expect(head).toMatch(/^ORGANIZATION +REQUESTS\/MIN +VMS +MEMORY MB +BUILDS +SESSIONS +STORED MB$/)
  expect(first).toMatch(/^large +\d+ +2 +2048 +0 +0 +7$/)
  const wrong = await run('--by', 'colour')
  expect([wrong.code, wrong.out]).toEqual([2, ''])
  expect(wrong.errors).toContain('--by must be one of requests, vms, memory, builds, sessions, stored.')
})

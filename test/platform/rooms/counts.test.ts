/** What an organization stores in the database is counted by room: exactly, refused at the limit, and with a neighbour untouched. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { foldStoredBytes, recountStoredBytes } from '#src/platform/metrics/rooms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({
    settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_ORG_DEFINITIONS_MB: '1', BERTH_ORG_ANSWERS_MB: '1' },
  })
  token = await berth.token()
})
afterAll(() => berth.stop())

const create = (one: string, headers: Record<string, string> = {}) =>
  berth.call<{ id: string; error?: { message: string } }>('POST', '/agents/v1/agents', {
    token: one,
    headers,
    body: { name: 'a', model: 'demo', system: 'x'.repeat(90_000) },
  })

test('agents fill their room, one more is refused in its envelope, a neighbour is served, and deleting makes room', async () => {
  const made: string[] = []
  let last = await create(token)
  for (; last.status === 201 && made.length < 30; last = await create(token)) made.push(last.body.id)
  expect(last).toMatchObject({
    status: 429,
    body: { error: { message: expect.stringMatching(/agents.*1 MB.*BERTH_ORG_DEFINITIONS_MB.*Delete/) } },
  })
  expect((await create(await berth.token('bob', 'other'))).status).toBe(201)
  for (const id of made.slice(0, 2)) await berth.call('DELETE', `/agents/v1/agents/${id}`, { token })
  expect((await create(token)).status).toBe(201)
  expect(await recountStoredBytes(berth.services.db)).toBe(0)
})

test('a transaction that is rolled back, and folding, leave the counts true; a wrong one is healed', async () => {
  const { db } = berth.services
  await expect(
    transaction(db, async (tx) => {
      await change(tx, sql`delete from agents`)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await foldStoredBytes(db)
  expect(await recountStoredBytes(db)).toBe(0)
  await change(db, sql`update stored_bytes set bytes = bytes + 5 where room = 'definitions'`)
  expect(await recountStoredBytes(db)).toBeGreaterThan(0)
  expect(await recountStoredBytes(db)).toBe(0)
})

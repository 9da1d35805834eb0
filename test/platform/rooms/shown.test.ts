/** What an organization stores is shown to its people, and summed up for the operator. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { readAllRooms } from '#src/platform/metrics/rooms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { organizationOf } from '../../support/builds.ts'
import { fillRoom } from './full-rooms.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_ORG_LOGS_MB: '0', BERTH_ORG_ANSWERS_MB: '7' } })
  token = await berth.token('alice', 'acme', 'viewer')
})
afterAll(() => berth.stop())

type Storage = { name: string; usedBytes: number; limitBytes: number | null }[]
const ask = (as: string, id = organizationOf(as)) =>
  berth.ask(`{ organization(id: "${id}") { storage { name usedBytes limitBytes } } }`, { token: as })
const storageOf = async (as: string): Promise<Storage> => {
  const { body } = await ask(as)
  expect(body.errors).toBeUndefined()
  return (body.data as { organization: { storage: Storage } }).organization.storage
}

test('each room is shown with what is stored and its limit; what is stored is what is counted', async () => {
  const before = await storageOf(token)
  expect(before.map(({ name }) => name)).toEqual(['ANSWERS', 'DEFINITIONS', 'TRANSCRIPTS', 'LOGS', 'DELIVERIES'])
  expect(before.find(({ name }) => name === 'ANSWERS')).toMatchObject({ limitBytes: 7 * 1024 * 1024 })
  expect(before.find(({ name }) => name === 'LOGS')).toMatchObject({ limitBytes: null })
  const member = await berth.token('martha', 'acme', 'member')
  const system = 'x'.repeat(50_000)
  const { body } = await berth.call('POST', '/agents/v1/agents', {
    token: member,
    body: { name: 'a', model: 'demo', system },
  })
  const made = (await storageOf(token)).find(({ name }) => name === 'DEFINITIONS')
  expect(made?.usedBytes).toBeGreaterThan(100_000) // as it is, and as its first version
  expect(made?.usedBytes).toBeLessThan(110_000)
  await berth.call('DELETE', `/agents/v1/agents/${String(body['id'])}`, { token: member })
  expect(await storageOf(token)).toEqual(before)
})

test('strangers, keys and nobody do not see it', async () => {
  const id = organizationOf(token)
  const stranger = await berth.token('mallory', 'evil', 'owner')
  expect((await ask(stranger, id)).body.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  const owner = await berth.token('olivia', 'acme', 'owner')
  const created = await berth.ask('mutation { createApiKey(input: { name: "k" }) { key } }', { token: owner })
  expect(created.body.errors, JSON.stringify(created.body)).toBeUndefined()
  const { key } = (created.body.data as { createApiKey: { key: string } }).createApiKey
  expect((await ask(key, id)).body).toMatchObject({
    data: { organization: { storage: null } },
    errors: [{ extensions: { code: 'UNAUTHORIZED' } }],
  })
  expect((await berth.ask(`{ organization(id: "${id}") { storage { name } } }`, {})).status).toBe(401)
})

test('the operator’s metrics have the sum of all organizations, and how many have no room', async () => {
  const other = await berth.token('bob', 'full')
  await fillRoom(berth, other, 'transcripts')
  const rooms = await readAllRooms(berth.services)
  expect(rooms.find(({ name }) => name === 'transcripts')).toMatchObject({ full: 1, bytes: expect.any(Number) })
  expect(rooms.filter(({ full }) => full > 0)).toHaveLength(1)
  const { rows } = await sql<{ bytes: number }>`select sum(bytes)::bigint as bytes from stored_bytes`.execute(
    berth.services.db,
  )
  expect(rooms.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(rows[0]?.bytes)
  expect(idsOf(other).organizationId).not.toBe(idsOf(token).organizationId)
})

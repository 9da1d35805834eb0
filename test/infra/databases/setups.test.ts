/** Servers that are set up again because a role was changed: their databases stay as they are. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { sql } from '#src/platform/postgres.ts'
import { enqueueSetup } from '#src/resources/infra/databases/jobs.ts'
import type { DatabaseStatus } from '#src/resources/infra/databases/rows.ts'
import { handleDatabaseSetups } from '#workers/infra/databases/setups.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { connectTo } from '../database-backups/fake-postgres.ts'

let berth: Berth
let token: string
let node: string
const said = new Map<string, string[]>()
let gate: Promise<unknown> = Promise.resolve()
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  const work = { services: berth.services, nodeId: node, compute: { growFolder: async () => undefined } }
  await handleDatabaseSetups(work as unknown as VmWork, async (_, id) => machineOf(id)) // all that is used of them
})
afterAll(() => berth.stop())

function machineOf(databaseId: string): Machine {
  const statements = said.get(databaseId) ?? []
  said.set(databaseId, statements)
  const connect = async () =>
    connectTo(async (statement) => {
      await gate
      statements.push(statement)
      return ''
    })
  return { id: databaseId, folderId: null, connect } as unknown as Machine
}

async function jobsOf(id: string): Promise<string[]> {
  const { rows } = await sql<{ state: string }>`
    select state::text from pgboss.job where name like 'databases-set-up/%' and data ->> 'databaseId' = ${databaseUuid(id)}`.execute(
    berth.services.db,
  )
  return rows.map(({ state }) => state)
}
const make = async (status: DatabaseStatus) => (await makeDatabase(berth, token, node, { status })).id
const isDone = async (id: string) => (await jobsOf(id)).every((state) => state === 'completed')

test('a database stays active while its server is set up again, and may be changed meanwhile', async () => {
  const id = await make('active')
  const before = await rowOf(berth, id)
  const hold = Promise.withResolvers<void>()
  gate = hold.promise
  await enqueueSetup(berth.services, before.id)
  await until('it has begun', async () => (await jobsOf(id))[0] === 'active' && said.has(before.id))
  expect(await rowOf(berth, id)).toEqual(before)
  const { status } = await berth.call('POST', `/api/v1/databases/${id}/backups`, { token })
  expect(status).toBe(202)
  hold.resolve()
  await until('it is done', () => isDone(id))
  expect(said.get(before.id)?.join('\n')).toContain('alter role "berth_anonymous" reset all')
  expect(await rowOf(berth, id)).toMatchObject({ status: 'active', eventPosition: before.eventPosition })
})

test('one that is being restored, changed or deleted is left to what does that', async () => {
  for (const status of ['restoring', 'updating', 'deleting'] as const) {
    const id = await make(status)
    await enqueueSetup(berth.services, databaseUuid(id))
    expect(await jobsOf(id)).toEqual([])
  }
})

/** Servers that are set up again because a role was changed: their databases stay as they are. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { sql } from '#src/platform/postgres.ts'
import { enqueueSetup, setUpTopic } from '#src/resources/infra/databases/jobs.ts'
import type { DatabaseStatus } from '#src/resources/infra/databases/rows.ts'
import { handleDatabases } from '#workers/infra/databases.ts'
import { handleDatabaseSetups } from '#workers/infra/databases/setups.ts'
import { createDatabaseTurns } from '#workers/infra/databases/turns.ts'
import { machineId } from '#workers/infra/machine-specs.ts'
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
let beforeFound: Promise<unknown> = Promise.resolve()
const databaseIn = new Map<string, string>()
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  const find = (id: string): Machine => machineOf(databaseIn.get(id) ?? '')
  const compute = { find, growFolder: async () => undefined }
  const work = { services: berth.services, nodeId: node, compute } as unknown as VmWork // all that is used of it
  const turns = createDatabaseTurns()
  await handleDatabases(work, turns)
  await handleDatabaseSetups(work, turns, async (_, id) => {
    await beforeFound
    return machineOf(id)
  })
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

async function jobsOf(id: string, kind = 'databases-set-up'): Promise<string[]> {
  const { rows } = await sql<{ state: string }>`
    select state::text from pgboss.job where name like ${`${kind}/%`} and data ->> 'databaseId' = ${databaseUuid(id)}`.execute(
    berth.services.db,
  )
  return rows.map(({ state }) => state)
}
const make = async (status: DatabaseStatus) => (await makeDatabase(berth, token, node, { status })).id
const isDone = async (id: string, kind?: string) => (await jobsOf(id, kind)).every((state) => state === 'completed')
const changeSetting = (id: string) =>
  berth.ask(`mutation { updateDatabase(input: {id: "${id}", settings: {work_mem: "7MB"}}) { database { status } } }`, {
    token,
  })

test('a database stays active while its server is set up again, and may be changed meanwhile', async () => {
  const id = await make('active')
  const before = await rowOf(berth, id)
  const hold = Promise.withResolvers<void>()
  gate = hold.promise
  let isReported = false
  berth.services.pubsub.listen(setUpTopic, (told) => (isReported ||= told === before.id))
  await enqueueSetup(berth.services, before.id)
  await until('it has begun', async () => (await jobsOf(id))[0] === 'active' && said.has(before.id))
  expect(await rowOf(berth, id)).toEqual(before)
  const { status } = await berth.call('POST', `/api/v1/databases/${id}/backups`, { token })
  expect(status).toBe(202)
  expect(isReported).toBe(false)
  hold.resolve()
  await until('it is done', () => isDone(id))
  await until('those who wait to log in are told', () => isReported)
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

test('a change that is made while a server is set up comes after it, and holds', async () => {
  const id = await make('active')
  const { id: uuid, vmId } = await rowOf(berth, id)
  databaseIn.set(machineId({ id: vmId ?? '' }), uuid)
  const hold = Promise.withResolvers<void>()
  gate = hold.promise
  await enqueueSetup(berth.services, uuid)
  await until('it has begun', () => said.has(uuid))
  gate = Promise.resolve()
  expect((await changeSetting(id)).body.errors).toBeUndefined()
  await until('the change has come', () => isDone(id, 'databases-reconcile'))
  hold.resolve()
  await until('it is done', async () => (await rowOf(berth, id)).status === 'active')
  await until('so is the setup', () => isDone(id))
  expect(said.get(uuid)?.map((statement) => statement.includes('7MB'))).toEqual([false, true])
})

test('a setup does nothing for a database that is restored, and nothing old for one that was changed, while its VM woke', async () => {
  const [restored, changed] = [await make('active'), await make('active')]
  const found = Promise.withResolvers<void>()
  beforeFound = found.promise
  for (const id of [restored, changed]) await enqueueSetup(berth.services, databaseUuid(id))
  await until('both wait for their VMs', async () =>
    (await Promise.all([restored, changed].map((id) => jobsOf(id)))).flat().every((state) => state === 'active'),
  )
  await sql`update databases set status = 'restoring' where id = ${databaseUuid(restored)}`.execute(berth.services.db)
  await sql`update databases set settings = '{"work_mem": "7MB"}' where id = ${databaseUuid(changed)}`.execute(
    berth.services.db,
  )
  found.resolve()
  await until('their jobs have ended', async () => (await isDone(restored)) && (await isDone(changed)))
  expect(said.get(databaseUuid(restored))).toEqual([])
  expect(said.get(databaseUuid(changed))?.join()).toContain('7MB')
})

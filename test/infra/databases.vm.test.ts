/** Databases that really run: created over REST, used through their node, crashed, resized, asleep, deleted and brought back. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeClient } from '#src/drivers/node.ts'
import { onNode } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import { asDriverSocket } from '#src/platform/postgres/driver-sockets.ts'
import { reconcileDatabase } from '#src/resources/infra/databases/jobs.ts'
import { loginUsers, openLogins, type Logins } from '#src/resources/infra/databases/setup.ts'
import { wakeDatabase } from '#src/resources/infra/databases/sleep.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { databaseUuid, rowOf, type DatabaseAnswer } from '../support/databases.ts'
import { qemuProcesses } from '../support/qemu-processes.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let id: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 0 })
  token = await berth.token()
  await berth.worker?.compute?.prepareLater('postgres')
  const made = await berth.call<DatabaseAnswer>('POST', '/api/v1/databases', {
    token,
    body: { organization_id: organizationOf(token), name: 'shop' },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  id = made.body.id
  await until('the database is active', async () => (await rowOf(berth, id)).status === 'active', 120_000)
}, 600_000)
afterAll(() => berth.stop())

const ask = async <Data>(query: string): Promise<Data> => {
  const { body } = await berth.ask(query, { token })
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return body.data as Data
}
const read = async () =>
  (await ask<{ database: { isAsleep: boolean; status: string } }>(`{ database(id: "${id}") { isAsleep status } }`))
    .database
const isActive = async (): Promise<boolean> => (await rowOf(berth, id)).status === 'active'

/** Asks something as one of the users as whom the proxy logs in, on a connection of its own through the node. */
async function query(text: string, as: keyof Logins = 'owner', user?: string): Promise<Record<string, unknown>[]> {
  const { services } = berth
  const database = await rowOf(berth, id)
  const { vmId, nodeAgentUrl } = await wakeDatabase(services, database.id)
  const tunnel = await nodeClient(nodeAgentUrl, services.sealer.derive(nodeTokenPurpose)).tunnel({ vmId })
  const client = new pg.Client({
    user: user ?? (as === 'owner' ? database.pgUser : loginUsers[as]),
    password: openLogins(services.sealer, database)[as],
    database: database.pgDatabase,
    stream: () => asDriverSocket(tunnel),
  })
  client.on('error', () => undefined) // whoever asks is told
  try {
    await client.connect()
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

test('its owner has a database of its own, clients have nothing in it, and a superuser does not get in', async () => {
  await query("create table orders (item text); insert into orders values ('a hat')")
  expect(await query('select item from orders')).toEqual([{ item: 'a hat' }])
  expect(await query('select current_user::text as user', 'authenticated')).toEqual([{ user: 'authenticated' }])
  expect(await query('select current_user::text as user', 'anonymous')).toEqual([{ user: 'anon' }])
  for (const as of ['authenticated', 'anonymous', 'claims'] as const) {
    await expect(query('select * from orders', as)).rejects.toThrow(/permission denied/)
    await expect(query('create table mine (x int)', as)).rejects.toThrow(/permission denied/)
    await expect(query('set role postgres', as)).rejects.toThrow(/permission denied/)
  }
  await expect(query('select claims from auth.sessions', 'claims')).rejects.toThrow(/permission denied/)
  await expect(query('insert into auth.sessions values (1, null)')).rejects.toThrow(/permission denied/)
  await expect(query('set role berth_claims')).rejects.toThrow(/permission denied/)
  await expect(query('select 1', 'owner', 'postgres')).rejects.toThrow(/pg_hba\.conf|no pg_hba/)
  expect(
    await query('set role authenticated; create policy p on orders using (true)').catch(
      (error: Error) => error.message,
    ),
  ).toMatch(/must be owner/)
})

test('its claims are those that were written for its session alone', async () => {
  await query(
    'insert into auth.sessions values (-1, \'{"sub": "usr_x"}\') on conflict (process_id) do update set claims = \'{}\'',
    'claims',
  )
  expect(
    await query('select auth.claims() as claims, auth.user_id() as id, auth.role() as role', 'authenticated'),
  ).toEqual([{ claims: null, id: null, role: 'authenticated' }])
})

test('a job that runs once more changes nothing', async () => {
  const { services } = berth
  const before = await rowOf(berth, id)
  const nodeId = berth.worker?.nodeId ?? ''
  for (let run = 0; run < 2; run++)
    await transaction(services.db, (tx) =>
      services.jobs.enqueue(tx, onNode(reconcileDatabase, nodeId), { databaseId: databaseUuid(id) }),
    )
  await until('the jobs are done', async () => {
    const { rows } = await services.database.pool.query(
      "select 1 from pgboss.job where name like 'databases-reconcile/%' and state in ('created', 'retry', 'active')",
    )
    return rows.length === 0
  })
  expect(await rowOf(berth, id)).toEqual(before)
})

test('it says how many connections it has, and how large it is, while it is awake', async () => {
  type Seen = { database: { metrics: { sizeBytes: number; transactions: number } | null } }
  const read = () => ask<Seen>(`{ database(id: "${id}") { metrics { sizeBytes transactions } } }`)
  await until('it is measured', async () => (await read()).database.metrics !== null, 30_000)
  const { metrics } = (await read()).database
  expect(metrics?.sizeBytes).toBeGreaterThan(1_000_000)
  expect(metrics?.transactions).toBeGreaterThan(0)
})

test('after its QEMU was killed it comes back by itself, with everything that was committed', async () => {
  await query("insert into orders values ('before the crash')")
  const [pid] = qemuProcesses(berth.dataDir)
  process.kill(pid ?? 0, 'SIGKILL')
  await until('its machine ended', async () => {
    const { body } = await berth.ask(`{ database(id: "${id}") { vm { status } } }`, { token })
    return JSON.stringify(body.data) !== '{"database":{"vm":{"status":"RUNNING"}}}'
  })
  expect(await query('select item from orders order by item')).toEqual([
    { item: 'a hat' },
    { item: 'before the crash' },
  ])
  expect(await isActive()).toBe(true)
}, 180_000)

test('it sleeps when nobody uses it, and wakes for the next one', async () => {
  await ask(`mutation { updateDatabase(input: {id: "${id}", sleepAfterSeconds: 10}) { database { id } } }`)
  await until('it sleeps', async () => (await read()).isAsleep, 90_000, 500)
  expect(await read()).toEqual({ isAsleep: true, status: 'ACTIVE' })
  expect(qemuProcesses(berth.dataDir)).toEqual([])
  expect(await query('select count(*)::int as count from orders')).toEqual([{ count: 2 }])
  expect((await read()).isAsleep).toBe(false)
}, 180_000)

test('another size and setting are applied to one that sleeps, which ends in order for that', async () => {
  await query('create unlogged table scratch as select 1 as kept') // a server that recovers empties it
  await until('it sleeps again', async () => (await read()).isAsleep, 90_000, 500)
  await ask(
    `mutation { updateDatabase(input: {id: "${id}", memoryMb: 1536, diskMb: 12288, sleepAfterSeconds: 0, settings: {work_mem: "8MB", timezone: "Europe/Rome"}}) { database { status } } }`,
  )
  await until('it is active again', isActive, 120_000)
  expect(await query("select current_setting('work_mem') as memory, current_setting('timezone') as zone")).toEqual([
    { memory: '8MB', zone: 'Europe/Rome' },
  ])
  expect(await query('select (select count(*)::int from orders) as count, kept from scratch')).toEqual([
    { count: 2, kept: 1 },
  ])
  type Seen = { database: { vm: { memoryMb: number } } }
  expect((await ask<Seen>(`{ database(id: "${id}") { vm { memoryMb } } }`)).database.vm.memoryMb).toBe(1536)
  await ask(`mutation { updateDatabase(input: {id: "${id}", settings: {work_mem: null}}) { database { status } } }`)
  await until('it is active again', isActive, 60_000)
  expect(await query("select current_setting('work_mem') as memory")).toEqual([{ memory: '4MB' }])
}, 240_000)

test('one that is deleted leaves nothing but its data, and comes back with it', async () => {
  await berth.call('DELETE', `/api/v1/databases/${id}`, { token })
  await until('it is deleted', async () => (await rowOf(berth, id)).status === 'deleted', 60_000)
  expect(qemuProcesses(berth.dataDir)).toEqual([])
  await ask(`mutation { undeleteDatabase(input: {id: "${id}"}) { database { status } } }`)
  await until('it is active again', isActive, 120_000)
  expect(await query('select count(*)::int as count from orders')).toEqual([{ count: 2 }])
}, 240_000)

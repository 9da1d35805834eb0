/** A database whose server was found otherwise than Berth had set it up: it says so, is set up again, and says when it is right. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { sql } from '#src/platform/postgres.ts'
import { measureDatabases } from '#workers/infra/database-upkeep.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { connectTo } from '../database-backups/fake-postgres.ts'

let berth: Berth
let id: string
let work: VmWork
let faults = ''
beforeAll(async () => {
  berth = await startBerth()
  const token = await berth.token()
  const node = await makeSilentNode(berth.services.db)
  id = (await makeDatabase(berth, token, node)).id
  const answer = async (statement: string): Promise<string> =>
    statement.includes('pg_stat_database') ? '1|1|1|1|1|1|1|1|1\n' : faults
  const find = () => ({ connect: async () => connectTo(answer) }) as unknown as Machine // all that is used of it
  work = { services: berth.services, nodeId: node, compute: { find } } as unknown as VmWork // the same
})
afterAll(() => berth.stop())

/** The next minute's look at it. */
async function look(found: string): Promise<{ reason: string | null; position: number; setups: number }> {
  faults = found
  const { db } = berth.services
  await sql`update database_metrics set measured_at = now() - interval '2 minutes'`.execute(db)
  await measureDatabases(work)
  const { statusReason, eventPosition } = await rowOf(berth, id)
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pgboss.job
    where name like 'databases-set-up/%' and data ->> 'databaseId' = ${databaseUuid(id)}`.execute(db)
  return { reason: statusReason, position: eventPosition, setups: rows[0]?.count ?? 0 }
}

test('one that is right is left alone; a fault is said and set back, each once, until it is gone', async () => {
  const before = await look('')
  expect(before).toMatchObject({ reason: null, setups: 0 })
  const found = await look('the database had a connection limit\nberth_claims could not connect\n')
  expect(found.reason).toBe(
    'Its server was not as Berth had set it up, and is being set up again: the database had a connection limit, berth_claims could not connect.',
  )
  expect(found).toMatchObject({ position: before.position + 1, setups: 1 })
  const again = await look('the database had a connection limit\nberth_claims could not connect\n')
  expect(again).toMatchObject({ reason: found.reason, position: found.position })
  const healed = await look('')
  expect(healed).toMatchObject({ reason: null, position: found.position + 1, setups: again.setups })
  expect(await look('')).toEqual(healed)
})

test('another reason that a database has stays', async () => {
  await sql`update databases set status_reason = 'There was no room.' where id = ${databaseUuid(id)}`.execute(
    berth.services.db,
  )
  expect((await look('the database had a connection limit\n')).reason).toBe('There was no room.')
  expect((await look('')).reason).toBe('There was no room.')
})

test('one that an earlier version set up is set up again without a word', async () => {
  await sql`update databases set status_reason = null where id = ${databaseUuid(id)}`.execute(berth.services.db)
  await sql`delete from pgboss.job where name like 'databases-set-up/%'`.execute(berth.services.db)
  const before = await look('')
  const after = await look('it was set up by another version\n')
  expect(after).toEqual({ ...before, setups: 1 })
})

/** How databases share the places for work on them: one that hangs takes one place, an organization takes half of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onNode } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import { reconcileDatabase } from '#src/resources/infra/databases/jobs.ts'
import { handleDatabases } from '#workers/infra/databases.ts'
import { createDatabaseTurns } from '#workers/infra/databases/turns.ts'
import { inTurns } from '#workers/infra/turns.ts'
import { machineId } from '#workers/infra/machine-specs.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { connectTo } from '../database-backups/fake-postgres.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

test('jobs that come while a thing is worked on do not wait, and are one more run of the work', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const runs: number[] = []
  const run = inTurns(async () => {
    runs.push(runs.length)
    await gates[runs.length - 1]?.promise
  })
  const first = run('a')
  for (let job = 0; job < 10; job++) await run('a')
  expect(runs).toHaveLength(1)
  gates[0]?.resolve()
  gates[1]?.resolve()
  await first
  expect(runs).toHaveLength(2)
  await run('a')
  expect(runs).toHaveLength(3)
})

test('what fails can be worked on again', async () => {
  let tries = 0
  const run = inTurns(async () => {
    if (tries++ === 0) throw new Error('not yet')
  })
  await expect(run('a')).rejects.toThrow('not yet')
  await run('a')
  expect(tries).toBe(2)
})

test('work of several kinds takes turns at a database, and what fails is done with the job that comes back', async () => {
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  const turns = createDatabaseTurns()
  const setUp = turns(async () => {
    await gate.promise
    done.push('setup')
  })
  const change = turns(async () => {
    done.push('change')
    if (done.length === 2) throw new Error('not yet')
  })
  const first = setUp('a')
  await change('a')
  expect(done).toEqual([])
  gate.resolve()
  await expect(first).rejects.toThrow('not yet')
  await setUp('a')
  expect(done).toEqual(['setup', 'change', 'change', 'setup'])
  await change('b')
  expect(done).toHaveLength(5)
})

test('databases whose servers hang keep neither each other’s jobs nor those of another organization waiting', async () => {
  const { services } = berth
  const node = await makeSilentNode(services.db)
  const [mine, other] = [await berth.token(), await berth.token('olga', 'another')]
  const stuck = new Set<string>()
  const release = Promise.withResolvers<string>()
  const compute = {
    find: (id: string) => ({
      id,
      folderId: null,
      connect: async () => connectTo(() => (stuck.has(id) ? release.promise : Promise.resolve('1\n'))),
    }),
    growFolder: async () => undefined,
  }
  const work = { services, nodeId: node, compute } as unknown as VmWork
  const make = async (owner: string, isStuck: boolean): Promise<string> => {
    const { id } = await makeDatabase(berth, owner, node, { status: 'updating' })
    if (isStuck) stuck.add(machineId({ id: (await rowOf(berth, id)).vmId ?? '' }))
    return id
  }
  const hanging = await Promise.all(Array.from({ length: 8 }, () => make(mine, true)))
  const enqueue = (id: string): Promise<void> =>
    transaction(services.db, (tx) =>
      services.jobs.enqueue(tx, onNode(reconcileDatabase, node), { databaseId: databaseUuid(id) }),
    )
  for (let turn = 0; turn < 3; turn++) for (const id of hanging) await enqueue(id)
  const well = await make(other, false)
  await enqueue(well)
  await handleDatabases(work)
  await until('the other organization’s is done', async () => (await rowOf(berth, well)).status === 'active', 10_000)
  release.resolve('1\n')
  await until(
    'so are the others, at last',
    async () => (await Promise.all(hanging.map((id) => rowOf(berth, id)))).every(({ status }) => status === 'active'),
    30_000,
  )
})

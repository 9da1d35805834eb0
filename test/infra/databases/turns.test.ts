/** How databases share the places for work on them: one that hangs takes one place, an organization takes half of them. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { job, onNode, type Jobs } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import { reconcileDatabase } from '#src/resources/infra/databases/jobs.ts'
import { handleDatabases } from '#workers/infra/databases.ts'
import { createDatabaseTurns } from '#workers/infra/databases/turns.ts'
import { createShares } from '#workers/infra/shares.ts'
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
afterEach(() => vi.restoreAllMocks())
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

/** One place, which is taken, and a clock that stands: how long after each other the jobs of a thing that waits come back. */
async function waitFor(waits: number, commitMs: number): Promise<number[]> {
  let nowMs = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const againSeconds: number[] = []
  const jobs: Pick<Jobs, 'enqueue'> = {
    async enqueue(_tx, _kind, _data, options) {
      againSeconds.push(options?.startAfterSeconds ?? 0)
      nowMs += commitMs
    },
  }
  const db = { isTransaction: true } // it is never asked
  const share = createShares({ db, jobs } as unknown as Parameters<typeof createShares>[0], job('works'), 1)
  void share({ id: 'first', organizationId: 'o', data: {} }, () => new Promise<void>(() => undefined))
  for (let turn = 0; turn < waits; turn++) {
    const askedMs = nowMs
    await share({ id: 'waits', organizationId: 'o', data: {} }, async () => undefined)
    nowMs = askedMs + (againSeconds.at(-1) ?? 0) * 1000 // the moment at which its job is due
  }
  return againSeconds
}

test('a job that waits for its organization’s share is never lost, however long it takes to store it', async () => {
  expect(await waitFor(10, 500)).toHaveLength(10)
})

test('it is looked at every three seconds at first, and the longer it waits the less often', async () => {
  const againSeconds = await waitFor(150, 0)
  expect(againSeconds.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 3))
  expect(againSeconds.at(-1)).toBe(60)
  const totals = againSeconds.map((_, turn) => againSeconds.slice(0, turn).reduce((sum, seconds) => sum + seconds, 0))
  againSeconds.forEach((seconds, turn) =>
    expect(seconds).toBeLessThanOrEqual(Math.max(3, (totals[turn] ?? 0) / 10 + 1)),
  )
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

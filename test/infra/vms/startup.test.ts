/** A VM that is being created or started says at which step it is, if that lasts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { reconcile, type VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth?.stop())

const machine = { id: 'machine', address: '127.0.0.9', folderId: null } as unknown as Machine // what the worker reads of it
type Shown = { status: string; startup: { step: string; attempt: number; attemptsMax: number; since: string } | null }

/** A worker whose steps the test ends; those that it does not name end at once. */
function newWork(steps: {
  take?: () => Promise<void>
  push?: () => Promise<void>
  join?: () => Promise<void>
}): VmWork {
  let isThere = false
  return {
    services: berth.services,
    nodeId: node,
    compute: {
      take: async () => {
        await steps.take?.()
        isThere = true
        return { machine, from: 'boot' }
      },
      find: () => (isThere ? machine : undefined),
      boot: async () => {
        await steps.take?.()
        isThere = true
        return machine
      },
      stop: async () => undefined,
    },
    env: { push: async () => steps.push?.() },
    templates: { findDelay: () => null },
    egress: { setPolicy: () => undefined },
    networks: { join: async () => steps.join?.(), leave: () => undefined },
  } as unknown as VmWork // the parts that a boot uses
}

const read = async (id: string): Promise<Shown> =>
  (await berth.ask(`{ vm(id: "${id}") { status startup { step attempt attemptsMax since } } }`, { token })).body.data?.[
    'vm'
  ] as Shown
const uuidOf = (id: string): string => decodeId('vm', id) ?? ''
const eventsOf = (id: string): Promise<unknown[]> =>
  findAll(berth.services.db, sql`select status from vm_events where vm_id = ${uuidOf(id)} order by position`)
const streamed = async (id: string): Promise<number> =>
  (await findAll(berth.services.db, sql`select 1 from organization_events where node_id = ${uuidOf(id)}`)).length

async function reaches(id: string, step: string): Promise<Shown> {
  await until(`it is at ${step}`, async () => (await read(id)).startup?.step === step)
  return read(id)
}

test('steps that last are told of one after the other, each with an event, and none once it runs', async () => {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'creating' })
  await sql`update vms set env_generation = 1 where id = ${uuidOf(id)}`.execute(berth.services.db)
  const [took, pushed, joined] = [0, 1, 2].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
  const waiting = await read(id)
  expect(waiting).toMatchObject({ status: 'CREATING', startup: { step: 'PLACING', attempt: 1, attemptsMax: 3 } })
  const streamedBefore = await streamed(id)
  const running = reconcile(
    newWork({ take: () => took.promise, push: () => pushed.promise, join: () => joined.promise }),
    uuidOf(id),
  )
  const started = await reaches(id, 'STARTING_MACHINE')
  expect(started.startup?.since.localeCompare(waiting.startup?.since ?? '')).toBe(1)
  took.resolve()
  await reaches(id, 'PREPARING_GUEST')
  pushed.resolve()
  await reaches(id, 'JOINING_PROJECT')
  expect(await eventsOf(id)).toHaveLength(4)
  expect(await streamed(id)).toBe(streamedBefore + 3)
  joined.resolve()
  await running
  expect(await read(id)).toEqual({ status: 'RUNNING', startup: null })
  expect(await streamed(id)).toBe(streamedBefore + 4)
})
type Gate = PromiseWithResolvers<void>

test('steps that do not last cost no event', async () => {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'creating' })
  await reconcile(newWork({}), uuidOf(id))
  expect(await eventsOf(id)).toEqual([{ status: 'creating' }, { status: 'running' }])
})

test('what a worker stored that was killed is shown until the next one goes on', async () => {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'starting' })
  const first = Promise.withResolvers<void>()
  const killed = reconcile(newWork({ take: () => first.promise }), uuidOf(id))
  const before = await reaches(id, 'STARTING_MACHINE')
  const second = Promise.withResolvers<void>()
  const next = reconcile(newWork({ take: () => second.promise }), uuidOf(id))
  expect(await read(id)).toEqual(before)
  second.resolve()
  await next
  expect(await read(id)).toMatchObject({ status: 'RUNNING', startup: null })
  first.resolve()
  await killed
})

test('an attempt that failed begins again at the first step, with its number', async () => {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'creating' })
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const gates = [first, second]
  const running = reconcile(newWork({ take: () => gates.shift()?.promise ?? Promise.resolve() }), uuidOf(id))
  expect((await reaches(id, 'STARTING_MACHINE')).startup?.attempt).toBe(1)
  first.reject(new Error('no power'))
  expect((await reaches(id, 'PLACING')).startup?.attempt).toBe(2)
  expect((await reaches(id, 'STARTING_MACHINE')).startup?.attempt).toBe(2)
  second.resolve()
  await running
  expect((await read(id)).startup).toBeNull()
})

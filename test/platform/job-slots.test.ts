/** How the ends of jobs are recorded: together where they come together, and each on its own when that fails. */
import { afterEach, expect, test } from 'vitest'
import { setLogLevel } from '#src/platform/log.ts'
import { startSlots, type Slots, type TakenJob } from '#src/platform/jobs/slots.ts'

const count = 6
let slots: Slots
afterEach(async () => {
  await slots.stop(1_000)
  setLogLevel('warn')
})

/** A queue of six jobs in memory, and what was recorded of them. */
function start(complete: (ids: string[]) => Promise<void>): {
  recorded: string[][]
  failed: string[]
  settled: Promise<void>
  end: Map<string, () => void>
} {
  const waiting = Array.from(
    { length: count },
    (_, at): TakenJob<object> => ({ id: `job-${at}`, data: {}, retryCount: 0 }),
  )
  const [recorded, failed, end]: [string[][], string[], Map<string, () => void>] = [[], [], new Map()]
  const { promise: settled, resolve } = Promise.withResolvers<void>()
  const look = (): void => void (recorded.flat().length + failed.length === count && resolve())
  slots = startSlots<object>(
    'memory',
    {
      fetch: async (most) => waiting.splice(0, most),
      touch: async () => undefined,
      giveBack: async () => undefined,
      async complete(jobs) {
        const ids = jobs.map(({ id }) => id)
        await complete(ids)
        recorded.push(ids)
        look()
      },
      async fail({ id }) {
        failed.push(id)
        look()
      },
    },
    { concurrency: count, touchMs: 60_000 },
    ({ id }) => new Promise<void>((done) => end.set(id, done)),
  )
  return { recorded, failed, settled, end }
}

test('a job that ends alone is completed at once; those that end meanwhile are completed together', async () => {
  const { promise: first, resolve: letFirst } = Promise.withResolvers<void>()
  const { recorded, failed, settled, end } = start(async ([id]) => (id === 'job-0' ? first : undefined))
  await expect.poll(() => end.size).toBe(count)
  end.get('job-0')?.()
  await new Promise((resolve) => setImmediate(resolve)) // its completion is on its way
  for (let at = 1; at < count; at++) end.get(`job-${at}`)?.()
  await new Promise((resolve) => setImmediate(resolve))
  expect(recorded).toEqual([])
  letFirst()
  await settled
  expect(recorded).toEqual([['job-0'], ['job-1', 'job-2', 'job-3', 'job-4', 'job-5']])
  expect(failed).toEqual([])
})

test('when a completion fails, each of its jobs is given back, and the next goes through', async () => {
  setLogLevel('silent')
  const { recorded, failed, settled, end } = start(async ([id]) => {
    if (id === 'job-0') throw new Error('the database is away')
  })
  await expect.poll(() => end.size).toBe(count)
  for (let at = 0; at < 3; at++) end.get(`job-${at}`)?.()
  await expect.poll(() => failed).toEqual(['job-0', 'job-1', 'job-2'])
  for (let at = 3; at < count; at++) end.get(`job-${at}`)?.()
  await settled
  expect(recorded).toEqual([['job-3', 'job-4', 'job-5']])
})

/** A queue in memory, of so many jobs, that may be given back. */
function startQueue(
  jobs: number,
  concurrency: number,
  handler: (job: TakenJob<object>) => Promise<void>,
  complete: () => Promise<void> = async () => undefined,
): { waiting: TakenJob<object>[]; fetched: number[]; givenBack: string[]; failed: string[] } {
  const waiting = Array.from({ length: jobs }, (_, at): TakenJob<object> => ({ id: `${at}`, data: {}, retryCount: 0 }))
  const [fetched, givenBack, failed]: [number[], string[], string[]] = [[], [], []]
  slots = startSlots<object>(
    'memory',
    {
      fetch: async (most) => {
        const taken = waiting.splice(0, most)
        fetched.push(taken.length)
        return taken
      },
      touch: async () => undefined,
      complete,
      giveBack: async (back) => {
        givenBack.push(...back.map(({ id }) => id))
        waiting.unshift(...back)
      },
      fail: async ({ id }) => void failed.push(id),
    },
    { concurrency, touchMs: 60_000 },
    handler,
  )
  return { waiting, fetched, givenBack, failed }
}

test('a slot takes the next job while the end of the one before is recorded', async () => {
  const begun: string[] = []
  const { promise: recording, resolve: recorded } = Promise.withResolvers<void>()
  startQueue(
    3,
    1,
    async ({ id }) => void begun.push(id),
    () => recording,
  )
  await expect.poll(() => begun).toEqual(['0', '1', '2'])
  recorded()
})

test('of very short jobs many are taken together, and no more run concurrently than there are slots', async () => {
  let [running, most, handled] = [0, 0, 0]
  const { fetched } = startQueue(2_000, 4, async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    handled++
  })
  await expect.poll(() => handled).toBe(2_000)
  expect(most).toBe(4)
  expect(fetched.length).toBeLessThan(150) // 500 would be one for each four
})

test('what waits behind a long job is returned, once, and is handled when there is a slot', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const handled: string[] = []
  const { givenBack, failed } = startQueue(60, 2, async ({ id }) => {
    if (id === '30' || id === '31') await held
    handled.push(id)
  })
  await expect.poll(() => givenBack.length).toBeGreaterThan(0)
  expect([handled.length, new Set(givenBack).size]).toEqual([30, givenBack.length])
  release()
  await expect.poll(() => handled.length).toBe(60)
  expect([new Set(handled).size, failed]).toEqual([60, []])
})

test('when it stops, jobs that were not started are returned as they were, and running ones fail at the limit', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const handled: string[] = []
  const { givenBack, failed, waiting } = startQueue(60, 2, async ({ id }) => {
    if (id === '30' || id === '31') await held
    handled.push(id)
  })
  await expect.poll(() => handled.length).toBe(30)
  await slots.stop(10)
  expect([failed, handled.length]).toEqual([['30', '31'], 30])
  expect(givenBack.length).toBeGreaterThan(0)
  expect(waiting.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 28 }, (_, at) => at + 32),
  )
  release()
})

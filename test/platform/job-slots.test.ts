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

/** Jobs: taken once, tried again, never lost, and never without their row. */
import { afterEach, beforeAll, afterAll, expect, test } from 'vitest'
import { job, openJobs, type Jobs } from '#src/platform/jobs.ts'
import { openDatabase, sql, transaction, type Database } from '#src/platform/postgres.ts'
import { openPubsub, type Pubsub } from '#src/platform/pubsub.ts'
import { startCommand } from '../support/command.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let ours: Database
let pubsub: Pubsub
const opened: Jobs[] = []

beforeAll(async () => {
  database = await createDatabase()
  ours = openDatabase(database.url, { connections: 4, applicationName: 'jobs-test' })
  pubsub = openPubsub(database.url)
})
afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop()
})
afterAll(async () => {
  await pubsub.close()
  await ours.close()
  await database.drop()
})

async function openWorker(): Promise<Jobs> {
  const jobs = await openJobs(database.url, pubsub, { worker: true })
  opened.push(jobs)
  return jobs
}

test('a job is handled soon after its transaction commits, and not at all after a rollback', async () => {
  const jobs = await openWorker()
  const kind = job<{ name: string }>('test-commit')
  const handled: string[] = []
  await jobs.handle(kind, { concurrency: 2 }, async ({ data }) => void handled.push(data.name))
  await expect(
    transaction(ours.db, async (tx) => {
      await jobs.enqueue(tx, kind, { name: 'rolled back' })
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  // By notices: one after the other by polls of 2 s, they would take longer than a test may.
  const names = Array.from({ length: 20 }, (_, at) => `committed ${at}`)
  for (const name of names) {
    await transaction(ours.db, (tx) => jobs.enqueue(tx, kind, { name }))
    await until('the job is handled', () => handled.at(-1) === name)
  }
  expect(handled).toEqual(names)
})

test('no more jobs run at once than there are slots, and a backlog needs no poll between them', async () => {
  const jobs = await openWorker()
  const kind = job<{ number: number }>('test-slots')
  await jobs.declare(kind)
  await transaction(ours.db, async (tx) => {
    for (let number = 0; number < 60; number++) await jobs.enqueue(tx, kind, { number })
  })
  let [atOnce, most, done] = [0, 0, 0]
  await jobs.handle(kind, { concurrency: 3 }, async () => {
    most = Math.max(most, ++atOnce)
    await sql`select pg_sleep(0.02)`.execute(ours.db)
    atOnce--
    done++
  })
  await until('all jobs are handled', () => done === 60) // by polls it would take 40 s
  expect(most).toBe(3)
})

test('a job that a worker took but did not start is handled by another worker, and counts as not taken', async () => {
  const kind = job<{ number: number }>('test-surplus')
  const [first, second] = [await openWorker(), await openWorker()]
  await first.declare(kind)
  await transaction(ours.db, async (tx) => {
    for (let number = 0; number < 200; number++) await first.enqueue(tx, kind, { number })
  })
  const [byFirst, bySecond]: [number[], number[]] = [[], []]
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await first.handle(kind, { concurrency: 1 }, async ({ data }) => {
    byFirst.push(data.number)
    if (byFirst.length === 20) await held
  })
  await until('the first worker is held up', () => byFirst.length === 20)
  await second.handle(kind, { concurrency: 1 }, async ({ data }) => void bySecond.push(data.number))
  await until('the second worker has handled the others', () => bySecond.length === 180)
  release()
  const numbers = [...byFirst, ...bySecond].toSorted((a, b) => a - b)
  expect(numbers).toEqual(Array.from({ length: 200 }, (_, number) => number))
  const { rows } = await sql<{ retries: number }>`
    select max(retry_count) as retries from pgboss.job where name = 'test-surplus'`.execute(ours.db)
  expect(rows[0]?.retries).toBe(0)
})

test('a job that fails is retried, and others continue meanwhile', async () => {
  const jobs = await openWorker()
  const kind = job<{ name: string }>('test-retry', { retryLimit: 3 })
  const tries: string[] = []
  await jobs.handle(kind, { concurrency: 1 }, async ({ data }) => {
    tries.push(data.name)
    if (data.name === 'bad' && tries.filter((name) => name === 'bad').length < 2) throw new Error('not this time')
  })
  await transaction(ours.db, async (tx) => {
    await jobs.enqueue(tx, kind, { name: 'bad' })
    await jobs.enqueue(tx, kind, { name: 'good' })
  })
  await until('both are done', () => tries.length === 3)
  expect(tries).toEqual(['bad', 'good', 'bad'])
})

test('a worker that stops in the middle of a job releases it to another, which need not wait for the lease to expire', async () => {
  const kind = job<object>('test-stop', { retryDelaySeconds: 0 })
  const first = await openWorker()
  let taken = false
  await first.handle(
    kind,
    { concurrency: 1 },
    ({ signal }) =>
      new Promise((_resolve, reject) => {
        taken = true
        signal.addEventListener('abort', () => reject(new Error('stopping')))
      }),
  )
  await transaction(ours.db, (tx) => first.enqueue(tx, kind, {}))
  await until('the first worker has it', () => taken)
  await first.stop()
  const second = await openWorker()
  let again = 0
  await second.handle(kind, { concurrency: 1 }, async () => void again++)
  await until('the second worker has done it', () => again === 1, 8_000)
})

test('a job whose worker was killed runs again', async () => {
  const kind = job<object>('test-killed')
  const jobs = await openWorker()
  await jobs.declare(kind)
  const worker = startCommand(['test/platform/worker-that-never-ends.ts', database.url])
  await transaction(ours.db, (tx) => jobs.enqueue(tx, kind, {}))
  await worker.line(/the job is taken/)
  worker.child.kill('SIGKILL')
  await worker.ended
  let again = 0
  await jobs.handle(kind, { concurrency: 1 }, async () => void again++)
  await until('the job has run again', () => again === 1, 25_000)
}, 60_000)

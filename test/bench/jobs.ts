/** Jobs: how soon a committed job is picked up, and how long a backlog takes, beside graphile-worker on the same Postgres. */
import { setTimeout as pause } from 'node:timers/promises'
import { Logger, run, type Runner } from 'graphile-worker'
import pg from 'pg'
import { job, openJobs, type Jobs } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import { log } from '#src/platform/log.ts'
import { openPubsub } from '#src/platform/pubsub.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Findings } from './benchmark.ts'
import { inRounds, median, quantile, ratioOf, shown, shownRatio } from './rounds.ts'
import { inWorld, type World } from './world.ts'

const jobsPerRound = 50
const betweenJobsMs = 20
const backlogJobs = 10_000
const quickBacklogJobs = 300
const drainRounds = 3
const concurrency = 6 // what a node gives its VMs
const drainLimitMs = 300_000
const wantedRatio = 1.3

/** A queue whose handler tells how long a job was on its way. */
type Queue = { name: string; send: (sentAt: number) => Promise<void>; received: number[]; stop: () => Promise<void> }

const pickupJob = job<{ sentAt: number }>('bench-pickup')
const drainJob = job<{ sentAt: number }>('bench-drain')

/** Pickup and drain. */
export const jobs: Benchmark = {
  name: 'jobs',
  title: 'Jobs',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const queues = [await openOurs(world), await openGraphile(world)]
      for (const queue of queues) await measureRound(queue)
      const latencies = await inRounds(effort.rounds, queues, measureRound)
      for (const queue of queues) await queue.stop()
      const p50s = latencies.map((rounds) => rounds.map((one) => median(one)))
      const ratio = ratioOf(p50s[0] ?? [], p50s[1] ?? [])
      say(`pickup: ${shownRatio(ratio)}`)
      const backlog = effort.quick ? quickBacklogJobs : backlogJobs
      const drains = await inRounds(effort.quick ? 1 : drainRounds, [drainOurs, drainGraphile], (drain) =>
        drain(world, backlog),
      )
      const drained = ratioOf(drains[0] ?? [], drains[1] ?? [])
      say(`backlog: ${shownRatio(drained)}`)
      return {
        how: `From before the transaction that enqueues the job begins until its handler begins. Both enqueue in a transaction of their own; ${jobsPerRound} jobs a round, one every ${betweenJobsMs} ms, ${effort.rounds} rounds. Ours handles ${concurrency} at once, as for VMs; graphile-worker runs with its defaults. Then ${backlog.toLocaleString('en-US')} jobs that do nothing are enqueued before a worker starts, ${drainRounds} times in turns.`,
        tables: [
          {
            title: 'Pickup and backlog',
            columns: ['queue', 'pickup p50 ms', 'p99 ms', 'ratio of p50', 'backlog, jobs/s', 'ratio of backlog'],
            rows: queues.map(({ name }, at) => [
              name,
              shown(median(p50s[at] ?? [])),
              shown(quantile((latencies[at] ?? []).flat(), 0.99)),
              shownRatio(ratioOf(p50s[at] ?? [], p50s[1] ?? [])),
              shown(median(drains[at] ?? [])),
              shownRatio(ratioOf(drains[at] ?? [], drains[1] ?? [])),
            ]),
          },
        ],
        goals: [
          {
            what: 'pickup p50, of graphile-worker',
            wanted: `≤ ${shownRatio(wantedRatio)}`,
            measured: shownRatio(ratio),
            met: ratio <= wantedRatio,
          },
          {
            what: 'a backlog drained, jobs/s of graphile-worker',
            wanted: `≥ ${shownRatio(1)}`,
            measured: shownRatio(drained),
            met: drained >= 1,
          },
        ],
      }
    }),
}

async function measureRound(queue: Queue): Promise<number[]> {
  queue.received.length = 0
  for (let sent = 0; sent < jobsPerRound; sent++) {
    await queue.send(performance.now())
    await pause(betweenJobsMs)
  }
  await until(`${queue.name} has handled ${jobsPerRound} jobs`, () => queue.received.length === jobsPerRound)
  return [...queue.received]
}

async function openOurs({ databaseUrl, database }: World): Promise<Queue> {
  const pubsub = openPubsub(databaseUrl)
  const [web, worker] = [
    await openJobs(databaseUrl, pubsub, { worker: false }),
    await openJobs(databaseUrl, pubsub, { worker: true }),
  ]
  const received: number[] = []
  await worker.handle(
    pickupJob,
    { concurrency },
    async ({ data }) => void received.push(performance.now() - data.sentAt),
  )
  return {
    name: 'Berth',
    received,
    send: (sentAt) => transaction(database.db, (tx) => web.enqueue(tx, pickupJob, { sentAt })),
    stop: async () => {
      await worker.stop()
      await web.stop()
      await pubsub.close()
    },
  }
}

async function openGraphile({ databaseUrl }: World): Promise<Queue> {
  const received: number[] = []
  const runner = await startGraphile(databaseUrl, (sentAt) => received.push(performance.now() - sentAt))
  const pool = openPool(databaseUrl, 1)
  return {
    name: 'graphile-worker',
    received,
    send: async (sentAt) => {
      const client = await pool.connect()
      await client.query('begin')
      await client.query({
        name: 'add',
        text: `select graphile_worker.add_job('bench', $1::json)`,
        values: [JSON.stringify({ sentAt })],
      })
      await client.query('commit')
      client.release()
    },
    stop: async () => {
      await runner.stop()
      await pool.end()
    },
  }
}

async function startGraphile(databaseUrl: string, handle: (sentAt: number) => void): Promise<Pick<Runner, 'stop'>> {
  const silent = new Logger(() => () => undefined)
  const pgPool = openPool(databaseUrl, 10) // its own default
  const runner = await run({
    pgPool,
    logger: silent,
    noHandleSignals: true,
    taskList: { bench: async (payload) => handle((payload as { sentAt: number }).sentAt) },
  }) // as sent above
  return {
    stop: async () => {
      await runner.stop()
      await pgPool.end()
    },
  }
}

/** A pool whose idle connections may be cut when the server stops: that is no failure of the measurement. */
function openPool(databaseUrl: string, max: number): pg.Pool {
  return new pg.Pool({ connectionString: databaseUrl, max }).on('error', (error) =>
    log.debug({ reason: error.message }, 'a connection was cut'),
  )
}

/** Jobs a second. */
async function drainOurs({ databaseUrl, database }: World, backlog: number): Promise<number> {
  const pubsub = openPubsub(databaseUrl)
  const jobs: Jobs = await openJobs(databaseUrl, pubsub, { worker: true })
  await jobs.declare(drainJob)
  await transaction(database.db, async (tx) => {
    for (let sent = 0; sent < backlog; sent++) await jobs.enqueue(tx, drainJob, { sentAt: 0 })
  })
  let handled = 0
  const startedAt = performance.now()
  await jobs.handle(drainJob, { concurrency }, async () => void handled++)
  await until('the backlog is handled', () => handled >= backlog, drainLimitMs)
  const seconds = (performance.now() - startedAt) / 1000
  await jobs.stop()
  await pubsub.close()
  return backlog / seconds
}

async function drainGraphile({ databaseUrl }: World, backlog: number): Promise<number> {
  const pool = openPool(databaseUrl, 1)
  await pool.query(`select graphile_worker.add_job('bench', '{"sentAt": 0}') from generate_series(1, $1)`, [backlog])
  let handled = 0
  const startedAt = performance.now()
  const runner = await startGraphile(databaseUrl, () => handled++)
  await until('the backlog is handled', () => handled >= backlog, drainLimitMs)
  const seconds = (performance.now() - startedAt) / 1000
  await runner.stop()
  await pool.end()
  return backlog / seconds
}

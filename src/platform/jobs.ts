/**
 * Slow work: the only client of pg-boss. A job is declared beside its noun in src/resources, enqueued in the
 * transaction that makes it necessary, and handled in workers/. A handler may run twice: it must read the row first.
 */
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { startSlots, type JobSource, type Slots } from './jobs/slots.ts'
import { log } from './log.ts'
import { findAll, sql, type Db, type Tx } from './postgres.ts'
import { publish, type Pubsub } from './pubsub.ts'
import { runForeignStatement } from './postgres/statements.ts'

/** A kind of job. `Data` holds ids only: payloads are stored in clear. */
export type Job<Data extends object> = { readonly name: string; readonly options: JobOptions; readonly data?: Data }
/** How often a job is retried, and how long one attempt may take; seconds. */
export type JobOptions = { retryLimit: number; retryDelaySeconds: number; expireInSeconds: number }

// Recovery after kill -9: a job whose worker is silent this long runs again. 10 s is pg-boss' minimum.
const heartbeatSeconds = 10
const superviseSeconds = 1
const topic = 'jobs'
const keptSeconds = 3600
const defaults: JobOptions = { retryLimit: 5, retryDelaySeconds: 1, expireInSeconds: 900 }

/** Declares a kind of job. */
export function job<Data extends object>(name: string, options: Partial<JobOptions> = {}): Job<Data> {
  return { name, options: { ...defaults, ...options } }
}

/** The same kind of job in one node's own queue, so that only that node takes it. */
export function onNode<Data extends object>(kind: Job<Data>, nodeId: string): Job<Data> {
  return { name: `${kind.name}/${nodeId}`, options: kind.options }
}

/** The argument of a handler: the data, and a signal that fires when the worker stops. */
export type JobRun<Data> = { id: string; data: Data; signal: AbortSignal }

/** Enqueues and handles jobs. */
export type Jobs = {
  /** Adds the job in this transaction: after a rollback there is no job. Those of a higher priority, usually 0, are taken first. */
  enqueue<Data extends object>(
    tx: Tx,
    kind: Job<Data>,
    data: Data,
    options?: { startAfterSeconds?: number; priority?: number },
  ): Promise<void>
  /** The same for several jobs of one kind, in one statement. */
  enqueueEach<Data extends object>(
    tx: Tx,
    kind: Job<Data>,
    jobs: readonly { data: Data; priority?: number }[],
  ): Promise<void>
  /** Handles jobs of this kind, with this concurrency, until stop. */
  handle<Data extends object>(
    kind: Job<Data>,
    options: { concurrency: number },
    handler: (run: JobRun<Data>) => Promise<void>,
  ): Promise<void>
  /** Creates the queue if it does not exist. */
  declare<Data extends object>(kind: Job<Data>): Promise<void>
  /** Waits for running handlers, then disconnects. Idempotent. */
  stop: () => Promise<void>
}

/**
 * Returns jobs to the queue as if they had not been taken. pg-boss' own `restore` does not check whether the job still
 * belongs to the caller: one that another worker has finished meanwhile would run again.
 */
const giveBackText = `
  update pgboss.job set state = 'created', started_on = null, heartbeat_on = null
  where name = $1 and state = 'active' and id = any (select split_part(taken, ':', 1)::uuid from unnest($2::text[]) taken)
    and id::text || ':' || retry_count = any ($2::text[])`

const stopTimeoutMs = 8_000
const workerConnections = 6
const webConnections = 2

/**
 * Connects to the queue, creating its tables if they do not exist.
 * @param worker whether this process handles jobs; one that only enqueues does no maintenance.
 */
export async function openJobs(databaseUrl: string, pubsub: Pubsub, { worker }: { worker: boolean }): Promise<Jobs> {
  const pool = openPool(databaseUrl, worker)
  const boss = await openBoss(pool, worker)
  const stopping = new AbortController()
  const queues = knownQueues(boss)
  const slots = new Map<string, Slots>()
  let stopped: Promise<void> | undefined
  pubsub.listen(topic, (name) => {
    for (const [queue, taking] of slots) if (name === null || name === queue) taking.wake()
  })

  return {
    declare: queues.declare,
    async enqueue(tx, kind, data, options = {}) {
      // pg-boss looks the queue up by name, the first time on its own connection
      if (!queues.has(kind)) await queues.declare(kind)
      const id = await boss.send(kind.name, data, {
        ...(options.startAfterSeconds ? { startAfter: options.startAfterSeconds } : {}),
        priority: options.priority ?? 0,
        db: within(tx),
      })
      if (id === null) throw new Error(`the queue ${kind.name} did not take a job`)
      if (!options.startAfterSeconds) publish(tx, topic, kind.name)
    },
    async enqueueEach(tx, kind, all) {
      if (all.length === 0) return
      if (!queues.has(kind)) await queues.declare(kind)
      const ids = await boss.insert(
        kind.name,
        all.map(({ data, priority = 0 }) => ({ data, priority })),
        { db: within(tx), returnId: true },
      )
      if (ids?.length !== all.length) throw new Error(`the queue ${kind.name} did not take each of its jobs`)
      publish(tx, topic, kind.name)
    },
    async handle<Data extends object>(
      kind: Job<Data>,
      { concurrency }: { concurrency: number },
      handler: (run: JobRun<Data>) => Promise<void>,
    ) {
      await queues.declare(kind)
      if (slots.has(kind.name)) throw new Error(`the queue ${kind.name} is handled already in this process`)
      slots.set(
        kind.name,
        startSlots<Data>(
          kind.name,
          sourceOf(boss, pool, kind.name),
          { concurrency, touchMs: (heartbeatSeconds * 1000) / 3 },
          ({ id, data }) => handler({ id, data, signal: stopping.signal }),
        ),
      )
    },
    stop() {
      stopping.abort()
      return (stopped ??= (async () => {
        await Promise.all([...slots.values()].map((taking) => taking.stop(stopTimeoutMs)))
        await boss.stop({ graceful: false })
        await pool.end()
      })())
    },
  }
}

/** Lets pg-boss make its statements in this transaction. */
function within(tx: Tx): {
  executeSql: (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>
} {
  return {
    executeSql: async (text, values = []) => ({
      rows: (await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, values))).rows,
    }),
  }
}

/** Connections of the queue's own. */
function openPool(databaseUrl: string, worker: boolean): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: worker ? 'berth-jobs-worker' : 'berth-jobs',
    max: worker ? workerConnections : webConnections,
    keepAlive: true,
    // Taking and completing jobs need not be durable: after a crash of Postgres they would run once more. Enqueueing is durable, and done elsewhere.
    options: '-c synchronous_commit=off',
  })
  pool.on('error', (error) => log.warn({ reason: error.message }, 'the job queue lost a connection'))
  pool.on('connect', (client) =>
    client.on('error', (error) => log.warn({ reason: error.message }, 'the job queue lost a connection')),
  )
  return pool
}

async function openBoss(pool: pg.Pool, worker: boolean): Promise<PgBoss> {
  const boss = new PgBoss({
    db: {
      executeSql: (text, values = []) =>
        values.length > 0 ? runForeignStatement(pool, text, values) : pool.query(text),
    }, // a query without values may have several statements
    supervise: worker,
    schedule: false,
    superviseIntervalSeconds: superviseSeconds,
    monitorIntervalSeconds: superviseSeconds,
  })
  boss.on('error', (error) => log.warn({ reason: error.message }, 'the job queue lost the database for a moment'))
  await boss.start()
  return boss
}

/** The queues that this process knows to be there; each is made once. */
function knownQueues(boss: PgBoss): {
  has: (kind: { name: string }) => boolean
  declare: (kind: { name: string; options: JobOptions }) => Promise<void>
} {
  const declared = new Set<string>()
  return {
    has: ({ name }) => declared.has(name),
    async declare({ name, options: { retryLimit, retryDelaySeconds, expireInSeconds } }) {
      if (declared.has(name)) return
      await boss.createQueue(name, {
        heartbeatSeconds,
        retryLimit,
        retryDelay: retryDelaySeconds,
        retryBackoff: true,
        retryDelayMax: 60,
        expireInSeconds,
        deleteAfterSeconds: keptSeconds,
      })
      declared.add(name)
    },
  }
}

/** Where slots get the jobs of a queue, and tell how they went. */
function sourceOf<Data extends object>(boss: PgBoss, pool: pg.Pool, queue: string): JobSource<Data> {
  return {
    fetch: (most) => boss.fetch<Data>(queue, { batchSize: most }),
    touch: async (jobs) => void (await boss.touch(queue, jobs)),
    complete: async (jobs) => void (await boss.complete(queue, jobs)),
    giveBack: async (jobs) => {
      await pool.query(giveBackText, [queue, jobs.map(({ id, retryCount }) => `${id}:${retryCount}`)])
    },
    fail: async (job, reason) => void (await boss.fail(queue, job, { reason })),
  }
}

/**
 * The state of a queue; the queues of nodes of one kind count as one. `oldestSeconds`: how long the oldest job has been
 * due.
 */
export type QueueState = { queue: string; queued: number; active: number; failed: number; oldestSeconds: number }

/** The state of every queue that has jobs, or had some in the last hour. */
export async function readQueues(db: Db): Promise<QueueState[]> {
  return findAll<QueueState>(
    db,
    sql`
    select split_part(name, '/', 1) as queue, count(*) filter (where state in ('created', 'retry')) as queued,
      count(*) filter (where state = 'active') as active,
      count(*) filter (where state = 'failed') as failed,
      greatest(0, coalesce(extract(epoch from now() - min(start_after) filter (where state in ('created', 'retry'))), 0))::float8 as oldest_seconds
    from pgboss.job group by 1 order by 1 limit 100`,
  )
}

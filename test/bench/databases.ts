/** Databases: from the request to the first answer through the proxy, and waking one that sleeps, beside a plain VM. */
import { decodeJwt } from 'jose'
import pg from 'pg'
import { decodeId } from '#src/platform/ids.ts'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Effort, Findings, Goal } from './benchmark.ts'
import { median, quantile, shown, shownRatio } from './rounds.ts'
import { startHost, withVms, type VmHost } from './vm-host.ts'
import { inWorld, startProcess, type World } from './world.ts'

const sleepAfterSeconds = 10
const sleepLimitMs = 60_000

/** How often each is done. */
const timesOf = ({ quick }: Effort): number => (quick ? 2 : 10)

/** The stages of a create, in their order. Unit: ms. */
const stages = ['its VM runs', 'its server is set up', 'the answer is there', 'connected', 'answered'] as const
type Stage = (typeof stages)[number]

/** One turn. Unit: ms. */
type Turn = {
  plain: number
  created: number
  stages: Record<Stage, number>
  woken: number
  /** That part of waking that is its VM's. */
  resumed: number
}

/** A database as its creation answers it. */
type Made = { id: string; host: string; token: string }

/** What the turns work with. */
type Bench = { world: World; host: VmHost; token: string }

/** Creates and wakes. */
export const databases: Benchmark = {
  name: 'databases',
  title: 'Databases',
  measure: async (effort, say) =>
    inWorld(
      {
        BERTH_POSTGRES_PORT: String(await freePort()),
        BERTH_DATABASE_SLEEP_SECONDS: String(sleepAfterSeconds),
      },
      (world) => withVms(world, () => takeTurns(world, effort, say), true),
    ),
}

async function takeTurns(world: World, effort: Effort, say: (line: string) => void): Promise<Findings> {
  await startProcess(world, 'edge')
  const bench = { world, host: await startHost(world, 0), token: await world.token() }
  await takeTurn(bench) // the first one reads everything from the disk
  const turns: Turn[] = []
  for (let turn = 0; turn < timesOf(effort); turn++) {
    const taken = await takeTurn(bench)
    turns.push(taken)
    say(`create ${shown(taken.created)} ms, wake ${shown(taken.woken)} ms, a plain VM ${shown(taken.plain)} ms`)
  }
  return findingsOf(turns, world)
}

async function takeTurn(bench: Bench): Promise<Turn> {
  const { host } = bench
  await host.calm(0)
  const plain = await usePlainVm(host)
  await host.calm(0)
  const { database, ...created } = await createAndAsk(bench)
  await until('it sleeps', async () => (await vmOf(bench, database)).status === 'paused', sleepLimitMs)
  await host.calm(0)
  const woken = await wake(bench, database)
  await request(bench, 'DELETE', `/${database.id}`)
  return { plain, ...created, ...woken }
}

/** A plain VM, from the request to its first command. */
async function usePlainVm(host: VmHost): Promise<number> {
  const made = await host.create()
  const first = await host.call('POST', `/${made.id}/envd/exec`, { command: 'true' })
  if (first.status !== 200) throw new Error(`a command was answered ${first.status}`)
  await host.remove(made.id)
  return made.ms + first.ms
}

/** A database, from the request to the first answer through the proxy. */
async function createAndAsk(bench: Bench): Promise<Pick<Turn, 'created' | 'stages'> & { database: Made }> {
  const startedMs = Date.now()
  const startedAt = performance.now()
  const database = await request<Made>(bench, 'POST', '', {
    organization_id: String(decodeJwt(bench.token)['org_id']),
  })
  const answered = performance.now() - startedAt
  const connected = await ask(bench, database, startedAt)
  const created = performance.now() - startedAt
  const { runningMs, activeMs } = await vmOf(bench, database)
  return {
    database,
    created,
    stages: {
      'its VM runs': runningMs - startedMs,
      'its server is set up': activeMs - runningMs,
      'the answer is there': startedMs + answered - activeMs,
      connected: connected - answered,
      answered: created - connected,
    },
  }
}

async function wake(bench: Bench, database: Made): Promise<Pick<Turn, 'woken' | 'resumed'>> {
  const startedMs = Date.now()
  const startedAt = performance.now()
  await ask(bench, database, startedAt)
  const woken = performance.now() - startedAt
  return { woken, resumed: (await vmOf(bench, database)).runningMs - startedMs }
}

/** Connects as the owner, and asks for a row. @returns when it was connected, counted from then; ms */
async function ask({ world }: Bench, { id, host, token }: Made, startedAt: number): Promise<number> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: world.config.postgresPort,
    user: `app_${id.slice(-6)}`,
    password: token,
    database: 'app',
    ssl: { rejectUnauthorized: false, servername: host },
  })
  client.on('error', (error) => process.stderr.write(`${error.message}\n`)) // the question fails too
  await client.connect()
  const connected = performance.now() - startedAt
  await client.query('select 1')
  client.end().catch((error: Error) => process.stderr.write(`${error.message}\n`))
  return connected
}

/** The VM of a database: when it last began to run, and when its database was first active, in ms of Unix time. */
async function vmOf({ world }: Bench, { id }: Made): Promise<{ status: string; runningMs: number; activeMs: number }> {
  const { rows } = await world.database.pool.query<{ status: string; running: string; active: string }>(
    `select v.status,
      (select extract(epoch from max(created_at)) * 1000 from vm_events where vm_id = v.id and status = 'running') as running,
      (select extract(epoch from min(created_at)) * 1000 from database_events where database_id = d.id and status = 'active') as active
    from databases d join vms v on v.id = d.vm_id where d.id = $1`,
    [decodeId('database', id)],
  )
  const [row] = rows
  if (!row) throw new Error('the database has no VM')
  return { status: row.status, runningMs: Number(row.running), activeMs: Number(row.active) }
}

/** Calls REST below the path of databases. @throws Error unless it succeeds */
async function request<Body>({ world, token }: Bench, method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await fetch(`${world.url}/api/v1/databases${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} of a database was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Body
}

function findingsOf(turns: readonly Turn[], world: World): Findings {
  const created = turns.map((turn) => turn.created)
  const woken = turns.map((turn) => turn.woken)
  const row = (what: string, ours: readonly number[], floorName: string, floor: readonly number[]): string[] => [
    what,
    String(ours.length),
    shown(median(ours)),
    shown(quantile(ours, 0.99)),
    floorName,
    shown(median(floor)),
    shownRatio(median(ours) / median(floor)),
  ]
  return {
    how: `Requests to web and edge processes, one at a time, while nothing else happens on the host; no machine is kept warm. Machines run with ${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}. A database is measured from its POST to the answer to the first \`select 1\` through the proxy, with TLS and SCRAM, by a client that connects once; a plain VM in the same turn from its POST to the end of its first command. Then the database falls asleep after ${sleepAfterSeconds} s, and the next client wakes it.`,
    tables: [
      {
        title: 'How long it takes',
        columns: ['what', 'times', 'p50 ms', 'p99 ms', 'floor', 'its p50 ms', 'ratio'],
        rows: [
          row(
            'create, and ask',
            created,
            'a plain VM and its first command',
            turns.map(({ plain }) => plain),
          ),
          row(
            'wake, and ask',
            woken,
            'until its VM runs again',
            turns.map(({ resumed }) => resumed),
          ),
        ],
      },
      {
        title: 'Where the time of a create goes',
        columns: ['until', 'p50 ms'],
        rows: stages.map((stage) => [stage, shown(median(turns.map((turn) => turn.stages[stage])))]),
      },
    ],
    goals: [
      goal('POST of a database to the first select 1 through the proxy, p50', created, 3000),
      goal('connecting to a database that sleeps, to the answer, p50', woken, 2000),
    ],
  }
}

function goal(what: string, measured: readonly number[], mostMs: number): Goal {
  const p50 = median(measured)
  return { what, wanted: `≤ ${mostMs} ms`, measured: `${shown(p50)} ms`, met: p50 <= mostMs }
}

/** Ten thousand schedules of one minute: how long until each has started its session, and what other requests notice of it. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { issueToken } from '#src/identity/issuer.ts'
import { momentAt, now } from '#src/platform/clock.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { findAll, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { insertSchedule } from '#src/resources/agents/schedules/making.ts'
import { until } from '../../support/until.ts'
import { freePort } from '../../support/ports.ts'
import type { Benchmark, Effort, Findings } from '../benchmark.ts'
import { quantile, shown, shownRatio } from '../rounds.ts'
import { inWorld, startProcess, type World } from '../world.ts'

const organizations = 20
const schedulesEach = { quick: 15, full: 500 }
const idleSeconds = { quick: 2, full: 20 }
const betweenRequestsMs = 40
/** Schedules fire up to ten seconds after their moment, each always as long. */
const leadMs = 3_000
const limitMs = 600_000
const wantedSeconds = 60
const wantedRatio = 2

/** From the moment until the last session, and requests meanwhile. */
export const schedules: Benchmark = {
  name: 'schedules',
  title: 'Schedules of one minute',
  measure: (effort, say) =>
    inWorld({ BERTH_VMS: 'off' }, async (world): Promise<Findings> => {
      const second = await openSecondFolder(world)
      try {
        await startProcess(world, 'web')
        await world.start(['workers/main.ts'], /this worker runs no VMs/)
        await world.start(['workers/main.ts'], /this worker runs no VMs/, {
          BERTH_DATA_DIR: second,
          PORT: String(await freePort()),
        })
        return await measureMinute(world, effort, say)
      } finally {
        rmSync(second, { recursive: true, force: true })
      }
    }),
}

async function measureMinute(world: World, effort: Effort, say: (line: string) => void): Promise<Findings> {
  const size = effort.quick ? 'quick' : 'full'
  const path = await makeSchedules(world, schedulesEach[size])
  const total = organizations * schedulesEach[size]
  await ask(world, path, idleSeconds[size] * 1000) // warm
  const idle = await ask(world, path, idleSeconds[size] * 1000)
  say(`idle: p99 ${shown(quantile(idle, 0.99))} ms`)
  const { busy, seconds, jittered } = await fireAll(world, path, total)
  const { started, sessions } = await countFires(world)
  say(`${started} of ${total} started ${sessions} sessions in ${shown(seconds)} s`)
  const p99s = [idle, busy].map((times) => quantile(times, 0.99))
  const ratio = (p99s[1] ?? NaN) / (p99s[0] ?? NaN)
  const line = (name: string, times: number[]): string[] => [
    name,
    String(times.length),
    shown(quantile(times, 0.5)),
    shown(quantile(times, 0.99)),
    shown(Math.max(...times)),
  ]
  return {
    how: `One web process and two workers on one machine with a Postgres that waits for its disk. ${total.toLocaleString('en-US')} schedules of ${organizations} organizations have the same moment, half of those of an organization for one agent, the others each for its own; each fires up to ten seconds later, always as long (the last ${shown(jittered)} s). Each starts a session, whose turn with the built-in model the same workers work on at once. Measured from the moment until the last is committed. Meanwhile, and for ${idleSeconds[size]} s before it, a client reads one schedule every ${betweenRequestsMs} ms, whether the one before was answered or not.`,
    tables: [
      {
        title: 'Fires',
        columns: ['schedules', 'started', 'sessions', 'the last after, s', 'fires a second'],
        rows: [[String(total), String(started), String(sessions), shown(seconds), shown(total / seconds)]],
      },
      {
        title: 'Requests to the web process',
        columns: ['while', 'requests', 'p50 ms', 'p99 ms', 'longest ms'],
        rows: [line('nothing is due', idle), line('schedules fire', busy)],
      },
    ],
    goals: [
      {
        what: `${total.toLocaleString('en-US')} schedules of one minute all fire once, with two workers`,
        wanted: `≤ ${wantedSeconds} s`,
        measured: `${shown(seconds)} s`,
        met: seconds <= wantedSeconds && started === total && sessions === total,
      },
      {
        what: 'p99 of the web process meanwhile, of idle',
        wanted: `≤ ${shownRatio(wantedRatio)}`,
        measured: shownRatio(ratio),
        met: ratio <= wantedRatio,
      },
    ],
  }
}

/** A data folder for a worker of another node, with the same key. */
async function openSecondFolder(world: World): Promise<string> {
  await world.token() // makes the key
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-worker-'))
  cpSync(join(world.dataDir, 'secret.key'), join(folder, 'secret.key'))
  return folder
}

type Asked = { path: string; token: string }

/**
 * Several organizations, each with as many schedules for New Year: every other one is of the same agent, the others each
 * of one of their own. @returns what the client reads.
 */
async function makeSchedules(world: World, each: number): Promise<Asked> {
  const { config, database, dataDir } = world
  const services = { db: database.db, sealer: loadSealer(config.secretKey, dataDir), config }
  let asked: Asked | undefined
  for (let made = 0; made < organizations; made++) {
    const names = { user: `owner${made}`, organization: `org${made}` }
    const { token } = await issueToken(services, {
      ...names,
      role: 'owner',
      ttlSeconds: 7200,
      newNames: { make: true },
    })
    const post = async (path: string, body: object): Promise<{ id: string }> => {
      const answer = await fetch(`${world.url}/agents/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (answer.status !== 201) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as { id: string }
    }
    const agent = await post('/agents', { name: 'worker', model: 'berth/demo' })
    const order = { cron: '0 0 1 1 *', timezone: 'UTC', agent: agent.id, kickoff: 'Look around.' }
    const first = await post('/schedules', order)
    asked = { path: `/agents/v1/schedules/${first.id}`, token }
    await transaction(database.db, async (tx) => {
      const like = await getOne<Parameters<typeof insertSchedule>[1] & { ownerUserId: string }>(
        tx,
        sql`select * from schedules where id = ${decodeId('schedule', first.id)}`,
      )
      for (let more = 1; more < each; more++) {
        const agentId = more % 2 === 0 ? like.agentId : await copyAgent(tx, like.agentId)
        await insertSchedule(tx, { ...like, name: null, agentId, userId: like.ownerUserId })
      }
    })
  }
  if (!asked) throw new Error('no organization was made')
  return asked
}

async function copyAgent(tx: Tx, id: string | null): Promise<string> {
  const copy = newUuid()
  await sql`insert into agents (id, organization_id, owner_user_id, version, definition)
    select ${copy}::uuid, organization_id, owner_user_id, version, definition from agents where id = ${id}`.execute(tx)
  await sql`insert into agent_versions (agent_id, version, definition)
    select ${copy}::uuid, version, definition from agent_versions where agent_id = ${id}`.execute(tx)
  return copy
}

/** Makes all of them due at one moment; until the last has fired. */
async function fireAll(
  world: World,
  asked: Asked,
  total: number,
): Promise<{ busy: number[]; seconds: number; jittered: number }> {
  const { db } = world.database
  const moment = momentAt(now().getTime() + leadMs)
  const [last] = await findAll<{ jitterMs: number }>(db, sql`select max(jitter_ms) as jitter_ms from schedules`)
  await sql`update schedules set next_run_at = ${moment}`.execute(db)
  const fired = async (): Promise<number> =>
    (await getOne<{ count: number }>(db, sql`select count(*) from schedules where next_run_at > ${moment}`)).count
  await pause(moment.getTime() - now().getTime())
  const over = new AbortController()
  const asking = ask(world, asked, limitMs, over.signal)
  await until('every schedule has fired', async () => (await fired()) === total, limitMs, 250)
  const seconds = (now().getTime() - moment.getTime()) / 1000
  over.abort()
  return { busy: await asking, seconds, jittered: (last?.jitterMs ?? 0) / 1000 }
}

async function countFires({ database: { db } }: World): Promise<{ started: number; sessions: number }> {
  return getOne(
    db,
    sql`select count(*) filter (where status = 'started') as started, count(distinct session_id) as sessions from schedule_runs`,
  )
}

/** Reads at an even pace, whatever the answers take; the times of all answers, ms. */
async function ask({ url }: World, { path, token }: Asked, forMs: number, over?: AbortSignal): Promise<number[]> {
  const client = new Pool(url, { connections: 16, pipelining: 1 })
  const headers = { authorization: `Bearer ${token}` }
  const times: number[] = []
  const answers: Promise<void>[] = []
  const beginMs = performance.now()
  for (let sent = 0; sent * betweenRequestsMs < forMs && !over?.aborted; sent++) {
    const dueMs = beginMs + sent * betweenRequestsMs
    await pause(Math.max(0, dueMs - performance.now()))
    answers.push(
      (async () => {
        const { statusCode, body } = await client.request({ path, method: 'GET', headers })
        await body.dump()
        if (statusCode !== 200) throw new Error(`${path} answers ${statusCode}`)
        times.push(performance.now() - dueMs)
      })(),
    )
  }
  await Promise.all(answers)
  await client.close()
  return times
}

/** Workers that are killed while they fire schedules, of agents and of deployments, and while their sessions begin. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, findAll, getOne, sql } from '#src/platform/postgres.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { startScheduleWorld, type ScheduleWorld } from './world.ts'

const schedulesOfAgent = 20
const schedulesOfDeployments = 20
const minutesAgo = [2, 1]
const moments = (schedulesOfAgent + schedulesOfDeployments) * minutesAgo.length
const kills = 3

let world: ScheduleWorld
let otherFolder: string
beforeAll(async () => {
  world = await startScheduleWorld()
  otherFolder = mkdtempSync(join(tmpdir(), 'berth-second-worker-'))
  cpSync(join(world.berth.dataDir, 'secret.key'), join(otherFolder, 'secret.key'))
})
afterAll(async () => {
  await world?.berth.stop()
  rmSync(otherFolder, { recursive: true, force: true })
})

async function startWorkers(): Promise<Command[]> {
  const settings = async (dataDir: string): Promise<Record<string, string>> => ({
    BERTH_VMS: 'off',
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: world.berth.services.database.url,
    PORT: String(await freePort()),
    BERTH_LOG_LEVEL: 'error',
  })
  return [world.berth.dataDir, otherFolder].reduce<Promise<Command[]>>(
    async (before, dataDir) => [...(await before), startCommand(['workers/main.ts'], await settings(dataDir))],
    Promise.resolve([]),
  )
}

async function kill(workers: readonly Command[]): Promise<void> {
  for (const { child } of workers) child.kill('SIGKILL')
  await Promise.all(workers.map(({ ended }) => ended))
}

/** Schedules that fired last an hour ago, and whose last moments have come while no worker was running. */
async function makeMissed(): Promise<void> {
  const beganMs = Date.now() // once: making them may take beyond the end of a minute
  const due = minutesAgo.map((ago) => new Date(beganMs - (beganMs % 60_000) - ago * 60_000))
  const minutes = due.map((moment) => moment.getUTCMinutes())
  const usual = { cron: `${minutes.join(',')} * * * *`, overlap: 'allow' }
  for (let made = 0; made < schedulesOfAgent; made++) await world.make(usual)
  for (let made = 0; made < schedulesOfDeployments; made++) {
    const order = { name: `d${made}`, agent: world.agent, kickoff: 'Look around.' }
    const { body } = await callAgents<{ id: string }>(world.berth, world.token, 'POST', '/deployments', order)
    await world.make({ ...usual, agent: null, kickoff: null, deployment: body.id })
  }
  await change(world.berth.services.db, sql`update schedules set next_run_at = ${due[0]?.toISOString()}, jitter_ms = 0`)
}

test('each moment starts one session with one kickoff, although all workers are killed again and again', async () => {
  const { db } = world.berth.services
  const count = async (query: ReturnType<typeof sql>): Promise<number> =>
    (await getOne<{ count: number }>(db, sql<{ count: number }>`select count(*) from ${query}`)).count
  await makeMissed()
  let workers = await startWorkers()
  try {
    for (let killed = 0; killed < kills; killed++) {
      const begun = sql`pg_stat_activity where datname = current_database() and xact_start is not null and query ~ 'insert into deployment_runs'`
      await until('a worker is in the middle of a transaction', async () => (await count(begun)) > 0, 60_000, 2)
      await kill(workers)
      expect(await count(sql`schedules where next_run_at < now()`)).toBeGreaterThan(0)
      workers = await startWorkers()
    }
    await until('nothing is due', async () => (await count(sql`schedules where next_run_at < now()`)) === 0, 60_000)
    await until('all sessions rest', async () => (await count(sql`sessions where status <> 'idle'`)) === 0, 90_000)
  } finally {
    await kill(workers)
  }
  const runs = await findAll<{ scheduleId: string; status: string; moments: number; sessions: number }>(
    db,
    sql`select schedule_id, min(status) || max(status) as status, count(distinct scheduled_at) as moments, count(distinct session_id) as sessions from schedule_runs group by schedule_id`,
  )
  expect(runs).toHaveLength(schedulesOfAgent + schedulesOfDeployments)
  for (const run of runs) expect(run).toMatchObject({ status: 'startedstarted', moments: 2, sessions: 2 })
  expect(await count(sql`sessions where source = 'schedule'`)).toBe(moments)
  expect(await count(sql`deployment_runs`)).toBe(schedulesOfDeployments * minutesAgo.length)
  expect(
    await count(
      sql`deployment_runs d join schedule_runs r on r.session_id = d.session_id join sessions s on s.id = d.session_id and s.deployment_id = d.deployment_id`,
    ),
  ).toBe(schedulesOfDeployments * minutesAgo.length)
  const logs = await findAll<{ events: string; count: number }>(
    db,
    sql`
    select events, count(*) from (
      select session_id, count(*) filter (where type = 'user.message') || ' kickoff, ' || count(*) filter (where type = 'agent.message') || ' answer' as events
      from session_events group by session_id) each group by events`,
  )
  expect(logs).toEqual([{ events: '1 kickoff, 1 answer', count: moments }])
}, 240_000)

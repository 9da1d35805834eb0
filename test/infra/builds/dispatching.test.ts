/** Whose turn it is to build, on which node, and what ends builds that nobody runs any more. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { dispatchBuilds, endStrandedBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { appendBuildLog } from '#src/resources/infra/builds/logs.ts'
import { findBuildRow } from '#src/resources/infra/builds/rows.ts'
import { BuildClaimLost, claimBuild, keepBuildSecrets } from '#src/resources/infra/builds/runs.ts'
import { finishBuild, setBuildCommit } from '#src/resources/infra/builds/states.ts'
import type { Berth } from '../../support/berth.ts'
import {
  claimOf,
  clearBuilds,
  startWithoutBuilder,
  submit,
  submitRunning,
  uuidOf,
  type Job,
} from '../../support/builds.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  ;({ berth, token, node } = await startWithoutBuilder())
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

const get = async (job: Job): Promise<Job> =>
  (await berth.call<Job>('GET', `/api/v1/build/jobs/${job.id}`, { token })).body

describe('the dispatcher', () => {
  const running = async (): Promise<string[]> =>
    (
      await sql<{
        name: string
      }>`select o.name from build_jobs b join organizations o on o.id = b.organization_id where b.status = 'running' order by b.started_at, b.id`.execute(
        berth.services.db,
      )
    ).rows.map(({ name }) => name)

  test('gives an organization four at once, and the next when one has ended', async () => {
    const jobs: Job[] = []
    for (let i = 0; i < 6; i++) jobs.push(await submit(berth, token))
    expect(await dispatchBuilds(berth.services)).toBe(limits.buildsRunningMax)
    expect(await Promise.all(jobs.map(async (job) => (await get(job)).status))).toEqual([
      'running',
      'running',
      'running',
      'running',
      'queued',
      'queued',
    ])
    await finishBuild(berth.services, uuidOf(jobs[1]!), { status: 'succeeded', exitCode: 0 })
    expect(await dispatchBuilds(berth.services)).toBe(1)
    expect((await get(jobs[4]!)).status).toBe('running')
  })

  test('lets organizations take turns, however much one of them has queued', async () => {
    const tokens = { acme: token, beta: await berth.token('b', 'beta'), gamma: await berth.token('c', 'gamma') }
    for (const one of [tokens.acme, tokens.acme, tokens.acme, tokens.acme, tokens.beta, tokens.gamma, tokens.beta])
      await submit(berth, one)
    await dispatchBuilds(berth.services)
    expect((await running()).slice(0, 5)).toEqual(['acme', 'beta', 'gamma', 'acme', 'beta'])
  })

  test('does not reserve more memory of a node than it has, and lets a smaller build of another organization pass', async () => {
    const {
      rows: [before],
    } = await sql<{ mb: number }>`select memory_mb as mb from nodes where id = ${node}`.execute(berth.services.db)
    await sql`update nodes set memory_mb = 8000 where id = ${node}`.execute(berth.services.db)
    try {
      const large = [
        await submit(berth, token, { resources: { memory_mb: 5000 } }),
        await submit(berth, token, { resources: { memory_mb: 5000 } }),
      ]
      const small = await submit(berth, await berth.token('b', 'beta'), { resources: { memory_mb: 512 } })
      await dispatchBuilds(berth.services)
      expect(await Promise.all(large.map(async (job) => (await get(job)).status))).toEqual(['running', 'queued'])
      expect((await findBuildRow(berth.services.db, uuidOf(small)))?.status).toBe('running')
    } finally {
      await sql`update nodes set memory_mb = ${before!.mb} where id = ${node}`.execute(berth.services.db)
    }
  })

  test('ten at once give every job one node and one run, and a later worker takes a build from the one before it', async () => {
    const jobs = [await submit(berth, token), await submit(berth, token), await submit(berth, token)]
    const given = await Promise.all(Array.from({ length: 10 }, () => dispatchBuilds(berth.services)))
    expect(given.reduce((sum, one) => sum + one)).toBe(3)
    for (const job of jobs) {
      const { rows } =
        await sql`select 1 from pgboss.job where name = ${`builds-run/${node}`} and data->>'buildId' = ${uuidOf(job)}`.execute(
          berth.services.db,
        )
      expect(rows).toHaveLength(1)
      const first = await claimOf(berth.services.db, uuidOf(job))
      await sql`update nodes set worker_number = worker_number + 1 where id = ${node}`.execute(berth.services.db)
      try {
        const second = await claimBuild(berth.services.db, uuidOf(job), { nodeId: node, workerNumber: 1 })
        expect(second).toMatchObject({
          claim: { workerNumber: 1 },
          build: { status: 'running' },
          progress: { stage: 0, begunBy: null },
        })
        expect(await claimBuild(berth.services.db, uuidOf(job), { nodeId: node, workerNumber: 0 })).toBeUndefined()
        expect(
          await appendBuildLog(berth.services.db, first, [
            { ms: 1, seq: 0, output: 'of a worker that was thought dead' },
          ]),
        ).toBe(false)
        expect(await finishBuild(berth.services, uuidOf(job), { status: 'failed' }, ['running'], first)).toBeUndefined()
        await setBuildCommit(berth.services.db, first, 'b'.repeat(40))
        await expect(keepBuildSecrets(berth.services, first, {})).rejects.toThrow(BuildClaimLost)
        expect(await get(job)).toMatchObject({ status: 'running', commit_sha: null })
        expect(
          await finishBuild(berth.services, uuidOf(job), { status: 'cancelled' }, ['running'], second?.claim),
        ).toMatchObject({ status: 'cancelled' })
      } finally {
        await sql`update nodes set worker_number = 0 where id = ${node}`.execute(berth.services.db)
      }
    }
  })

  test('fails what waited an hour, and what runs on a node that is lost', async () => {
    const lost = await submitRunning(berth, token)
    const waiting = await submit(berth, token)
    const young = await submit(berth, token)
    await sql`update build_jobs set queued_at = now() - interval '61 minutes' where id = ${uuidOf(waiting)}`.execute(
      berth.services.db,
    )
    await sql`update nodes set heartbeat_at = now() - interval '61 seconds' where id = ${node}`.execute(
      berth.services.db,
    )
    try {
      await endStrandedBuilds(berth.services)
    } finally {
      await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`.execute(berth.services.db)
    }
    expect(await get(lost)).toMatchObject({ status: 'failed', error: 'builder_lost', exit_code: null })
    expect(await get(waiting)).toMatchObject({ status: 'failed', error: 'no_capacity', started_at: null })
    expect((await get(young)).status).toBe('queued')
  })
})

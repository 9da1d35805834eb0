/** What a running web process and a running worker tell Prometheus, and that nothing that is down makes them fail at it. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { register } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reportGivenCertificate } from '#src/edge/postgres/logins/certificates.ts'
import { nowMs, shiftClock } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { recordBackup, reportLastBackup } from '#src/platform/metrics/last-backup.ts'
import { addMetricSource } from '#src/platform/metrics/sources.ts'
import { sql } from '#src/platform/postgres.ts'
import { readBackupLateness } from '#src/resources/infra/backup-schedules/lateness.ts'
import { readCertificateExpiry } from '#src/resources/infra/certificates/expiry.ts'
import { reportMachines } from '#workers/infra/machine-metrics.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { submit } from '../support/builds.ts'
import { startCommand, type Command } from '../support/command.ts'
import { databaseUuid, makeDatabase } from '../support/databases.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'
import { startTestPostgres, type TestPostgres } from '../support/postgres.ts'
import { makeSessionRow } from '../support/sessions.ts'
import { until } from '../support/until.ts'

/** The figures of a text as Prometheus reads it: `name{labels}` to number. */
function figures(text: string): Map<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
  )
}

describe('the processes', () => {
  let postgres: TestPostgres
  let berth: Berth
  let token: string
  let dataDir: string
  const ports = { web: 0, worker: 0 }
  const started: Command[] = []
  const scrape = async (who: keyof typeof ports): Promise<Map<string, number>> => {
    const answer = await fetch(`http://127.0.0.1:${ports[who]}/metrics`)
    expect(answer.status).toBe(200)
    return figures(await answer.text())
  }
  beforeAll(async () => {
    postgres = await startTestPostgres()
    berth = await startBerth({ on: postgres })
    token = await berth.token()
    const node = await makeSilentNode(berth.services.db)
    await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`.execute(berth.services.db)
    for (const status of ['running', 'running', 'stopped', 'deleted'])
      await makeVmRow(berth.services.db, token, node, { status })
    await submit(berth, token)
    await makeSessionRow(berth.services.db, token)
    dataDir = mkdtempSync(join(tmpdir(), 'berth-metrics-'))
    chmodSync(dataDir, 0o711)
    for (const who of ['web', 'worker'] as const) ports[who] = await freePort()
    const settings = {
      PORT: String(await freePort()),
      BERTH_DATA_DIR: dataDir,
      BERTH_VMS: 'off',
      DATABASE_URL: berth.services.database.url,
      BERTH_METRICS_PORT: String(ports.web),
      BERTH_WORKER_METRICS_PORT: String(ports.worker),
    }
    const [web, worker] = [startCommand(['src/gateway/main.ts'], settings), startCommand(['workers/main.ts'], settings)]
    started.push(web, worker)
    await web.line(/listens/)
    await worker.line(/runs no VMs/)
  }, 60_000)
  afterAll(async () => {
    for (const { child, ended } of started) {
      child.kill('SIGKILL')
      await ended
    }
    await berth.stop()
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  test.each(['web', 'worker'] as const)(
    'the %s tells of VMs, nodes, jobs, builds, sessions, disks and its database connections',
    async (who) => {
      const told = await scrape(who)
      expect([...told.keys()].some((name) => name.startsWith('berth_jobs{queue="builds-dispatch",state="'))).toBe(true)
      expect(told.get('berth_vms{status="running"}')).toBe(2)
      expect(told.get('berth_vms{status="stopped"}')).toBe(1)
      expect(told.has('berth_vms{status="deleted"}')).toBe(false)
      expect(told.get('berth_node_memory_bytes{node="silent"}')).toBe(100_000 * 1024 * 1024)
      expect(told.get('berth_node_memory_promised_bytes{node="silent"}')).toBe(4096 * 1024 * 1024)
      expect(told.get('berth_node_up{node="silent"}')).toBe(1)
      expect(told.get('berth_builds{status="queued"}')).toBe(1)
      expect(told.get('berth_build_oldest_queued_age_seconds')).toBeGreaterThan(0)
      expect(told.get('berth_sessions{status="idle"}')).toBe(1)
      for (const folder of ['data', 'cache'])
        expect(told.get(`berth_disk_free_bytes{folder="${folder}"}`)).toBeGreaterThan(0)
      expect(told.get('berth_database_connections{state="open"}')).toBeGreaterThan(0)
      for (const name of ['bytes', 'connections', 'connections_max'])
        expect(told.get(`berth_own_postgres_${name}`)).toBeGreaterThan(0)
      for (const name of [
        'berth_backup_schedules_failing',
        'berth_certificate_renewal_late_seconds',
        'berth_uploads_under_way',
        'berth_environments_provisioning',
        'berth_database_connections{state="waiting"}',
      ])
        expect([name, told.get(name)]).toEqual([name, 0])
      for (const source of ['database', 'disks', 'own_postgres', 'last_backup'])
        expect(told.get(`berth_metrics_source_up{source="${source}"}`)).toBe(1)
      expect(told.has('berth_http_connections')).toBe(true)
    },
  )

  test.each(['web', 'worker'] as const)('the %s answers probes beside its metrics', async (who) => {
    const probe = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${ports[who]}${path}`)
    expect((await probe('/livez')).status).toBe(200)
    expect((await probe('/healthz')).status).toBe(200)
    await until('it is ready', async () => (await probe('/readyz')).status === 200)
    expect(await (await probe('/readyz?verbose')).text()).toMatch(/^\[\+\]database ok$[^]*^readyz check passed$/m)
  })

  test('no label names a tenant', async () => {
    const { organizationId, userId } = idsOf(token)
    const text = [...(await scrape('web')).keys(), ...(await scrape('worker')).keys()].join('\n')
    for (const name of [organizationId, userId, 'acme', 'alice', 'org_', 'usr_', 'vm_', 'sesn_'])
      expect(text).not.toContain(name)
  })

  test('with a dead Postgres both answer, with all metrics but those from Postgres', async () => {
    await postgres.killPostgres()
    await postgres.backendsGone()
    try {
      for (const who of ['web', 'worker'] as const) {
        await until(
          'it has noticed',
          async () => (await scrape(who)).get('berth_metrics_source_up{source="database"}') === 0,
        )
        const told = await scrape(who)
        expect(
          [...told.keys()].filter((name) =>
            /^berth_(?:vms|jobs|sessions|builds|node_up|uploads_under_way)\b/.test(name),
          ),
        ).toEqual([])
        expect(told.get('berth_disk_free_bytes{folder="data"}')).toBeGreaterThan(0)
        expect(told.has('process_cpu_seconds_total')).toBe(true)
        const probe = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${ports[who]}${path}`)
        const ready = await probe('/readyz')
        expect([who, ready.status, ready.headers.get('retry-after')]).toEqual([who, 503, '1'])
        expect((await probe('/livez')).status).toBe(200)
      }
    } finally {
      await postgres.restartPostgres()
    }
    await until('they tell all again', async () => (await scrape('web')).get('berth_vms{status="running"}') === 2)
  }, 60_000)
})

describe('counters and sources', () => {
  let berth: Berth
  beforeAll(async () => {
    berth = await startBerth()
  })
  afterAll(() => berth.stop())
  const told = async (): Promise<Map<string, number>> => figures(await register.metrics())

  test('tokens are counted by direction and model, and refusals by reason', async () => {
    const token = await berth.token()
    const { key } = await makeKey(berth, token)
    const chat = () =>
      berth.call('POST', '/llm/v1/chat/completions', {
        token: key,
        body: { model: 'berth/demo', messages: [{ role: 'user', content: 'Hello!' }] },
      })
    expect((await chat()).status).toBe(200)
    const after = await told()
    for (const direction of ['input', 'output'])
      expect(after.get(`berth_model_tokens_total{direction="${direction}",model="berth/demo"}`)).toBeGreaterThan(0)
    const poor = await berth.token('bob', 'poor')
    await sql`update inference_accounts set plan = null where organization_id = ${idsOf(poor).organizationId}`.execute(
      berth.services.db,
    )
    const { key: poorKey } = await makeKey(berth, poor)
    expect(
      (
        await berth.call('POST', '/llm/v1/chat/completions', {
          token: poorKey,
          body: { model: 'berth/demo', messages: [{ role: 'user', content: 'Hello!' }] },
        })
      ).status,
    ).toBe(402)
    expect((await told()).get('berth_credit_refusals_total{reason="no_active_plan"}')).toBe(1)
  })

  test('a worker tells of its machines and its pool', async () => {
    const resident = { id: 'x', live: true, paused: false, folderId: null }
    reportMachines(
      {
        warm: 1,
        residents: async () => [resident, { ...resident, live: false }, { ...resident, live: false }],
      } as unknown as Parameters<typeof reportMachines>[0],
      { vmPoolSize: 2 },
    )
    const figuresNow = await told()
    expect(
      [
        'berth_machines{state="running"}',
        'berth_machines{state="at_rest"}',
        'berth_warm_machines',
        'berth_warm_machines_wanted',
      ].map((name) => figuresNow.get(name)),
    ).toEqual([1, 2, 1, 2])
  })

  test('a request for a database connection waits only while none is free', async () => {
    const { pool } = berth.services.database
    const waiting = async (): Promise<number | undefined> =>
      (await register.getSingleMetric('berth_database_connections')?.get())?.values.find(
        ({ labels }) => labels['state'] === 'waiting',
      )?.value
    const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
    const late = pool.connect()
    expect(await waiting()).toBe(1)
    for (const client of held) client.release()
    const taken = await late
    // Both ask in one turn: the pool lists them until its next.
    const [other, count] = await Promise.all([pool.connect(), waiting()])
    expect(count).toBe(0)
    for (const client of [taken, other]) client.release()
  })

  test('a source that hangs is read once, and is left out', async () => {
    let reads = 0
    addMetricSource('hanging', { berth_test_hanging: { help: 'For a test.' } }, () => {
      reads++
      return new Promise(() => undefined)
    })
    const [first, second] = await Promise.all([told(), told()])
    for (const one of [first, second]) {
      expect(one.has('berth_test_hanging')).toBe(false)
      expect(one.get('berth_metrics_source_up{source="hanging"}')).toBe(0)
    }
    expect(reads).toBe(1)
  })

  test('a schedule fails when its last moment was refused, or its newest backup failed; the age is of the last good one', async () => {
    const { db } = berth.services
    const owner = await berth.token('carol', 'kept')
    const { id } = await makeDatabase(berth, owner, await makeSilentNode(db))
    const of = { organization: idsOf(owner).organizationId, database: databaseUuid(id), schedule: newUuid() }
    const addBackup = (status: string, hoursAgo: number): Promise<unknown> =>
      sql`insert into database_backups (id, organization_id, database_id, schedule_id, scheduled_at, status, triggered_by, sha256, completed_at, event_position)
        values (${newUuid()}, ${of.organization}, ${of.database}, ${of.schedule}, now() - ${hoursAgo} * interval '1 hour', ${status}, 'schedule',
          ${status === 'completed' ? 'a'.repeat(64) : null}, ${status === 'completed' ? sql`now() - ${hoursAgo} * interval '1 hour'` : null}, 1)`.execute(
        db,
      )
    const read = async (): Promise<[hours: number, failing: number]> => {
      const { oldestSeconds, failing } = await readBackupLateness(db)
      return [Math.round(oldestSeconds / 3600), failing]
    }
    expect(await read()).toEqual([0, 0])
    await sql`insert into backup_schedules (id, organization_id, database_id, cron, timezone, next_run_at, created_at)
      values (${of.schedule}, ${of.organization}, ${of.database}, '0 3 * * *', 'UTC', now() + interval '1 hour', now() - interval '90 hours')`.execute(
      db,
    )
    expect(await read()).toEqual([90, 0])
    await addBackup('completed', 48)
    expect(await read()).toEqual([48, 0])
    await addBackup('failed', 24)
    expect(await read()).toEqual([48, 1])
    await addBackup('completed', 2)
    await addBackup('running', 1)
    expect(await read()).toEqual([2, 0])
    await sql`update backup_schedules set last_error = 'Its database is gone.'`.execute(db)
    expect(await read()).toEqual([2, 1])
    await sql`update backup_schedules set enabled = false, next_run_at = null`.execute(db)
    expect(await read()).toEqual([0, 0])
  })

  test('the certificate that ends first counts, and its renewal is late from a third of its life on', async () => {
    const { db } = berth.services
    const { organizationId } = idsOf(await berth.token('dave', 'named'))
    const add = (host: string, daysAgo: number, daysLeft: number): Promise<unknown> =>
      sql`insert into certificates (id, organization_id, domain_id, host, status, issuer, not_before, not_after)
        values (${newUuid()}, ${organizationId}, ${newUuid()}, ${host}, 'issued', 'https://acme.example/dir',
          now() - ${daysAgo} * interval '1 day', now() + ${daysLeft} * interval '1 day')`.execute(db)
    const days = (seconds: number | null): number | null => (seconds === null ? null : Math.round(seconds / 86_400))
    const read = async (): Promise<(number | null)[]> => {
      const { leftSeconds, renewalLateSeconds } = await readCertificateExpiry(db)
      return [days(leftSeconds), days(renewalLateSeconds)]
    }
    expect(await read()).toEqual([null, 0])
    await add('fresh.example', 10, 80)
    expect(await read()).toEqual([80, 0])
    await add('late.example', 70, 20)
    expect(await read()).toEqual([20, 10])
    await add('over.example', 92, -2)
    expect(await read()).toEqual([-2, 32])
    await sql`insert into domains (id, organization_id, name, status, verification_token, lost_at, next_check_at)
      select domain_id, organization_id, host, 'active', ${'0'.repeat(32)}, now(), now() from certificates where host = 'over.example'`.execute(
      db,
    )
    expect(await read()).toEqual([20, 10]) // whose DNS leads elsewhere is not renewed, and nobody waits for it
  })

  test('the last backup of the installation is told by its age and size, once there is one', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-last-backup-'))
    try {
      reportLastBackup(dataDir)
      expect((await told()).has('berth_installation_backup_age_seconds')).toBe(false)
      recordBackup(dataDir, 4096)
      shiftClock(7_200_000)
      reportLastBackup(dataDir) // reads anew
      const figuresNow = await told()
      expect(Math.round((figuresNow.get('berth_installation_backup_age_seconds') ?? 0) / 3600)).toBe(2)
      expect(figuresNow.get('berth_installation_backup_bytes')).toBe(4096)
    } finally {
      shiftClock(0)
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  test('a given certificate is told by how long it is good', async () => {
    const inAnHour = async () => ({ endsAt: nowMs() + 3_600_000 })
    reportGivenCertificate(null)
    expect((await told()).has('berth_given_certificate_left_seconds')).toBe(false)
    reportGivenCertificate(inAnHour)
    expect(Math.round((await told()).get('berth_given_certificate_left_seconds') ?? 0)).toBe(3600)
  })
})

/** Restores of databases over REST and GraphQL, with servers that are fakes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { forgetOldBackups } from '#src/resources/infra/database-backups/removal.ts'
import { requeueRestores } from '#src/resources/infra/database-restores/states.ts'
import type { Restore } from '#src/resources/infra/database-restores/rows.ts'
import { makeBackup } from '#workers/infra/database-backups.ts'
import { restoreDatabase } from '#workers/infra/database-restores.ts'
import { until } from '../support/until.ts'
import { startBackupWorld, type BackupAnswer, type BackupWorld } from './database-backups/backup-world.ts'
import type { FakeServer } from './database-backups/fake-servers.ts'

let world: BackupWorld
beforeAll(async () => {
  world = await startBackupWorld()
})
afterAll(() => world.stop())

const never = new AbortController().signal

/** The newest restore of a database. */
async function restoreOf(of: BackupWorld, db: string): Promise<Restore> {
  const found = await findOne<Restore>(
    of.berth.services.db,
    sql`select * from database_restores where database_id = ${decodeId('database', db)} order by id desc limit 1`,
  )
  if (!found) throw new Error('there is no restore')
  return found
}

/** Backs up the first data of a new database, and changes them. */
async function changed(of: BackupWorld): Promise<{ db: string; backup: string; server: FakeServer }> {
  const { id: db, server } = await of.database()
  const { id: backup } = await of.backUp(db)
  await of.whenBackup(db, backup, 'completed')
  server.databases.set('app', 'broken data')
  return { db, backup, server }
}

describe('a restore', () => {
  test('replaces the data, keeps a backup of what was there, and opens the database again', async () => {
    const { db, backup, server } = await changed(world)
    const { status, body } = await world.call<{ message: string }>('POST', `${db}/backups/${backup}/restore`)
    expect([status, body]).toEqual([202, { message: 'Restore started' }])
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    expect(Object.fromEntries(server.databases)).toEqual({
      app: 'the first data',
      app_old_1: 'broken data',
      postgres: '',
    })
    expect([...server.closed]).toEqual(['app_old_1'])
    const [safety] = (await world.call<BackupAnswer[]>('GET', `${db}/backups`)).body
    expect(safety).toMatchObject({ triggered_by: 'pre_restore', status: 'completed' })
    expect(world.contentOf(`${safety?.id}.dump`)).toBe('broken data')
    const { body: answer } = await world.berth.ask(
      `query ($id: ID!) { database(id: $id) { status restores { nodes { status error progress { step loadedBytes backupBytes } backup { id } safetyBackup { id } database { id } } } } }`,
      { token: world.token, variables: { id: db } },
    )
    expect(answer.data).toEqual({
      database: {
        status: 'ACTIVE',
        restores: {
          nodes: [
            {
              status: 'COMPLETED',
              error: null,
              progress: { step: 'FINISHED', loadedBytes: 14, backupBytes: 14 },
              backup: { id: backup },
              safetyBackup: { id: safety?.id },
              database: { id: db },
            },
          ],
        },
      },
    })
    const statuses = await sql<{
      status: string
    }>`select status from database_events where database_id = ${decodeId('database', db)} order by position`.execute(
      world.berth.services.db,
    )
    expect(statuses.rows.map((row) => row.status).slice(-2)).toEqual(['restoring', 'active'])
  })

  test('again and again does not fill the store: the newest backups that they made first are kept, and the one that is restored', async () => {
    const { db, backup } = await changed(world)
    const listed = async (): Promise<string[]> => {
      const { body } = await world.call<BackupAnswer[]>('GET', `${db}/backups`)
      return body.filter((one) => one.status === 'completed').map(({ id }) => id)
    }
    const restore = async (id: string): Promise<void> => {
      expect((await world.call('POST', `${db}/backups/${id}/restore`)).status).toBe(202)
      await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    }
    for (let times = 0; times < limits.safetyBackupsKept; times++) await restore(backup)
    const before = await listed()
    expect(before).toHaveLength(limits.safetyBackupsKept + 1)
    const oldest = before.at(-2) ?? ''
    await restore(oldest)
    expect((await listed()).slice(1)).toEqual(before) // it was read while another was made
    await restore(backup)
    const [newest, second, ...older] = await listed()
    expect(older).toEqual([before[0], backup])
    expect([newest, second].filter((id) => id && before.includes(id))).toEqual([])
    await forgetOldBackups(world.berth.services)
    for (const id of [newest, second, ...older]) expect(world.files().stored).toContain(`${id}.dump`)
    for (const id of before.slice(1, -1)) expect(world.files().stored).not.toContain(`${id}.dump`)
  })

  test('is refused with 429 when the organization has no room for files left', async () => {
    const { db, backup } = await changed(world)
    const { services } = world.berth
    const large = (size: number) =>
      sql`update database_backups set size_bytes = ${size} where id = ${decodeId('backup', backup)}`.execute(
        services.db,
      )
    await large(2 ** 50)
    expect(await world.call('POST', `${db}/backups/${backup}/restore`)).toMatchObject({
      status: 429,
      body: { error: 'rate_limited', message: expect.stringContaining('Delete backups') as unknown },
    })
    expect(await world.statusOf(db)).toBe('active')
    await large(1)
  })

  test('of one organization, however long they take, leave room for those of others', async () => {
    const many = await Promise.all(Array.from({ length: 5 }, () => changed(world)))
    for (const { db, backup, server } of many) {
      server.loads = 'hang'
      expect((await world.call('POST', `${db}/backups/${backup}/restore`)).status).toBe(202)
    }
    const running = async (): Promise<string[]> =>
      (await Promise.all(many.map(({ db }) => restoreOf(world, db)))).map(({ status }) => status)
    await until('some of them run', async () => (await running()).filter((one) => one === 'running').length === 2)
    const as = await world.berth.token('ann', 'another')
    const { id: db, server } = await world.database('active', as)
    const { id: backup } = (await world.call('POST', `${db}/backups`, { as })).body
    await until('it is complete', async () => {
      const { body } = await world.call('GET', `${db}/backups/${backup}`, { as })
      return body.status === 'completed'
    })
    server.databases.set('app', 'broken data')
    expect((await world.call('POST', `${db}/backups/${backup}/restore`, { as })).status).toBe(202)
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    expect(server.databases.get('app')).toBe('the first data')
    expect((await running()).toSorted()).toEqual(['pending', 'pending', 'pending', 'running', 'running'])
    for (const { db: own } of many)
      await sql`update database_restores set status = 'failed', tidied_at = now(), finished_at = now() where database_id = ${decodeId('database', own)}`.execute(
        world.berth.services.db,
      )
  })

  test('is followed by a subscription until it ends', async () => {
    const { db, backup } = await changed(world)
    await world.call('POST', `${db}/backups/${backup}/restore`)
    const { id } = await restoreOf(world, db)
    const seen = await world.followed('databaseRestoreEvents', 'DatabaseRestoreEvent', encodeId('restore', id), '0')
    expect([seen[0], seen.at(-1)]).toEqual(['1 PENDING', `${seen.length} COMPLETED`])
  })

  test('drops what it replaced a day later', async () => {
    const { db, backup, server } = await changed(world)
    await world.call('POST', `${db}/backups/${backup}/restore`)
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    await sql`update database_restores set tidy_after = now(), heartbeat_at = now() - interval '2 minutes' where database_id = ${decodeId('database', db)}`.execute(
      world.berth.services.db,
    )
    await requeueRestores(world.berth.services)
    await until('the old data is gone', () => !server.databases.has('app_old_1'))
    expect(server.databases.get('app')).toBe('the first data')
  })

  test('into another database makes the data that one’s, and leaves the first as it is', async () => {
    const { db, backup, server } = await changed(world)
    const target = await world.database()
    target.server.databases.set('app', 'other data')
    const path = `${db}/backups/${backup}/restore`
    expect((await world.call('POST', path, { body: { target_database_id: target.id } })).status).toBe(202)
    await until('it is active again', async () => (await world.statusOf(target.id)) === 'active')
    expect(target.server.databases.get('app')).toBe('the first data')
    expect(server.databases.get('app')).toBe('broken data')
    const [user, other] = [db, target.id].map((id) => `app_${id.slice(-6)}`)
    const handed = target.server.said.filter((statement) =>
      statement.includes(`reassign owned by "${user}" to "${other}"`),
    )
    expect(handed).toHaveLength(1)
    expect(target.server.said).toContain(`drop role if exists "${user}"`)
  })

  test('is refused with 400 when the backup is not usable, the database is not ready, or another one runs', async () => {
    const { db, backup, server } = await changed(world)
    server.dumps = 'fail'
    const failed = await world.backUp(db)
    await world.whenBackup(db, failed.id, 'failed')
    server.dumps = 'well'
    const refusal = async (id: string, body?: unknown) => {
      const answer = await world.call('POST', `${db}/backups/${id}/restore`, { body })
      return [answer.status, answer.body.error]
    }
    expect(await refusal(failed.id)).toEqual([400, 'backup_not_usable'])
    expect(await refusal(backup, { target_database_id: 'db_01jxxxxxxxxxxxxxxxxxxxxxxx' })).toEqual([
      400,
      'invalid_request',
    ])
    expect(await refusal(backup, { target: db })).toEqual([400, 'invalid_request'])
    server.loads = 'hang'
    expect(await refusal(backup)).toEqual([202, undefined])
    await until('it loads', async () => (await restoreOf(world, db)).step === 'load')
    expect(await refusal(backup)).toEqual([400, 'restore_in_progress'])
    expect(await world.call('POST', `${db}/backups`)).toMatchObject({
      status: 409,
      body: { error: 'database_not_ready' },
    })
    expect(server.databases.get('app')).toBe('broken data')
  })

  test.each([
    ['the backup before it fails', (server: FakeServer) => (server.dumps = 'fail'), 'so nothing was changed'],
    ['the backup cannot be loaded', (server: FakeServer) => (server.loads = 'fail'), 'ERROR: disk full'],
    [
      'the disk of the database has no room',
      (server: FakeServer) => (server.freeKilobytes = 1000),
      'Make the disk larger',
    ],
  ])('leaves the old data when %s', async (_, spoil, sentence) => {
    const { db, backup, server } = await changed(world)
    spoil(server)
    await world.call('POST', `${db}/backups/${backup}/restore`)
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    expect(Object.fromEntries(server.databases)).toEqual({ app: 'broken data', postgres: '' })
    expect([...server.closed]).toEqual([])
    expect(await restoreOf(world, db)).toMatchObject({ status: 'failed', error: expect.stringContaining(sentence) })
    const statuses = await sql<{
      status: string
    }>`select status from database_events where database_id = ${decodeId('database', db)} order by position`.execute(
      world.berth.services.db,
    )
    expect(statuses.rows.map((row) => row.status).slice(-3)).toEqual(['restoring', 'error', 'active'])
  })

  test('of a file that is not what was written leaves the old data', async () => {
    const { db, backup, server } = await changed(world)
    await sql`update database_backups set sha256 = repeat('0', 64) where id = ${decodeId('backup', backup)}`.execute(
      world.berth.services.db,
    )
    await world.call('POST', `${db}/backups/${backup}/restore`)
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    expect(server.databases.get('app')).toBe('broken data')
    expect((await restoreOf(world, db)).error).toContain('is not what was written')
  })

  test('keeps its backup until it has ended, although that is deleted meanwhile', async () => {
    const { db, backup, server } = await changed(world)
    let open = (): void => undefined
    const held = new Promise<void>((resolve) => (open = resolve))
    server.before = (statement) => (statement.startsWith('create database') ? held : undefined)
    await world.call('POST', `${db}/backups/${backup}/restore`)
    await until('it loads', async () => (await restoreOf(world, db)).step === 'load')
    expect((await world.call('DELETE', `${db}/backups/${backup}`)).status).toBe(200)
    expect((await world.call('GET', `${db}/backups/${backup}`)).body.status).toBe('deleting')
    open()
    await until('it is active again', async () => (await world.statusOf(db)) === 'active')
    expect(server.databases.get('app')).toBe('the first data')
  })
})

describe('a restore whose worker is killed', () => {
  let idle: BackupWorld
  beforeAll(async () => {
    idle = await startBackupWorld({ handles: false })
  })
  afterAll(() => idle.stop())

  /** Statements after which the worker of a restore is killed: each leaves the server as it is then. */
  const moments = [
    'create database "app_restore_1"',
    'revoke all on database "app_restore_1"',
    'create schema if not exists auth',
    'alter database "app" with allow_connections false',
    'alter database "app" rename to "app_old_1"',
    'alter role',
  ]

  test.each(moments)('at “%s” goes on in the next worker', async (moment) => {
    const { id: db, server } = await idle.database()
    const { id: backup } = await idle.backUp(db)
    await makeBackup(idle.work(1), decodeId('backup', backup) ?? '', never, idle.find)
    server.databases.set('app', 'broken data')
    await idle.call('POST', `${db}/backups/${backup}/restore`)
    const { id } = await restoreOf(idle, db)
    let isDead = false
    server.before = async (statement) => {
      if (isDead) await new Promise(() => undefined) // a killed worker says nothing more
      if (!statement.includes(moment)) return
      isDead = true
    }
    const killed = new AbortController()
    const first = restoreDatabase(idle.work(1), id, killed.signal, idle.find).catch(() => 'given up')
    await until('it is killed', () => isDead)
    await until('its last statement is done', () => server.said.some((statement) => statement.includes(moment)))
    killed.abort()
    await first
    server.before = () => undefined
    expect((await restoreOf(idle, db)).status).toBe('running')
    await restoreDatabase(idle.work(2), id, never, idle.find)
    expect(await restoreOf(idle, db)).toMatchObject({ status: 'completed', error: null })
    expect(await idle.statusOf(db)).toBe('active')
    expect(Object.fromEntries(server.databases)).toEqual({
      app: 'the first data',
      app_old_1: 'broken data',
      postgres: '',
    })
    expect([...server.closed]).toEqual(['app_old_1'])
  })

  test('and that comes back later neither fails nor completes what the next one does', async () => {
    const { id: db, server } = await idle.database()
    const { id: backup } = await idle.backUp(db)
    await makeBackup(idle.work(1), decodeId('backup', backup) ?? '', never, idle.find)
    server.databases.set('app', 'broken data')
    await idle.call('POST', `${db}/backups/${backup}/restore`)
    const { id } = await restoreOf(idle, db)
    let second: Promise<void> | undefined
    let isHeld = false
    server.before = async (statement) => {
      if (isHeld || !statement.startsWith('create database')) return
      isHeld = true // the first worker stands still here, until the second one is done
      await (second = restoreDatabase(idle.work(2), id, never, idle.find))
    }
    await restoreDatabase(idle.work(1), id, never, idle.find)
    await second
    expect(await restoreOf(idle, db)).toMatchObject({ status: 'completed', error: null, workerNumber: 2 })
    expect(await idle.statusOf(db)).toBe('active')
    expect(server.databases.get('app')).toBe('the first data')
  })
})

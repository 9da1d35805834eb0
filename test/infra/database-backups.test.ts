/** Backups of databases over REST and GraphQL, with servers that are fakes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { insertBackup } from '#src/resources/infra/database-backups.ts'
import { endLostBackups, forgetOldBackups } from '#src/resources/infra/database-backups/removal.ts'
import { runBackup } from '#src/resources/infra/database-backups/rows.ts'
import { claimBackup, requeueBackups } from '#src/resources/infra/database-backups/states.ts'
import { makeBackup } from '#workers/infra/database-backups.ts'
import { rowOf } from '../support/databases.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { startBackupWorld, type BackupAnswer, type BackupWorld } from './database-backups/backup-world.ts'

let world: BackupWorld
beforeAll(async () => {
  world = await startBackupWorld()
})
afterAll(() => world.stop())

const uuid = (id: string): string => decodeId('backup', id) ?? ''
const never = new AbortController().signal

describe('a backup', () => {
  test('is made, read, listed and deleted, with its file', async () => {
    const { id: db, server } = await world.database()
    const { status, body: made } = await world.call('POST', `${db}/backups`)
    expect(status).toBe(202)
    expect(made).toMatchObject({
      database_id: db,
      triggered_by: 'manual',
      error: null,
      size_bytes: 0,
      completed_at: null,
    })
    const done = await world.whenBackup(db, made.id, 'completed')
    expect(done).toMatchObject({ size_bytes: 14, error: null, completed_at: expect.stringMatching(/Z$/) })
    expect(Object.keys(done).sort()).toEqual([
      'completed_at',
      'created_at',
      'database_id',
      'error',
      'id',
      'size_bytes',
      'status',
      'triggered_by',
    ])
    expect(world.contentOf(`${made.id}.dump`)).toBe('the first data')
    const { body } = await world.berth.ask(
      'query ($id: ID!) { backup(id: $id) { sha256 pgVersion verifiedAt expiresAt triggeredBy progress { storedBytes databaseBytes } database { id } } }',
      { token: world.token, variables: { id: made.id } },
    )
    expect(body.data).toEqual({
      backup: {
        sha256: sha256('the first data').toString('hex'),
        pgVersion: '17.6 (Debian)',
        verifiedAt: null,
        expiresAt: null,
        triggeredBy: 'MANUAL',
        progress: { storedBytes: 14, databaseBytes: 8000000 },
        database: { id: db },
      },
    })
    const list = await world.call<BackupAnswer[]>('GET', `${db}/backups`)
    expect(list.body).toEqual([done])
    expect(server.said.some((statement) => statement.includes('auth.'))).toBe(false)
    const gone = await world.call<{ message: string }>('DELETE', `${db}/backups/${made.id}`)
    expect([gone.status, gone.body]).toEqual([200, { message: 'Backup deleted' }])
    expect((await world.call('GET', `${db}/backups/${made.id}`)).status).toBe(404)
    expect((await world.call('DELETE', `${db}/backups/${made.id}`)).status).toBe(404)
    expect(world.files().stored).not.toContain(`${made.id}.dump`)
  })

  test('is listed below each database of an organization, all of them read together', async () => {
    const pairs: [string, string][] = []
    for (let made = 0; made < 2; made++) {
      const { id: db } = await world.database()
      const { id } = await world.backUp(db)
      await world.whenBackup(db, id, 'completed')
      pairs.push([db, id])
    }
    const { body } = await world.berth.ask(
      `{ databases(first: 2) { nodes { id backups(first: 5, filter: {statuses: [COMPLETED]}) { totalCount nodes { id } } restores { nodes { id } } backupSchedules { nodes { id } } } } }`,
      { token: world.token },
    )
    const none = { nodes: [] }
    const nodes = pairs.map(([id, backup]) => ({
      id,
      backups: { totalCount: 1, nodes: [{ id: backup }] },
      restores: none,
      backupSchedules: none,
    }))
    expect(body.data).toEqual({ databases: { nodes: nodes.toReversed() } })
    const first = await world.call<BackupAnswer[]>('GET', `${pairs[0]?.[0]}/backups?limit=1&offset=1`)
    expect(first.body).toEqual([])
  })

  test('of a database in error is refused with 400, of one that is not ready with 409, beside another one with 409', async () => {
    const broken = await world.database('error')
    expect(await world.call('POST', `${broken.id}/backups`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
    const early = await world.database('creating')
    expect(await world.call('POST', `${early.id}/backups`)).toMatchObject({
      status: 409,
      body: { error: 'database_not_ready' },
    })
    const { id: db, server } = await world.database()
    server.dumps = 'hang'
    const first = await world.backUp(db)
    expect(await world.call('POST', `${db}/backups`)).toMatchObject({
      status: 409,
      body: { error: 'backup_in_progress' },
    })
    expect((await world.call<BackupAnswer[]>('GET', `${db}/backups`)).body).toHaveLength(1)
    await world.call('DELETE', `${db}/backups/${first.id}`)
  })

  test('is nobody else’s: without a token 401, in another organization 404, for a member reading only', async () => {
    const { id: db } = await world.database()
    const { id } = await world.backUp(db)
    await world.whenBackup(db, id, 'completed')
    const [stranger, member] = [
      await world.berth.token('eve', 'evil'),
      await world.berth.token('mia', 'acme', 'member'),
    ]
    const paths = [
      ['GET', `${db}/backups`],
      ['POST', `${db}/backups`],
      ['GET', `${db}/backups/${id}`],
      ['DELETE', `${db}/backups/${id}`],
      ['POST', `${db}/backups/${id}/restore`],
    ] as const
    for (const [method, path] of paths) {
      expect((await world.call(method, path, { as: '' })).status, path).toBe(401)
      expect((await world.call(method, path, { as: stranger })).status, path).toBe(404)
      expect((await world.call(method, path, { as: member })).status, path).toBe(method === 'GET' ? 200 : 403)
    }
    const other = await world.database()
    for (const [method, path] of paths.slice(2))
      expect((await world.call(method, path.replace(db, other.id))).status, path).toBe(404)
    expect((await world.call('GET', `${db}/backups/${id}`)).body.status).toBe('completed')
  })

  test('whose dump fails says what pg_dump said, and leaves no file', async () => {
    const { id: db, server } = await world.database()
    server.dumps = 'fail'
    const { id } = await world.backUp(db)
    const failed = await world.whenBackup(db, id, 'failed')
    expect(failed).toMatchObject({
      size_bytes: 0,
      completed_at: null,
      error: 'The dump failed: pg_dump: error: query failed: out of memory',
    })
    expect(world.files()).toEqual({ stored: world.files().stored.filter((name) => !name.includes(id)), incoming: [] })
    server.dumps = 'well'
    await world.whenBackup(db, (await world.backUp(db)).id, 'completed') // the next one works
  })

  test('that is deleted while it is made is cancelled, and is gone when the request ends', async () => {
    const { id: db, server } = await world.database()
    server.dumps = 'hang'
    const { id } = await world.backUp(db)
    await world.whenBackup(db, id, 'running')
    expect((await world.call('DELETE', `${db}/backups/${id}`)).status).toBe(200)
    expect((await world.call('GET', `${db}/backups/${id}`)).status).toBe(404)
    expect(server.closedChannels).toBe(1)
    expect(world.files().incoming).toEqual([])
  })

  test('is followed by a subscription, from any position, until it has failed or is deleted', async () => {
    const { id: db, server } = await world.database()
    server.dumps = 'fail'
    const { id } = await world.backUp(db)
    await world.whenBackup(db, id, 'failed')
    const seen = await world.followed('backupEvents', 'BackupEvent', id, '0')
    expect([seen[0], seen.at(-1)]).toEqual(['1 PENDING', `${seen.length} FAILED`])
    expect(new Set(seen.map((event) => event.split(' ')[1]))).toEqual(new Set(['PENDING', 'RUNNING', 'FAILED']))
    expect(await world.followed('backupEvents', 'BackupEvent', id, '1')).toEqual(seen.slice(1))
    server.dumps = 'well'
    const { id: good } = await world.backUp(db)
    await world.whenBackup(db, good, 'completed')
    const following = world.followed('backupEvents', 'BackupEvent', good, '0')
    await world.call('DELETE', `${db}/backups/${good}`)
    expect((await following).join()).toMatch(/COMPLETED(?:,\d+ DELETING)?$/)
  })
})

describe('a worker', () => {
  let idle: BackupWorld
  beforeAll(async () => {
    idle = await startBackupWorld({ handles: false })
  })
  afterAll(() => idle.stop())

  test('that is killed leaves a backup that its job ends as failed, and the next one can be made', async () => {
    const { id: db } = await idle.database()
    const { id } = await idle.backUp(db)
    await claimBackup(idle.berth.services.db, uuid(id), 1) // and then it was killed
    await makeBackup(idle.work(2), uuid(id), never, idle.find)
    expect(await idle.whenBackup(db, id, 'failed')).toMatchObject({
      size_bytes: 0,
      error: expect.stringContaining('ended before it was complete'),
    })
    expect(idle.files()).toEqual({ stored: [], incoming: [] })
    const again = await idle.backUp(db)
    await makeBackup(idle.work(2), uuid(again.id), never, idle.find)
    await idle.whenBackup(db, again.id, 'completed')
  })

  test('that comes back late finds its backup ended, and removes what it stored', async () => {
    const { id: db, server } = await idle.database()
    const { id } = await idle.backUp(db)
    let ended: Promise<unknown> = Promise.resolve()
    server.before = async (statement) => {
      if (statement.includes('server_version')) ended = makeBackup(idle.work(2), uuid(id), never, idle.find) // the job ran again elsewhere
      await ended
    }
    await makeBackup(idle.work(1), uuid(id), never, idle.find)
    expect((await idle.whenBackup(db, id, 'failed')).error).toContain('ended before it was complete')
    expect(idle.files().stored.filter((name) => name.includes(id))).toEqual([])
  })

  test('that dies is noticed after a minute without a heartbeat', async () => {
    const { id: db } = await idle.database()
    const { id } = await idle.backUp(db)
    await claimBackup(idle.berth.services.db, uuid(id), 1)
    await endLostBackups(idle.berth.services)
    expect((await idle.call('GET', `${db}/backups/${id}`)).body.status).toBe('running')
    await sql`update database_backups set heartbeat_at = now() - interval '61 seconds' where id = ${uuid(id)}`.execute(
      idle.berth.services.db,
    )
    await endLostBackups(idle.berth.services)
    expect((await idle.call('GET', `${db}/backups/${id}`)).body.status).toBe('failed')
  })

  test('that is stopped ends its backup with a sentence', async () => {
    const { id: db, server } = await idle.database()
    server.dumps = 'hang'
    const { id } = await idle.backUp(db)
    const stopping = new AbortController()
    const making = makeBackup(idle.work(1), uuid(id), stopping.signal, idle.find)
    await until('half of it has arrived', () => idle.files().incoming.length === 1)
    stopping.abort()
    await making
    expect((await idle.call('GET', `${db}/backups/${id}`)).body).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('was stopped'),
    })
    await until('nothing of it is left', () => idle.files().incoming.length === 0)
  })

  test('finds no room for a file beyond what the organization may store, and says so', async () => {
    const { id: db } = await idle.database()
    const { id } = await idle.backUp(db)
    const { services } = idle.berth
    const { organizationId } = idsOf(idle.token)
    await sql`insert into uploads (id, organization_id, expires_at, size_bytes) values (gen_random_uuid(), ${organizationId}, now(), ${1024 ** 3})`.execute(
      services.db,
    )
    const tight = { ...idle.work(1), services: { ...services, config: { ...services.config, orgFilesGb: 1 } } }
    await makeBackup(tight, uuid(id), never, idle.find)
    await sql`delete from uploads`.execute(services.db)
    const { error } = await idle.whenBackup(db, id, 'failed')
    expect(error).toContain('Your organization’s files take all the room that they may.')
    expect(idle.files().incoming).toEqual([])
  })

  test('that gets a job twice makes one dump', async () => {
    const { id: db, server } = await world.database()
    const { id } = await world.backUp(db)
    await world.whenBackup(db, id, 'completed')
    const said = server.said.length
    await transaction(world.berth.services.db, (tx) =>
      world.berth.services.jobs.enqueue(tx, onNode(runBackup, world.nodeId), { backupId: uuid(id) }),
    )
    const next = await world.backUp(db) // handled after it
    await world.whenBackup(db, next.id, 'completed')
    expect(server.said.length).toBe(said + 3) // what the server is, and its roles before and after the dump
    expect((await world.call('GET', `${db}/backups/${id}`)).body.status).toBe('completed')
  })
})

test('a backup whose job was lost is made a minute later', async () => {
  const { services } = world.berth
  const { id: db } = await world.database()
  const backup = await transaction(services.db, async (tx) =>
    insertBackup(services, tx, await rowOf(world.berth, db), { triggeredBy: 'manual', withoutJob: true }),
  )
  const id = encodeId('backup', backup.id)
  const madeBefore = (seconds: number) =>
    sql`update database_backups set created_at = now() - ${seconds} * interval '1 second' where id = ${backup.id}`.execute(
      services.db,
    )
  await madeBefore(50)
  await requeueBackups(services)
  const { id: other } = await world.database()
  await world.whenBackup(other, (await world.backUp(other)).id, 'completed') // its job would come later
  expect((await world.call('GET', `${db}/backups/${id}`)).body.status).toBe('pending')
  await madeBefore(61)
  await requeueBackups(services)
  await world.whenBackup(db, id, 'completed')
})

test('backups that have expired are removed, but not the newest of a database', async () => {
  const { id: db } = await world.database()
  const ids: string[] = []
  for (let made = 0; made < 3; made++) {
    const { id } = await world.backUp(db)
    await world.whenBackup(db, id, 'completed')
    ids.push(id)
  }
  await sql`update database_backups set expires_at = now() - interval '1 minute' where database_id = ${decodeId('database', db)}`.execute(
    world.berth.services.db,
  )
  await forgetOldBackups(world.berth.services)
  const left = await world.call<BackupAnswer[]>('GET', `${db}/backups`)
  expect(left.body.map(({ id }) => id)).toEqual([ids[2]])
  expect(world.files().stored.filter((name) => ids.some((id) => name.startsWith(id)))).toEqual([`${ids[2]}.dump`])
})

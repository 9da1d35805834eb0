/** Schedules of backups: when they fire, and what they keep. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId } from '#src/platform/ids.ts'
import { change as changeRows, findAll, sql } from '#src/platform/postgres.ts'
import type { RawBuilder } from 'kysely'
import { fireBackupSchedules, forgetBackupSchedules } from '#src/resources/infra/backup-schedules/firing.ts'
import { forgetOldBackups } from '#src/resources/infra/database-backups/removal.ts'
import type { Backup } from '#src/resources/infra/database-backups/rows.ts'
import { until } from '../support/until.ts'
import { startBackupWorld, type BackupWorld } from './database-backups/backup-world.ts'

let world: BackupWorld
beforeAll(async () => {
  world = await startBackupWorld()
})
afterEach(() => shiftClock(0))
afterAll(() => world.stop())

type Shown = {
  id: string
  cron: string
  timezone: string
  enabled: boolean
  keepCount: number | null
  keepDays: number | null
  nextRunAt: string | null
  upcomingRunsAt: string[]
  lastRunAt: string | null
  lastError: string | null
}
const fields = 'id cron timezone enabled keepCount keepDays nextRunAt upcomingRunsAt lastRunAt lastError'

async function change(
  name: string,
  input: object,
  token = world.token,
): Promise<{ schedule: Shown | null; code: string | null }> {
  const { body } = await world.berth.ask(
    `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { backupSchedule { ${fields} } } }`,
    { token, variables: { input } },
  )
  const data = body.data as Record<string, { backupSchedule: Shown } | null> | null
  return {
    schedule: data?.[name]?.backupSchedule ?? null,
    code: (body.errors?.[0]?.extensions?.['code'] as string) ?? null,
  }
}

async function shown(id: string): Promise<Shown> {
  const { body } = await world.berth.ask(`query ($id: ID!) { backupSchedule(id: $id) { ${fields} } }`, {
    token: world.token,
    variables: { id },
  })
  return (body.data as { backupSchedule: Shown }).backupSchedule
}

/** The backups that a schedule has made, oldest first. */
function made(schedule: string): Promise<Backup[]> {
  return findAll<Backup>(
    world.berth.services.db,
    sql`select * from database_backups where schedule_id = ${decodeId('backupSchedule', schedule)} order by id`,
  )
}

/** Makes a schedule due at this moment. */
async function makeDue(schedule: string, at = sql`now() - interval '1 second'`): Promise<void> {
  await sql`update backup_schedules set next_run_at = ${at} where id = ${decodeId('backupSchedule', schedule)}`.execute(
    world.berth.services.db,
  )
}

test('a schedule is made, read, changed and deleted', async () => {
  const { id: databaseId } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '0  3 * * *', timezone: 'Europe/Rome' })
  expect(schedule).toMatchObject({
    cron: '0 3 * * *',
    timezone: 'Europe/Rome',
    enabled: true,
    keepCount: 7,
    keepDays: 30,
    lastError: null,
  })
  expect(schedule?.upcomingRunsAt).toHaveLength(5)
  expect(schedule?.upcomingRunsAt[0]).toBe(schedule?.nextRunAt)
  const id = schedule?.id ?? ''
  const off = await change('updateBackupSchedule', { id, enabled: false, keepDays: null })
  expect(off.schedule).toMatchObject({
    enabled: false,
    nextRunAt: null,
    upcomingRunsAt: [],
    keepDays: null,
    keepCount: 7,
  })
  await world.berth.ask('mutation ($id: ID!) { deleteBackupSchedule(input: { id: $id }) { deletedId } }', {
    token: world.token,
    variables: { id },
  })
  expect(await shown(id)).toBeNull()
})

test.each([
  [{ cron: '@daily' }, 'INVALID_CRON'],
  [{ cron: '0 0 30 2 *' }, 'INVALID_CRON'],
  [{ cron: '0 3 * * *', timezone: 'Mars' }, 'INVALID_TIMEZONE'],
  [{ cron: '0 3 * * *', keepCount: 0 }, 'INVALID_REQUEST'],
  [{ cron: '0 3 * * *', keepDays: 4000 }, 'INVALID_REQUEST'],
])('%j makes none', async (input, code) => {
  const { id: databaseId } = await world.database()
  expect(await change('createBackupSchedule', { databaseId, ...input })).toEqual({ schedule: null, code })
})

test('nobody else has it: another organization’s is not there, and a member may not make one', async () => {
  const { id: databaseId } = await world.database()
  const input = { databaseId, cron: '0 3 * * *' }
  expect((await change('createBackupSchedule', input, await world.berth.token('eve', 'evil'))).code).toBe('NOT_FOUND')
  expect((await change('createBackupSchedule', input, await world.berth.token('mia', 'acme', 'member'))).code).toBe(
    'NOT_PERMITTED_FOR_ROLE',
  )
})

test('each moment makes one backup, however many workers look at once', async () => {
  const { id: databaseId } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '0 3 * * *' })
  const id = schedule?.id ?? ''
  await makeDue(id)
  await Promise.all(Array.from({ length: 6 }, () => fireBackupSchedules(world.berth.services)))
  expect(await made(id)).toMatchObject([{ triggeredBy: 'schedule' }])
  const after = await shown(id)
  expect(after).toMatchObject({ nextRunAt: schedule?.nextRunAt, lastError: null, lastRunAt: expect.any(String) })
  await until('it is complete', async () => (await made(id))[0]?.status === 'completed')
  expect((await made(id))[0]?.expiresAt).not.toBeNull()
})

test('a moment that nobody saw for five minutes is skipped, and the reason is kept', async () => {
  const { id: databaseId } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '0 3 * * *' })
  const id = schedule?.id ?? ''
  await makeDue(id, sql`now() - interval '6 minutes'`)
  await fireBackupSchedules(world.berth.services)
  expect(await made(id)).toEqual([])
  expect(await shown(id)).toMatchObject({
    lastError: expect.stringContaining('skipped'),
    lastRunAt: null,
    nextRunAt: schedule?.nextRunAt,
  })
})

test('beside a backup that is being made it makes none', async () => {
  const { id: databaseId, server } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '0 3 * * *' })
  const id = schedule?.id ?? ''
  server.dumps = 'hang'
  const running = await world.backUp(databaseId)
  await makeDue(id)
  await fireBackupSchedules(world.berth.services)
  expect((await shown(id)).lastError).toContain('A backup of this database is being made')
  await world.call('DELETE', `${databaseId}/backups/${running.id}`)
})

test('it keeps as many completed backups as it says, the newest', async () => {
  const { id: databaseId } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '* * * * *', keepCount: 2 })
  const id = schedule?.id ?? ''
  const ids: string[] = []
  for (let round = 1; round <= 4; round++) {
    await makeDue(id)
    await fireBackupSchedules(world.berth.services)
    const newest = (await made(id)).at(-1)
    ids.push(newest?.id ?? '')
    await until('it is complete', async () => (await made(id)).at(-1)?.status === 'completed')
  }
  await until(
    'the surplus is marked',
    async () => (await made(id)).filter(({ status }) => status === 'completed').length === 2,
  )
  expect((await made(id)).filter(({ status }) => status === 'completed').map((backup) => backup.id)).toEqual(
    ids.slice(-2),
  )
})

test('schedules and backups of a database are gone once its data is', async () => {
  const { id: databaseId } = await world.database()
  const { schedule } = await change('createBackupSchedule', { databaseId, cron: '0 3 * * *' })
  const { id } = await world.backUp(databaseId)
  await world.whenBackup(databaseId, id, 'completed')
  const { services } = world.berth
  const left = async (): Promise<number> => {
    await forgetBackupSchedules(services.db)
    await forgetOldBackups(services)
    const rows = await findAll(
      services.db,
      sql`select id from backup_schedules where id = ${decodeId('backupSchedule', schedule?.id ?? '')} union all select id from database_backups where id = ${decodeId('backup', id)}`,
    )
    return rows.length
  }
  const set = (set: RawBuilder<unknown>): Promise<number> =>
    changeRows(services.db, sql`update databases set ${set} where id = ${decodeId('database', databaseId)}`)
  await set(sql`status = 'deleted', purge_after = now() + interval '7 days'`)
  expect(await left()).toBe(2) // it may still come back
  await set(sql`purge_after = null`)
  expect(await left()).toBe(0)
  expect(world.files().stored).not.toContain(`${id}.dump`)
})

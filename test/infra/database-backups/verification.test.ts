/** The nightly test of backups: each newest one is restored into a machine of its own, which is fake here. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { objectStore } from '#src/drivers/objects.ts'
import { decodeId } from '#src/platform/ids.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { backupKey, type Backup } from '#src/resources/infra/database-backups/rows.ts'
import { verifyBackups } from '#workers/infra/database-verification.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBackupWorld, type BackupWorld } from './backup-world.ts'
import { fakeServer, type FakeServer } from './fake-servers.ts'

let world: BackupWorld
beforeAll(async () => {
  world = await startBackupWorld()
})
afterAll(() => world.stop())

const never = new AbortController().signal

/** A node whose throw-away machines are this server, and what became of them. */
function nodeWith(server: FakeServer): { work: VmWork; taken: string[]; removed: string[] } {
  const [taken, removed] = [[] as string[], [] as string[]]
  const machine = { ...server.machine, folderId: 'folder' }
  const compute = {
    take: async ({ id, template }: { id: string; template: string }) => (taken.push(`${template} ${id}`), { machine }),
    find: () => machine,
    destroy: async (id: string) => void removed.push(id),
    removeFolder: async (id: string) => void removed.push(id),
  }
  return {
    work: { ...world.work(1), compute, egress: { dropMachine: () => undefined } } as unknown as VmWork,
    taken,
    removed,
  }
}

/** A completed backup of a new database, and of it only. */
async function backedUp(): Promise<{ db: string; id: string }> {
  await sql`update database_backups set verification_begun_at = now()`.execute(world.berth.services.db)
  const { id: db } = await world.database()
  const { id } = await world.backUp(db)
  await world.whenBackup(db, id, 'completed')
  return { db, id }
}

async function rowOf(id: string): Promise<Backup> {
  const row = await findOne<Backup>(
    world.berth.services.db,
    sql`select * from database_backups where id = ${decodeId('backup', id)}`,
  )
  if (!row) throw new Error('the backup is gone')
  return row
}

/** Lets a day go by since a backup was last tried. */
async function nextNight(id: string): Promise<void> {
  await sql`update database_backups set verification_begun_at = now() - interval '1 day' where id = ${decodeId('backup', id)}`.execute(
    world.berth.services.db,
  )
}

test('a backup that can be restored is verified, and its machine removed', async () => {
  const { id } = await backedUp()
  const server = fakeServer()
  const { work, taken, removed } = nodeWith(server)
  await verifyBackups(work, never)
  const machine = id.slice('bkp_'.length)
  expect([taken, removed]).toEqual([[`postgres ${machine}`], [machine, 'folder']])
  expect(server.databases.get('verified')).toBe('the first data')
  expect(await rowOf(id)).toMatchObject({ verifiedAt: expect.any(String), verificationError: null })
  await verifyBackups(work, never)
  expect(taken).toHaveLength(1) // once is enough
})

test('one that cannot be restored says so in its row, its events and the metrics, and is not tried again the same night', async () => {
  const { id } = await backedUp()
  const server = fakeServer()
  server.loads = 'fail'
  const { work, taken, removed } = nodeWith(server)
  await verifyBackups(work, never)
  await verifyBackups(work, never)
  expect([taken.length, removed.length]).toEqual([1, 2])
  expect(await rowOf(id)).toMatchObject({
    verifiedAt: null,
    verificationError: expect.stringContaining('ERROR: disk full'),
  })
  const event = await findOne<{ verificationError: string }>(
    world.berth.services.db,
    sql`select verification_error from database_backup_events where backup_id = ${decodeId('backup', id)} order by position desc limit 1`,
  )
  expect(event?.verificationError).toContain('could not be restored for a test')
})

test('one that takes too long leaves the night to others, and says so; when the night is over nothing is said', async () => {
  const { id: slow } = await backedUp()
  const { id: db } = await world.database()
  const { id: good } = await world.backUp(db)
  await world.whenBackup(db, good, 'completed')
  const hanging = fakeServer()
  hanging.loads = 'hang'
  const { work } = nodeWith(fakeServer())
  const machines = (id: string) => (id === slow.slice('bkp_'.length) ? hanging : fakeServer()).machine
  const compute = { ...work.compute, take: async ({ id }: { id: string }) => ({ machine: machines(id) }) }
  const node = { ...work, compute } as unknown as VmWork
  await verifyBackups(node, never, { nightMs: 300, onceMs: () => 60_000 })
  expect(await rowOf(slow)).toMatchObject({ verifiedAt: null, verificationError: null })
  await sql`update database_backups set verification_begun_at = null where id in (${decodeId('backup', slow)}, ${decodeId('backup', good)})`.execute(
    world.berth.services.db,
  )
  await verifyBackups(node, never, { nightMs: 60_000, onceMs: () => 2_000 })
  expect((await rowOf(slow)).verificationError).toContain('It took longer than')
  expect((await rowOf(good)).verifiedAt).not.toBeNull()
})

test('one for which there was no machine is said nothing about, and the next night tests it; one whose file is gone is', async () => {
  const { id } = await backedUp()
  const { work } = nodeWith(fakeServer())
  const full = async (): Promise<never> => {
    throw new BerthError('capacity_unavailable', 'No node has room.')
  }
  await verifyBackups({ ...work, compute: { ...work.compute, take: full } } as unknown as VmWork, never)
  expect(await rowOf(id)).toMatchObject({ verifiedAt: null, verificationError: null })
  await nextNight(id)
  await verifyBackups(work, never)
  expect(await rowOf(id)).toMatchObject({ verifiedAt: expect.any(String), verificationError: null })

  const { id: lost } = await backedUp()
  await objectStore(world.berth.services).remove(backupKey(await rowOf(lost)))
  await verifyBackups(work, never)
  expect((await rowOf(lost)).verificationError).toContain('could not be restored for a test')
})

test('of several backups of a database the newest is taken', async () => {
  const { db, id: first } = await backedUp()
  const { id: second } = await world.backUp(db)
  await world.whenBackup(db, second, 'completed')
  await sql`update database_backups set verification_begun_at = null where database_id = ${decodeId('database', db)}`.execute(
    world.berth.services.db,
  )
  const { work, taken } = nodeWith(fakeServer())
  await verifyBackups(work, never)
  expect(taken).toEqual([`postgres ${second.slice('bkp_'.length)}`])
  expect((await rowOf(first)).verifiedAt).toBeNull()
})

test('two nodes do not test the same backup', async () => {
  const { id } = await backedUp()
  const [one, other] = [nodeWith(fakeServer()), nodeWith(fakeServer())]
  await Promise.all([verifyBackups(one.work, never), verifyBackups(other.work, never)])
  expect([...one.taken, ...other.taken]).toEqual([`postgres ${id.slice('bkp_'.length)}`])
})

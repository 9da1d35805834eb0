/** Backups whose store is full. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBackupWorld, type BackupWorld } from './backup-world.ts'

const mountSmall = (place: string): void =>
  void execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'berth-test', place], { stdio: 'pipe' })
const unmount = (place: string): void => void execFileSync('umount', [place], { stdio: 'pipe' })

/** Whether this host lets us mount a file system: some do not, even as root. */
function mayMount(): boolean {
  const place = mkdtempSync(join(tmpdir(), 'berth-mount-'))
  try {
    mountSmall(place)
    unmount(place)
    return true
  } catch {
    return false
  } finally {
    rmdirSync(place)
  }
}

let world: BackupWorld
let folder: string
beforeAll(async () => {
  world = await startBackupWorld({ settings: { BERTH_DISK_FLOOR_MB: '0' } })
  folder = join(world.berth.dataDir, 'objects')
  mkdirSync(folder, { recursive: true })
})
afterAll(() => world.stop())

test.runIf(mayMount())(
  'a backup for which the disk has no room fails with a sentence, and leaves nothing behind',
  async () => {
    const { id: db, server } = await world.database()
    mountSmall(folder)
    try {
      server.databases.set('app', 'x'.repeat(3 * 1024 * 1024))
      const { id } = await world.backUp(db)
      const { error } = await world.whenBackup(db, id, 'failed')
      expect(error).toContain('The node has no room left for files.')
      expect(world.files()).toEqual({ stored: [], incoming: [] })
      server.databases.set('app', 'less')
      await world.whenBackup(db, (await world.backUp(db)).id, 'completed')
    } finally {
      unmount(folder)
    }
  },
)

test('a backup below the floor of the disk fails with the same sentence', async () => {
  const { id: db, server } = await world.database()
  const { config } = world.berth.services
  server.dumps = 'hang'
  const { id } = await world.backUp(db)
  await world.whenBackup(db, id, 'running')
  Object.assign(config, { diskFloorMb: 1_000_000_000 })
  const { error } = await world.whenBackup(db, id, 'failed')
  Object.assign(config, { diskFloorMb: 0 })
  expect(error).toContain('The node has no room left for files.')
})

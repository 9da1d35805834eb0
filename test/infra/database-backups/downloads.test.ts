/** Backups that are downloaded, by REST and GraphQL, from databases whose servers are fakes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { startBackupWorld, type BackupWorld } from './backup-world.ts'

let world: BackupWorld
let database: string
let backup: string
beforeAll(async () => {
  world = await startBackupWorld()
  ;({ id: database } = await world.database())
  const made = await world.backUp(database)
  await world.whenBackup(database, made.id, 'completed')
  backup = made.id
})
afterAll(() => world.stop())

const ask = (as: string | null, path = `${database}/backups/${backup}/download`) =>
  fetch(`${world.berth.url}/api/v1/databases/${path}`, {
    headers: as === null ? {} : { authorization: `Bearer ${as}` },
    redirect: 'manual',
  })
const errorOf = async (answer: Response): Promise<unknown[]> => [
  answer.status,
  ((await answer.json()) as { error: string }).error,
]

test('a backup is downloaded without a token, whole and by ranges, from where the answer leads', async () => {
  const answer = await ask(world.token)
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([303, 'no-store'])
  const url = answer.headers.get('location') ?? ''
  const whole = await fetch(url)
  const bytes = Buffer.from(await whole.arrayBuffer())
  expect(whole.headers.get('content-disposition')).toContain(`${backup}.dump`)
  expect(bytes.toString('latin1')).toBe(world.contentOf(world.files().stored[0] ?? ''))
  const rest = await fetch(url, { headers: { range: 'bytes=2-' } })
  expect([rest.status, rest.headers.get('content-range')]).toEqual([206, `bytes 2-${bytes.length - 1}/${bytes.length}`])
  expect(Buffer.from(await rest.arrayBuffer())).toEqual(bytes.subarray(2))
  expect((await fetch(url.replace(/(Signature=)./, '$1x'))).status).toBe(403)
  expect((await fetch(url.replace('X-Amz-Expires=3600', 'X-Amz-Expires=36000'))).status).toBe(403)
})

test('GraphQL has the URL of a completed backup, for who may restore it', async () => {
  const read = async (as: string) =>
    (
      await world.berth.ask('query ($id: ID!) { backup(id: $id) { status downloadUrl } }', {
        token: as,
        variables: { id: backup },
      })
    ).body as { data: { backup: { downloadUrl: string | null } } }
  const { data } = await read(world.token)
  expect((await fetch(data.backup.downloadUrl ?? '')).status).toBe(200)
  const refused = await read(await world.berth.token('martha', 'acme', 'member'))
  expect(refused).toEqual({ data: { backup: { status: 'COMPLETED', downloadUrl: null } } })
  await sql`update database_backups set status = 'running' where status = 'completed'`.execute(world.berth.services.db)
  expect((await read(world.token)).data.backup.downloadUrl).toBeNull()
  expect(await errorOf(await ask(world.token))).toEqual([400, 'backup_not_usable'])
  await sql`update database_backups set status = 'completed' where status = 'running'`.execute(world.berth.services.db)
})

test('it is nobody else’s', async () => {
  const member = await world.berth.token('martha', 'acme', 'member')
  const stranger = await world.berth.token('mallory', 'evil', 'owner')
  const other = await world.database()
  expect(await errorOf(await ask(null))).toEqual([401, 'unauthorized'])
  expect(await errorOf(await ask(member))).toEqual([403, 'not_permitted_for_role'])
  expect(await errorOf(await ask(stranger))).toEqual([404, 'not_found'])
  expect(await errorOf(await ask(world.token, `${other.id}/backups/${backup}/download`))).toEqual([404, 'not_found'])
  expect(await errorOf(await ask(world.token, `${database}/backups/bkp_nope/download`))).toEqual([404, 'not_found'])
  expect(await errorOf(await ask(world.token, `${database}/backups/${backup}/download?x=1`))).toEqual([
    400,
    'invalid_request',
  ])
})

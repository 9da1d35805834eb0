/**
 * Workspace folders and databases in a backup: taken while their VMs write to them, and used again on another installation.
 */
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startCommand } from './support/command.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

const file = join(tmpdir(), `berth-folders-${process.pid}.tar.zst`)
let installation: Installation | undefined
afterAll(async () => {
  await installation?.stop()
  rmSync(file, { force: true })
})

async function call<Body>(
  { url }: Pick<Installation, 'url'>,
  token: string,
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Body // the caller says what it asked for
}

const exec = (
  at: Pick<Installation, 'url'>,
  token: string,
  vm: string,
  command: string,
): Promise<{ stdout: string; exit_code: number }> => call(at, token, `/api/v1/vms/${vm}/envd/exec`, { command })

type Database = { id: string; host: string; token: string; pg_user: string; status: string }

/** Runs a statement as the owner of a database. */
async function query(
  { postgresPort }: Installation,
  { host, token, pg_user }: Database,
  text: string,
): Promise<object[]> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: postgresPort,
    user: pg_user,
    password: token,
    database: 'app',
    ssl: { rejectUnauthorized: false, servername: host },
  })
  await client.connect()
  try {
    return (await client.query<object>(text)).rows
  } finally {
    await client.end()
  }
}

test('a database that is backed up while it is written to is there again on another installation, with its own backups', async () => {
  const port = String(await freePort()) // the same for both: it is part of a token's issuer
  installation = await startInstallation({ PORT: port, BERTH_VM_POOL: '0' })
  const token = await installation.token()
  const path = '/api/v1/databases'
  const made = await call<Database>(installation, token, path, { organization_id: String(decodeJwt(token)['org_id']) })
  const read = (at: Installation): Promise<Database> => call<Database>(at, token, `${path}/${made.id}`)
  await until('it is active', async () => (await read(installation!)).status === 'active', 300_000, 500)
  const database = { ...(await read(installation)), token: made.token }
  await query(installation, database, 'create table kept as select n from generate_series(1, 1000) n')
  const { id } = await call<{ id: string }>(installation, token, `${path}/${made.id}/backups`, {})
  const backup = (at: Installation): Promise<{ status: string; size_bytes: number }> =>
    call(at, token, `${path}/${made.id}/backups/${id}`)
  await until('its backup is complete', async () => (await backup(installation!)).status === 'completed', 120_000, 200)
  const before = await backup(installation)
  let written = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) await query(installation!, database, `insert into kept values (${1000 + ++written})`)
  })()
  await until('it is written to', () => written > 2, 60_000)
  const writtenBefore = written - 1 // this many were acknowledged before the copy began
  const whole = startCommand(['src/backup.ts', file], { PORT: port, BERTH_DATA_DIR: installation.dataDir })
  expect([await whole.ended, whole.lines.join('\n')]).toEqual([0, expect.stringContaining('MiB')])
  isOver = true
  await writing
  await installation.stop()

  installation = await startInstallation({ PORT: port, BERTH_VM_POOL: '0' }, async (dataDir) => {
    const restore = startCommand(['src/restore.ts', file], { PORT: port, BERTH_DATA_DIR: dataDir })
    expect([await restore.ended, restore.lines.join('\n')]).toEqual([0, expect.stringContaining('Restored')])
  })
  rmSync(file)
  let rows: object[] = []
  const find = async (): Promise<boolean> => {
    rows = await query(installation!, database, 'select n from kept order by n').catch(() => [])
    return rows.length > 0
  }
  await until('it takes clients again', find, 240_000, 1_000)
  expect(rows).toEqual(rows.map((_, at) => ({ n: at + 1 })))
  expect(rows.length).toBeGreaterThanOrEqual(1000 + writtenBefore)
  expect(await backup(installation)).toEqual(before)
  await call(installation, token, `${path}/${made.id}/backups/${id}/restore`, {})
  await until('the backup is restored', async () => (await read(installation!)).status === 'active', 240_000, 500)
  expect(await query(installation, database, 'select count(*)::int as count from kept')).toEqual([{ count: 1000 }])
  await installation.stop()
  installation = undefined
}, 1_200_000)

test('a folder that is backed up while its VM writes is whole on another installation, and its VM says why it is gone', async () => {
  const port = String(await freePort()) // the same for both: it is part of a token's issuer
  installation = await startInstallation({ PORT: port })
  const token = await installation.token()
  const { vm_id: vm } = await call<{ vm_id: string }>(installation, token, '/api/v1/vms', { name: 'writer' })
  // Whole lines, each flushed: what is there afterwards must be a beginning of them, with none cut.
  await exec(installation, token, vm, 'seq 100000 > ~/workspace/before && sync')
  await call(installation, token, `/api/v1/vms/${vm}/envd/exec`, {
    command: 'i=0; while :; do i=$((i + 1)); echo "line $i"; done >> ~/workspace/during',
    background: true,
  })
  await until(
    'the VM writes',
    async () => Number((await exec(installation!, token, vm, 'wc -l < ~/workspace/during || echo 0')).stdout) > 20,
    60_000,
  )
  const backup = startCommand(['src/backup.ts', file], { PORT: port, BERTH_DATA_DIR: installation.dataDir })
  expect([await backup.ended, backup.lines.join('\n')]).toEqual([0, expect.stringContaining('MiB')])
  expect((await exec(installation, token, vm, 'echo it goes on')).stdout).toBe('it goes on\n')
  await installation.stop()

  installation = await startInstallation({ PORT: port }, async (dataDir) => {
    const restore = startCommand(['src/restore.ts', file], { PORT: port, BERTH_DATA_DIR: dataDir })
    expect([await restore.ended, restore.lines.join('\n')]).toEqual([0, expect.stringContaining('Restored')])
  })
  const query = `{ vm(id: "${vm}") { status statusReason } folders(first: 5) { nodes { id name } } }`
  const { data } = await call<{
    data: { vm: { status: string; statusReason: string }; folders: { nodes: { id: string; name: string }[] } }
  }>(installation, token, '/graphql', { query })
  expect(data.vm).toEqual({
    status: expect.stringMatching(/^error$/i),
    statusReason: expect.stringContaining('not in the backup'),
  })
  const folder = data.folders.nodes.find(({ name }) => name === 'writer')!
  const removed = await fetch(`${installation.url}/api/v1/vms/${vm}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(removed.status).toBe(204)
  await until(
    'the VM is gone and its folder free',
    async () =>
      (await call<{ data: { vm: unknown } }>(installation!, token, '/graphql', { query: `{ vm(id: "${vm}") { id } }` }))
        .data.vm === null,
    60_000,
  )
  const { vm_id: reader } = await call<{ vm_id: string }>(installation, token, '/api/v1/vms', { folder_id: folder.id })
  expect((await exec(installation, token, reader, 'cat ~/workspace/before')).stdout).toBe(
    Array.from({ length: 100000 }, (_, at) => `${at + 1}\n`).join(''),
  )
  const { stdout: during } = await exec(installation, token, reader, 'cat ~/workspace/during')
  const lines = during.split('\n').slice(0, -1)
  expect(lines.length).toBeGreaterThan(20)
  expect(lines).toEqual(lines.map((_, at) => `line ${at + 1}`))
  expect(readFileSync(file).length).toBeGreaterThan(0)
}, 240_000)

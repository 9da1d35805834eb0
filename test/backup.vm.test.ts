/**
 * Workspace folders and databases in one backup: taken while their VMs write to them, and used again on another installation.
 */
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from './support/command.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

const file = join(tmpdir(), `berth-folders-${process.pid}.tar.zst`)
const databases = '/api/v1/databases'
let installation: Installation
let token: string
let database: Database
let databaseBackup: BackupAnswer
/** So many rows of the database were acknowledged before the copy of the installation began. */
let writtenBefore: number
let vm: string
afterAll(async () => {
  await installation?.stop()
  rmSync(file, { force: true })
})

async function call<Body>(path: string, body?: unknown): Promise<Body> {
  const answer = await fetch(installation.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Body // the caller says what it asked for
}

const exec = (command: string, at = vm): Promise<{ stdout: string; exit_code: number }> =>
  call(`/api/v1/vms/${at}/envd/exec`, { command })

type Database = { id: string; host: string; token: string; pg_user: string; status: string }

type BackupAnswer = { id: string; status: string; size_bytes: number }

/** Runs a statement as the owner of the database. */
async function query(text: string): Promise<object[]> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: installation.postgresPort,
    user: database.pg_user,
    password: database.token,
    database: 'app',
    ssl: { rejectUnauthorized: false, servername: database.host },
  })
  await client.connect()
  try {
    return (await client.query<object>(text)).rows
  } finally {
    await client.end()
  }
}

const readDatabase = (id: string): Promise<Database> => call<Database>(`${databases}/${id}`)
const readBackup = (id: string): Promise<BackupAnswer> => call(`${databases}/${database.id}/backups/${id}`)

/** Creates the database, with a thousand rows and a backup of its own. */
async function makeDatabase(): Promise<void> {
  const made = await call<Database>(databases, { organization_id: String(decodeJwt(token)['org_id']) })
  await until('it is active', async () => (await readDatabase(made.id)).status === 'active', 300_000, 500)
  database = { ...(await readDatabase(made.id)), token: made.token }
  await query('create table kept as select n from generate_series(1, 1000) n')
  const { id } = await call<BackupAnswer>(`${databases}/${made.id}/backups`, {})
  await until('its backup is complete', async () => (await readBackup(id)).status === 'completed', 120_000, 200)
  databaseBackup = await readBackup(id)
}

/** Creates the VM, which writes whole lines from then on: what is there afterwards must be a beginning of them, with none cut. */
async function makeVm(): Promise<void> {
  vm = (await call<{ vm_id: string }>('/api/v1/vms', { name: 'writer' })).vm_id
  await exec('seq 100000 > ~/workspace/before && sync')
  await call(`/api/v1/vms/${vm}/envd/exec`, {
    command: 'i=0; while :; do i=$((i + 1)); echo "line $i"; done >> ~/workspace/during',
    background: true,
  })
  const lineCount = async (): Promise<number> => Number((await exec('wc -l < ~/workspace/during || echo 0')).stdout)
  await until('the VM writes', async () => (await lineCount()) > 20, 60_000)
}

beforeAll(async () => {
  const port = String(await freePort()) // the same for both: it is part of a token's issuer
  installation = await startInstallation({ PORT: port, BERTH_VM_POOL: '0' })
  token = await installation.token()
  await makeDatabase()
  await makeVm()
  let written = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) await query(`insert into kept values (${1000 + ++written})`)
  })()
  await until('the database is written to', () => written > 2, 60_000)
  writtenBefore = written - 1
  const backup = startCommand(['src/backup.ts', file], { PORT: port, BERTH_DATA_DIR: installation.dataDir })
  expect([await backup.ended, backup.lines.join('\n')]).toEqual([0, expect.stringContaining('MiB')])
  isOver = true
  await writing
  expect((await exec('echo it goes on')).stdout).toBe('it goes on\n')
  await installation.stop()

  installation = await startInstallation({ PORT: port, BERTH_VM_POOL: '0' }, async (dataDir) => {
    const restore = startCommand(['src/restore.ts', file], { PORT: port, BERTH_DATA_DIR: dataDir })
    expect([await restore.ended, restore.lines.join('\n')]).toEqual([0, expect.stringContaining('Restored')])
  })
  expect(readFileSync(file).length).toBeGreaterThan(0)
}, 1_200_000)

test('a database that is backed up while it is written to is there again on another installation, with its own backups', async () => {
  let rows: object[] = []
  const find = async (): Promise<boolean> => {
    rows = await query('select n from kept order by n').catch(() => [])
    return rows.length > 0
  }
  await until('it takes clients again', find, 240_000, 1_000)
  expect(rows).toEqual(rows.map((_, at) => ({ n: at + 1 })))
  expect(rows.length).toBeGreaterThanOrEqual(1000 + writtenBefore)
  expect(await readBackup(databaseBackup.id)).toEqual(databaseBackup)
  await call(`${databases}/${database.id}/backups/${databaseBackup.id}/restore`, {})
  const isActive = async (): Promise<boolean> => (await readDatabase(database.id)).status === 'active'
  await until('the backup is restored', isActive, 240_000, 500)
  expect(await query('select count(*)::int as count from kept')).toEqual([{ count: 1000 }])
}, 600_000)

test('a folder that is backed up while its VM writes is whole on another installation, and its VM says why it is gone', async () => {
  const asked = `{ vm(id: "${vm}") { status statusReason } folders(first: 5) { nodes { id name } } }`
  const { data } = await call<{
    data: { vm: { status: string; statusReason: string }; folders: { nodes: { id: string; name: string }[] } }
  }>('/graphql', { query: asked })
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
      (await call<{ data: { vm: unknown } }>('/graphql', { query: `{ vm(id: "${vm}") { id } }` })).data.vm === null,
    60_000,
  )
  const { vm_id: reader } = await call<{ vm_id: string }>('/api/v1/vms', { folder_id: folder.id })
  expect((await exec('cat ~/workspace/before', reader)).stdout).toBe(
    Array.from({ length: 100000 }, (_, at) => `${at + 1}\n`).join(''),
  )
  const whole = 'head -n "$(wc -l < ~/workspace/during)" ~/workspace/during'
  const { stdout: counted } = await exec(
    `${whole} | awk '$0 != "line " NR { print "line " NR " is " $0 } END { print NR }'`,
    reader,
  )
  expect(counted).toMatch(/^[0-9]+\n$/) // each is in its place; there are more than an answer may have
  expect(Number(counted)).toBeGreaterThan(20)
}, 240_000)

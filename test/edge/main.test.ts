/** The edge process as the Procfile starts it: it listens, tells its metrics, shows its authority's certificate, and ends. */
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { createDatabase, startTestPostgres, type TestDatabase } from '../support/postgres.ts'

let folder: string
let database: TestDatabase
let settings: Record<string, string>
const started: Command[] = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-edge-'))
  chmodSync(folder, 0o711)
  database = await createDatabase()
  settings = {
    PORT: String(await freePort()),
    BERTH_POSTGRES_PORT: String(await freePort()),
    BERTH_EDGE_METRICS_PORT: String(await freePort()),
    BERTH_DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
  }
})
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

function start(more: Record<string, string> = {}): Command {
  const command = startCommand(['src/edge/main.ts'], { ...settings, ...more })
  started.push(command)
  return command
}
const connect = async (ssl: pg.ClientConfig['ssl']): Promise<void> => {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(settings['BERTH_POSTGRES_PORT']),
    user: 'app_nobody',
    database: 'app',
    password: 'bdb_wrong',
    ssl,
  })
  client.on('error', () => undefined)
  await client.connect()
}
const nobody = { code: '28P01' }

test('it listens with a certificate of the authority that npm run ca prints, tells its metrics, and ends at SIGTERM', async () => {
  const edge = start()
  await edge.line(/the edge process listens/)
  const ca = startCommand(['src/edge/ca.ts'], settings)
  expect(await ca.ended).toBe(0)
  const certificate = ca.lines.join('\n')
  expect(certificate).toMatch(/^-----BEGIN CERTIFICATE-----/)
  expect(statSync(join(folder, 'data', 'databases-authority.pem')).mode & 0o777).toBe(0o600)
  const servername = `${'0'.repeat(26)}.db.berth.localhost`
  await expect(connect({ ca: certificate, servername })).rejects.toMatchObject(nobody)
  await expect(connect({ ca: certificate, servername: 'elsewhere.example' })).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
  await expect(connect({ servername })).rejects.toMatchObject({ code: expect.stringMatching(/CERT|SIGNATURE/) })
  await expect(connect(false)).rejects.toMatchObject(nobody) // below localhost TLS may be left out
  const operators = `http://127.0.0.1:${settings['BERTH_EDGE_METRICS_PORT']}`
  await edge.line(/the ingress listens/)
  const ready = await fetch(`${operators}/readyz?verbose`)
  expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(/^\[\+\]listens ok$[^]*passed$/m)])
  expect((await fetch(`${operators}/livez`)).status).toBe(200)
  const told = await (await fetch(`${operators}/metrics`)).text()
  expect(told).toMatch(/^berth_postgres_clients\{state="connected"\} 0$/m)
  expect(told).toMatch(/^berth_postgres_refusals_total\{sqlstate="28P01"\} 2$/m)
  expect(told).toMatch(/^berth_database_connections\{state="open"\} \d/m)
  edge.child.kill('SIGTERM')
  expect(await edge.ended).toBe(0)
  const { rows } = await asked('select * from edge_processes')
  expect(rows).toEqual([])
})

test('it shows a given certificate, and refuses to start with one that it cannot use', async () => {
  const edge = start({ BERTH_TLS_CERTIFICATE: join(folder, 'none.pem'), BERTH_TLS_KEY: join(folder, 'none.key') })
  expect(await edge.ended).toBe(2)
  expect(edge.lines.join('\n')).toContain('BERTH_TLS_CERTIFICATE and BERTH_TLS_KEY must be a certificate and its key')
  const alone = start({ BERTH_TLS_CERTIFICATE: join(folder, 'none.pem') })
  expect(await alone.ended).toBe(2)
  expect(alone.lines.join('\n')).toContain('belong together')
  writeFileSync(join(folder, 'given.pem'), '')
  const ca = startCommand(['src/edge/ca.ts'], {
    ...settings,
    BERTH_TLS_CERTIFICATE: join(folder, 'given.pem'),
    BERTH_TLS_KEY: join(folder, 'given.pem'),
  })
  expect(await ca.ended).toBe(1)
  expect(ca.lines.join('\n')).toContain('BERTH_TLS_CERTIFICATE')
})

test('where another program has its port it says so, and listens as soon as the port is free', async () => {
  const other: Server = createServer().listen(Number(settings['BERTH_POSTGRES_PORT']), '127.0.0.1')
  await once(other, 'listening')
  const edge = start()
  await edge.line(/another program has the port.*BERTH_POSTGRES_PORT/)
  const closed = once(other, 'close')
  other.close()
  await closed
  await edge.line(/the edge process listens/)
  await expect(connect({ rejectUnauthorized: false })).rejects.toMatchObject(nobody)
})

test('while the platform’s Postgres is away a login is told to try again, and after that it is checked as before', async () => {
  const postgres = await startTestPostgres()
  const own = await createDatabase(postgres)
  try {
    const edge = start({ DATABASE_URL: own.url })
    await edge.line(/the edge process listens/)
    const secured = { rejectUnauthorized: false }
    await expect(connect(secured)).rejects.toMatchObject(nobody)
    await postgres.killPostgres()
    await postgres.backendsGone()
    await expect.poll(() => connect(secured).catch((error: { code?: string }) => error.code)).toBe('57P03')
    const operators = `http://127.0.0.1:${settings['BERTH_EDGE_METRICS_PORT']}`
    await edge.line(/the ingress listens/)
    const ready = await fetch(`${operators}/readyz?verbose`) // what it knows is enough to go on
    expect(ready.status).toBe(200)
    expect(await ready.text()).toContain('[+]database not needed: Postgres does not answer.')
    await postgres.restartPostgres()
    await expect
      .poll(() => connect(secured).catch((error: { code?: string }) => error.code), { timeout: 15_000 })
      .toBe('28P01')
    expect(edge.child.exitCode).toBeNull()
  } finally {
    await postgres.stop()
  }
}, 60_000)

async function asked(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}

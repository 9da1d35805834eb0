/**
 * The address of a database works as it stands in what people use with Postgres: below `localhost`, and under a domain of
 * one's own whose certificate the host trusts.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { isRoot } from '#src/platform/settings/places.ts'
import { ownerAddress } from '#src/resources/infra/databases/addresses.ts'
import { clientDatabase, clientToken, clientUser, openProxyWorld, type ProxyWorld } from '../proxy-world.ts'
import { installTimeoutMs, libpqFolder } from './libpq.ts'

const domain = 'berth.example'
const runTimeoutMs = 60_000
const compileTimeoutMs = 240_000
const scripts = join(import.meta.dirname, 'drivers')
const script = (name: string): string => join(scripts, name)

let folder: string
let goProgram: string
let ofLocalhost: ProxyWorld
let ofDomain: ProxyWorld
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-drivers-'))
  goProgram = join(folder, 'go-drivers')
  ofLocalhost = await openProxyWorld({ plainTextOfHost: true })
  ofDomain = await openProxyWorld({ domain })
  const installed = Object.entries(laterVersions).map(async ([major, version]) => {
    libpqFolders[major] = await libpqFolder(version)
  })
  // Debian has Go's libraries as sources, each at its import path.
  const compiled = promisify(execFile)('go', ['build', '-o', goProgram, 'main.go'], {
    cwd: script('go'),
    env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(folder, 'cache') },
    timeout: compileTimeoutMs,
  })
  await Promise.all([compiled, ...installed])
}, compileTimeoutMs + installTimeoutMs)
afterAll(async () => {
  await Promise.all([ofLocalhost.close(), ofDomain.close()])
  rmSync(folder, { recursive: true, force: true })
})

const node = (driver: string) => (address: string) => [process.execPath, script('node.ts'), driver, address]
/** psql of the host's version, and with the libpq of each later one: by which version of the packages. */
const laterVersions: Readonly<Record<string, string>> = {
  '16': '16.14.0-beta.17',
  '17': '17.10.0-beta.17',
  '18': '18.4.0-beta.17',
}
const libpqFolders: Record<string, string> = {}
const psql = (address: string) => ['psql', address, '-Atc', 'select 40 + 2']
const psqlWith = (major: string) => (address: string) => [
  'env',
  `LD_LIBRARY_PATH=${libpqFolders[major]}`,
  ...psql(address),
]
/** What asks for 40 + 2 at an address, and prints it. */
const programs: Record<string, (address: string) => string[]> = {
  psql,
  ...Object.fromEntries(Object.keys(laterVersions).map((major) => [`psql with libpq ${major}`, psqlWith(major)])),
  pg_dump: (address) => ['sh', '-c', 'pg_dump "$1" > /dev/null && echo 42', 'sh', address],
  'node-postgres': node('node-postgres'),
  'postgres.js': node('postgres.js'),
  knex: node('knex'),
  TypeORM: node('typeorm'),
  'Prisma’s adapter': node('prisma'),
  'drizzle-kit': node('drizzle-kit'),
  'psycopg 2': (address) => ['/usr/bin/python3', script('psycopg-2.py'), address],
  'psycopg 3': (address) => ['/usr/bin/python3', script('psycopg-3.py'), address],
  asyncpg: (address) => ['/usr/bin/python3', script('async-pg.py'), address],
  'Ruby’s pg': (address) => ['ruby', script('pg.rb'), address],
  'PHP’s pgsql': (address) => ['php', script('pgsql.php'), address],
  'Perl’s DBD::Pg': (address) => ['perl', script('dbd.pl'), address],
  JDBC: (address) => ['java', '-cp', '/usr/share/java/postgresql.jar', script('Jdbc.java'), address],
  'Go’s pgx': (address) => [goProgram, 'pgx', address],
  'Go’s lib/pq': (address) => [goProgram, 'pq', address],
}
const database = { id: newUuid(), pgUser: clientUser, pgDatabase: clientDatabase }

describe.each(Object.keys(programs))('%s', (name) => {
  const words = (address: string): string[] => programs[name]!(address)

  test('connects with the address of a database below localhost', async () => {
    const place = { domain: 'berth.localhost', host: '127.0.0.1', postgresPort: ofLocalhost.port }
    expect(await run(words(ownerAddress(place, database, clientToken)))).toBe('42')
  })

  test('connects with the address of a database under a domain of one’s own', async () => {
    const place = { domain, host: '0.0.0.0', postgresPort: ofDomain.port }
    const address = ownerAddress(place, database, clientToken)
    const hosts = join(folder, 'hosts')
    writeFileSync(hosts, `127.0.0.1 localhost\n127.0.0.1 ${new URL(address).hostname}\n`)
    // A namespace of its own has another /etc/hosts; Node takes the authority as one that everybody trusts.
    const inside = ['unshare', isRoot() ? '-m' : '-rm', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    expect(await run([...inside, ...words(address)], { NODE_EXTRA_CA_CERTS: ofDomain.authorityFile })).toBe('42')
  })
})

test.each(Object.keys(laterVersions))('psql connects by libpq %s where it is told to', async (major) => {
  const [, library = ''] = psqlWith(major)('')
  const probe = 'import ctypes; print(ctypes.CDLL("libpq.so.5").PQlibVersion() // 10000)'
  expect(await run(['env', library, '/usr/bin/python3', '-c', probe])).toBe(major)
})

describe('postgres.js, which passes on each parameter of an address that it does not know', () => {
  const local = (query: string): string => {
    const place = { domain: 'berth.localhost', host: '127.0.0.1', postgresPort: ofLocalhost.port }
    return `${ownerAddress(place, database, clientToken)}?${query}`
  }

  test('connects with an address that was made for others', async () => {
    const ofOthers = [
      'hostaddr=127.0.0.1&gssencmode=disable&channel_binding=prefer&sslrootcert=/tmp/none&connect_timeout=10', // libpq
      'pgbouncer=true&connection_limit=5&pool_timeout=10&schema=public&socket_timeout=5&sslaccept=strict', // Prisma
      'statement_cache_mode=describe&default_query_exec_mode=exec&pool_max_conns=4&binary_parameters=yes', // Go
      'prepareThreshold=0&loginTimeout=10&socketTimeout=10&tcpKeepAlive=true&uselibpqcompat=true', // JDBC, node-postgres
    ].join('&')
    expect(await run(programs['postgres.js']!(local(ofOthers)))).toBe('42')
  })

  test('is told of a setting that nobody knows', async () => {
    expect(await run(programs['postgres.js']!(local('nobody_knows_it=1')))).toContain(
      'unrecognized configuration parameter "nobody_knows_it"',
    )
  })
})

test('only clients on this host may leave out TLS, and only below localhost', async () => {
  const elsewhere = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find((one) => !one.internal)?.address
  if (elsewhere === undefined) throw new Error('this host has no address but its loopback one')
  const everywhere = await openProxyWorld({ plainTextOfHost: true, host: '::' })
  const port = everywhere.port
  const without = { ssl: false }
  const refusal = 'this connection is not encrypted'
  try {
    await (await everywhere.client(without)).end()
    await (await everywhere.client({ ...without, host: '::1', port })).end()
    await expect(everywhere.client({ ...without, host: elsewhere })).rejects.toThrow(refusal)
    await expect(ofDomain.client(without)).rejects.toThrow(refusal)
  } finally {
    await everywhere.close()
  }
})

test.each([
  ['berth.localhost', '127.0.0.1', '@127.0.0.1:5432/app'],
  ['berth.localhost', 'localhost', '@127.0.0.1:5432/app'],
  ['berth.localhost', '0.0.0.0', '@127.0.0.1:5432/app'],
  ['berth.localhost', '::1', '@[::1]:5432/app'],
  ['berth.localhost', '192.0.2.7', '@192.0.2.7:5432/app?sslmode=require'],
  ['berth.example', '127.0.0.1', `@${'0'.repeat(26)}.db.berth.example:5432/app?sslmode=require`],
])('under %s, listening on %s, the address ends in %s', (its, host, end) => {
  const none = { ...database, id: '00000000-0000-0000-0000-000000000000' }
  const address = ownerAddress({ domain: its, host, postgresPort: 5432 }, none, clientToken)
  expect(address).toBe(`postgresql://${clientUser}:${clientToken}${end}`)
})

/** @returns what it printed, or why it failed */
async function run([program = '', ...words]: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const env = { ...process.env, ...more, NODE_NO_WARNINGS: '1' }
  return promisify(execFile)(program, words, { env, timeout: runTimeoutMs }).then(
    ({ stdout }) => stdout.trim(),
    (error: Error & { stdout: string; stderr: string }) => `${error.message}\n${error.stdout}\n${error.stderr}`,
  )
}

/** A database behind the wire proxy, for tests: a real one of the run's Postgres, and a directory that knows it. */
import type { Socket } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { ownCertificate, type Certificates } from '#src/edge/postgres/logins/certificates.ts'
import type { Admission, DatabaseChange, Directory, Found } from '#src/edge/postgres/directory.ts'
import type { PoolTimes } from '#src/edge/postgres/pool.ts'
import { openProxy, type PostgresProxy } from '#src/edge/postgres/proxy.ts'
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { limits } from '#src/platform/limits.ts'
import { createSealer } from '#src/platform/secrets.ts'
import { createDatabase, type TestDatabase, type TestPostgres } from '../support/postgres.ts'
import { serverSockets } from './server-sockets.ts'

/** What a client of the world's database needs. */
export const clientUser = 'app_alice'
/** Its database. */
export const clientDatabase = 'app'
/** What its password is. */
export const clientToken = 'bdb_0123456789012345678901234567890123456789abc'
/** The name behind which its certificate stands. */
export const serverName = 'db1.db.berth.localhost'

/** The proxy, and what tests change behind it. */
export type ProxyWorld = {
  proxy: PostgresProxy
  port: number
  /** How a client connects, as the settings of libpq. */
  environment: Record<string, string>
  /** A client of node-postgres, connected. */
  client(options?: pg.ClientConfig): Promise<pg.Client>
  /** The same without the proxy. */
  direct(options?: pg.ClientConfig): Promise<pg.Client>
  /** What the directory answers; may be changed. */
  admission: Admission
  found: (user: string, database: string) => Found | null
  /** What the directory was asked and told. */
  asked: { user: string; database: string; serverName: string | null }[]
  activities: number
  /** Connections that the proxy has made to the server, open ones. */
  connections: Set<Socket>
  change(change: DatabaseChange): void
  /** The authority's certificate, a file. */
  authorityFile: string
  databaseId: string
  database: TestDatabase
  close(): Promise<void>
}

/** Opens one. @param on the server on which its database is; the run's own without it */
export async function openProxyWorld(
  options: {
    on?: TestPostgres
    plainText?: boolean
    /** Whether clients on this host may leave out TLS, as below `localhost`. */
    plainTextOfHost?: boolean
    host?: string
    /** The domain of the certificate. */
    domain?: string
    backendsMax?: number
    backendsShared?: number
    times?: PoolTimes
    clientsPerOrganization?: number
    iterations?: number
    certificates?: Certificates
  } = {},
): Promise<ProxyWorld> {
  const database = await createDatabase(options.on, 'template1')
  const url = new URL(database.url.replace('@/', '@localhost/'))
  const sockets = serverSockets(database.url)
  const folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'))
  const authorityFile = join(folder, 'authority.pem')
  writeFileSync(authorityFile, await createAuthority(folder, 'databases').certificate())
  const verifier = await makeVerifier(clientToken, options.iterations)
  const watchers = new Set<(change: DatabaseChange) => void>()
  const admission: Admission = {
    databaseId: database.url,
    organizationId: 'acme',
    kind: 'owner',
    refusal: null,
    server: { user: url.username, database: url.pathname.slice(1), password: url.password },
    backendsMax: options.backendsMax ?? 40,
    backendsShared: options.backendsShared ?? limits.postgresBackendsShared,
    prepare: null,
    workMs: null,
    isCurrent: () => true,
    onLoginLost: () => Promise.resolve(false),
    connect: sockets.connect,
    onActivity: () => void world.activities++,
  }
  const directory: Directory = {
    find: async (asked) => {
      world.asked.push(asked)
      return world.found(asked.user, asked.database) ?? { by: 'nobody', alike: `${asked.user} ${asked.database}` }
    },
    watch(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
  }
  const proxy = await openProxy({
    host: options.host ?? '127.0.0.1',
    port: 0,
    directory,
    certificates: options.certificates ?? ownCertificate(folder, options.domain ?? 'berth.localhost'),
    derive: createSealer([Buffer.alloc(32, 7)]).derive,
    plainText: options.plainText ? 'of everybody' : options.plainTextOfHost ? 'of this host' : 'of nobody',
    times: options.times,
    clientsPerOrganization: options.clientsPerOrganization,
  })
  const open = async (config: pg.ClientConfig): Promise<pg.Client> => {
    const client = new pg.Client(config)
    client.on('error', () => {
      // Tests that cut it say so themselves.
    })
    await client.connect()
    return client
  }
  const world: ProxyWorld = {
    proxy,
    port: proxy.port,
    environment: {
      PGHOST: '127.0.0.1',
      PGPORT: String(proxy.port),
      PGUSER: clientUser,
      PGDATABASE: clientDatabase,
      PGPASSWORD: clientToken,
      PGSSLMODE: options.plainText ? 'disable' : 'require',
      PGGSSENCMODE: 'disable',
    },
    client: (config) =>
      open({
        host: '127.0.0.1',
        port: proxy.port,
        user: clientUser,
        database: clientDatabase,
        password: clientToken,
        ssl: options.plainText ? false : { rejectUnauthorized: false },
        ...config,
      }),
    direct: (config) => open({ connectionString: database.url, ...config }),
    admission,
    found: (user, name) =>
      user === clientUser && name === clientDatabase ? { by: 'password', verifier, admission } : null,
    asked: [],
    activities: 0,
    connections: sockets.opened,
    change(change) {
      for (const changed of watchers) changed(change)
    },
    authorityFile,
    databaseId: admission.databaseId,
    database,
    async close() {
      await proxy.close(100)
      sockets.cut()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return world
}

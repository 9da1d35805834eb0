/** Databases behind the edge, for tests: rows of the platform's, and a Postgres in the place of the one in a VM. */
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { openDatabases, type EdgeDatabases } from '#src/edge/databases.ts'
import { ownCertificate } from '#src/edge/postgres/logins/certificates.ts'
import { openProxy, type PostgresProxy } from '#src/edge/postgres/proxy.ts'
import { openSqlDoor } from '#src/edge/sql/door.ts'
import { createTokenCheck } from '#src/edge/databases/tokens.ts'
import { sqlDoorPlace } from '#src/drivers/sql-door.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { addDatabaseEvent } from '#src/resources/infra/databases/states.ts'
import { hostOf, type Database } from '#src/resources/infra/databases/rows.ts'
import { databaseSetup, sealNewLogins, serverSetup } from '#src/resources/infra/databases/setup.ts'
import { makeToken } from '#src/resources/infra/databases/tokens.ts'
import { transaction } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { asAdmin, startTestPostgres, type TestPostgres } from '../support/postgres.ts'
import { serverSockets } from './server-sockets.ts'

/** A database as its owner knows it. */
export type KnownDatabase = { row: Database; token: string; host: string }

/** The edge in this process, and what is behind it. */
export type DatabasesWorld = {
  berth: Berth
  edgeId: string
  proxy: PostgresProxy
  databases: EdgeDatabases
  /** The database that has a server. */
  known: KnownDatabase
  /** Another organization's, without one unless the world has a neighbour. */
  foreign: KnownDatabase
  /** How often the server was reached. */
  reached: number
  /** A client of node-postgres, connected; of the first database's owner without options. */
  client(options?: Partial<pg.ClientConfig> & { host?: string }): Promise<pg.Client>
  /** The same as the server's superuser, without the proxy. */
  superuser(): Promise<pg.Client>
  /** Does what a worker does in the server of the first database, and may be repeated. */
  setUp(): Promise<void>
  /** Changes a row, with its event and notice; resolves when the edge has acknowledged that. */
  change(database: KnownDatabase, set: ReturnType<typeof sql>): Promise<Database>
  /** Ends what answers POST /sql. */
  closeDoor(): Promise<void>
  close(): Promise<void>
}

/** Postgres 15, which stands in for the one in a VM, does not know how a membership may be limited. */
const withoutLimits = (text: string): string => text.replaceAll(/ with admin (?:true|false)[^;']*/g, '')

/** Opens one. `neighbour`: the other organization's database has a server of its own; `alone`: outside of a run of tests, which has a Postgres for Berth. */
export async function openDatabasesWorld(
  settings: Record<string, string> = {},
  {
    workMs,
    setUpSeconds = 0.2, // there is no worker that would do it
    neighbour = false,
    alone = false,
  }: { workMs?: number; setUpSeconds?: number; neighbour?: boolean; alone?: boolean } = {},
): Promise<DatabasesWorld> {
  const server = await startTestPostgres()
  const berth = await startBerth({ settings, ...(alone ? { on: server } : {}) })
  const { services } = berth
  const known = await makeDatabase(berth, await berth.token('alice', 'acme'))
  const foreign = await makeDatabase(berth, await berth.token('mallory', 'other'))
  const sockets = serverSockets(server.address.adminUrl)
  const other = neighbour ? await startTestPostgres() : null
  const otherSockets = other && serverSockets(other.address.adminUrl)
  for (const { address } of [server, ...(other ? [other] : [])])
    await asAdmin(address, async (admin) => {
      await admin.query('create database app')
    })
  const edgeId = newUuid()
  await sql`insert into edge_processes (id) values (${edgeId})`.execute(services.db)
  const checkToken = createTokenCheck(services)
  const reach = async (id: string): Promise<Duplex> => {
    world.reached++
    return (id === foreign.row.id && otherSockets ? otherSockets : sockets).connect()
  }
  const databases = openDatabases(services, { reach, checkToken, edgeId, workMs, setUpSeconds })
  const proxy = await openProxy({
    host: '127.0.0.1',
    port: 0,
    directory: databases,
    certificates: ownCertificate(services.config.dataDir, services.config.domain),
    derive: services.sealer.derive,
  })
  const door = await openSqlDoor({ databases, checkToken, proxy, socketPath: sqlDoorPlace(services.config.runDir) })
  let closing: Promise<void> | undefined
  const setUp = async (on: TestPostgres, row: Database): Promise<void> => {
    await asAdmin(on.address, async (admin) => {
      await admin.query(withoutLimits(await serverSetup(services.sealer, row)))
    })
    const inside = await superuserOf(on)
    await inside.query(withoutLimits(databaseSetup(row)))
    await inside.end()
  }
  const world: DatabasesWorld = {
    berth,
    edgeId,
    proxy,
    databases,
    known,
    foreign,
    reached: 0,
    client: async ({ host = known.host, ...options } = {}) => {
      const client = new pg.Client({
        host: '127.0.0.1',
        port: proxy.port,
        user: known.row.pgUser,
        database: 'app',
        password: known.token,
        ssl: { rejectUnauthorized: false, servername: host },
        ...options,
      })
      client.on('error', () => {
        // Tests that cut it say so themselves.
      })
      await client.connect()
      return client
    },
    superuser: () => superuserOf(server),
    async setUp() {
      await setUp(server, known.row)
      if (other) await setUp(other, foreign.row)
    },
    async change(database, set) {
      database.row = await transaction(services.db, async (tx) => {
        const row = await getOne<Database>(
          tx,
          sql`update databases set ${set}, event_position = event_position + 1 where id = ${database.row.id} returning *`,
        )
        await addDatabaseEvent(tx, row)
        return row
      })
      const { id, eventPosition } = database.row
      await until('the edge has carried it out', async () => {
        const { rows } = await sql`
          select from edge_acknowledgements where edge_id = ${edgeId} and database_id = ${id} and position >= ${eventPosition}`.execute(
          services.db,
        )
        return rows.length > 0
      })
      return database.row
    },
    closeDoor: () => (closing ??= door.close(100)),
    async close() {
      await world.closeDoor()
      await proxy.close(100)
      databases.close()
      sockets.cut()
      otherSockets?.cut()
      await berth.stop()
      await server.stop()
      await other?.stop()
    },
  }
  await world.setUp()
  return world
}

async function superuserOf({ address }: TestPostgres): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address.adminUrl.replace('/postgres?', '/app?') })
  await client.connect()
  return client
}

async function makeDatabase({ services }: Berth, token: string): Promise<KnownDatabase> {
  const { organizationId, userId } = idsOf(token)
  const id = newUuid()
  const { token: password, tokenVerifier, tokenHash } = await makeToken()
  const row = await getOne<Database>(
    services.db,
    sql`
    insert into databases (id, organization_id, user_id, name, status, pg_user, token_verifier, token_hash, sealed_logins, vcpu_count, memory_mb, disk_mb)
    values (${id}, ${organizationId}, ${userId}, 'main', 'active', ${`app_${encodeId('database', id).slice(-6)}`}, ${tokenVerifier}, ${tokenHash}, ${sealNewLogins(services.sealer, id)}, 1, 1024, 1024)
    returning *`,
  )
  return { row, token: password, host: hostOf(services.config, row) }
}

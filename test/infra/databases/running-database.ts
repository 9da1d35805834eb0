/** A whole `npm start` with a database on it, for tests that break data, restore them, and kill parts of it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import pg from 'pg'
import { sha256 } from '#src/platform/secrets.ts'
import { startInstallation, type Installation } from '../../support/installation.ts'
import { until } from '../../support/until.ts'

/** How long a backup, a restore, or the return after a crash may take. */
export const settledMs = 180_000
const createMs = 400_000
const activeMs = 300_000

/** A backup, as REST answers it. */
export type BackupAnswer = {
  id: string
  status: string
  error: string | null
  size_bytes: number
  triggered_by: string
}
/** A restore, as GraphQL answers it. */
type RestoreAnswer = { status: string; error: string | null; progress: { step: string; loadedBytes: number } }

/** The database. While a part of the installation is not there, `call` answers status 0, and what reads undefined. */
export type RunningDatabase = {
  berth: Installation
  id: string
  pgUser: string
  /** Calls REST below the database's path. */
  call: <Body>(method: string, path: string, body?: unknown) => Promise<{ status: number; body: Body }>
  /** Opens a connection as its owner, through the proxy. @throws Error */
  connect: () => Promise<pg.Client>
  /** Runs statements as its owner, on a connection of its own. @throws Error */
  query: <Row extends object>(text: string) => Promise<Row[]>
  isActive: () => Promise<boolean>
  /** The digest of a backup, as Berth knows it. */
  digestOf: (id: string) => Promise<string | null | undefined>
  newestRestore: () => Promise<RestoreAnswer | undefined>
  /** Waits for the end of a backup. */
  ended: (id: string) => Promise<BackupAnswer>
  /** Makes a backup, and waits for its end. */
  backUp: () => Promise<BackupAnswer>
  /** The names of the files of backups, and of what is being written. */
  files: () => string[]
  /** How much there is of what is being written. */
  incomingBytes: () => number
  /** The digest of the file of a backup; undefined where there is none. */
  fileDigest: (id: string) => string | undefined
}

/** Starts the installation, and waits for an active database on it; it must be stopped by `berth.stop()`. */
export async function startDatabase(): Promise<RunningDatabase> {
  const berth = await startInstallation({ BERTH_VM_POOL: '0' })
  try {
    return await makeDatabase(berth)
  } catch (error) {
    await berth.stop()
    throw error
  }
}

async function makeDatabase(berth: Installation): Promise<RunningDatabase> {
  type Made = { id: string; host: string; token: string }
  type Seen = { pg_user: string; status: string }
  const token = await berth.token()
  async function send<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    try {
      return await berth.call<Body>(token, method, path, body)
    } catch {
      return { status: 0, body: {} as Body } // cut off: that is what these tests do to the other side
    }
  }
  let made = {} as Made
  await until(
    'a database is made',
    async () => {
      const answer = await send<Made>('POST', '/api/v1/databases', {
        organization_id: String(decodeJwt(token)['org_id']),
        name: 'shop',
      })
      made = answer.body
      return answer.status === 201
    },
    createMs,
    2_000,
  )
  const { id, host, token: password } = made
  const call = <Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> =>
    send<Body>(method, `/api/v1/databases/${id}${path}`, body)
  const ask = async <Data>(query: string): Promise<Data | undefined> =>
    (await send<{ data?: Data | null }>('POST', '/graphql', { query })).body.data ?? undefined
  const isActive = async (): Promise<boolean> => (await call<Seen>('GET', '')).body.status === 'active'
  await until('it is active', isActive, activeMs, 500)
  const pgUser = (await call<Seen>('GET', '')).body.pg_user

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: berth.postgresPort,
      user: pgUser,
      password,
      database: 'app',
      ssl: { rejectUnauthorized: false, servername: host },
    })
    client.on('error', () => undefined) // it was cut, which the query reports
    await client.connect()
    return client
  }
  async function query<Row extends object>(text: string): Promise<Row[]> {
    const client = await connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end().catch(() => undefined) // it was cut
    }
  }
  const backupOf = async (backup: string): Promise<BackupAnswer | undefined> => {
    const { status, body } = await call<BackupAnswer>('GET', `/backups/${backup}`)
    return status === 200 ? body : undefined
  }
  async function ended(backup: string): Promise<BackupAnswer> {
    let last: BackupAnswer | undefined
    const isOver = async (): Promise<boolean> =>
      (last = await backupOf(backup)) !== undefined && !['pending', 'running'].includes(last.status)
    await until('the backup ends', isOver, settledMs, 200)
    return last as unknown as BackupAnswer // it has ended
  }
  type Stored = { backup?: { sha256: string | null } | null }
  type Restores = { database?: { restores: { nodes: RestoreAnswer[] } | null } | null }
  const found = (...folders: string[]): { name: string; path: string }[] =>
    folders.flatMap((name) => {
      const folder = join(berth.dataDir, 'objects', name)
      if (!existsSync(folder)) return []
      return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [{ name: entry.name, path: join(entry.parentPath, entry.name) }] : [],
      )
    })
  return {
    berth,
    id,
    pgUser,
    call,
    connect,
    query,
    isActive,
    digestOf: async (backup) => (await ask<Stored>(`{ backup(id: "${backup}") { sha256 } }`))?.backup?.sha256,
    newestRestore: async () =>
      (
        await ask<Restores>(
          `{ database(id: "${id}") { restores(first: 1) { nodes { status error progress { step loadedBytes } } } } }`,
        )
      )?.database?.restores?.nodes[0],
    ended,
    async backUp() {
      const { status, body } = await call<BackupAnswer>('POST', '/backups')
      if (status !== 202) throw new Error(`a backup was answered ${status}: ${JSON.stringify(body)}`)
      return ended(body.id)
    },
    files: () => found('files/backups', 'incoming').map(({ name }) => name),
    incomingBytes: () =>
      found('incoming').reduce((sum, { path }) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0),
    fileDigest(backup) {
      const file = found('files/backups').find(({ name }) => name === `${backup}.dump`)
      return file && sha256(readFileSync(file.path)).toString('hex')
    },
  }
}

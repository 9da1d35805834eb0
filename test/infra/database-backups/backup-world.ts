/** A Berth with a node whose databases are fake servers, and what tests of backups ask it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Backup } from '#src/resources/infra/database-backups/rows.ts'
import { handleDatabaseBackups } from '#workers/infra/database-backups.ts'
import { handleDatabaseRestores } from '#workers/infra/database-restores.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Answer, type Berth } from '../../support/berth.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { fakeServer, type FakeServer } from './fake-servers.ts'

/** A backup as REST answers it. */
export type BackupAnswer = {
  id: string
  database_id: string
  status: Backup['status']
  triggered_by: Backup['triggeredBy']
  error: string | null
  size_bytes: number
  created_at: string
  completed_at: string | null
}
type Refusal = { error: string; message: string }

/** The world. */
export type BackupWorld = {
  berth: Berth
  token: string
  nodeId: string
  /** A worker of the node; later ones have higher numbers. */
  work: (workerNumber: number) => VmWork
  find: (work: VmWork, databaseId: string) => Promise<FakeServer['machine']>
  /** A new active database, and its server. */
  database: (status?: 'active' | 'error' | 'creating', owner?: string) => Promise<{ id: string; server: FakeServer }>
  call: <Body = BackupAnswer & Refusal>(
    method: string,
    path: string,
    options?: { as?: string; body?: unknown },
  ) => Promise<Answer<Body>>
  /** Starts a backup. */
  backUp: (databaseId: string) => Promise<BackupAnswer>
  /** Waits until a backup has this status. */
  whenBackup: (databaseId: string, id: string, status: Backup['status']) => Promise<BackupAnswer>
  statusOf: (databaseId: string) => Promise<string>
  /** What a subscription says until it ends: each event's cursor and status. */
  followed: (field: string, type: string, id: string, after: string) => Promise<string[]>
  /** The files of backups in the store, and those that are being written. */
  files: () => { stored: string[]; incoming: string[] }
  contentOf: (name: string) => string
  stop: () => Promise<void>
}

/** Starts one. @param handles whether the node's jobs are handled. */
export async function startBackupWorld({ handles = true, settings = {} } = {}): Promise<BackupWorld> {
  const berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', ...settings } })
  const { services, dataDir } = berth
  const token = await berth.token()
  const nodeId = await makeSilentNode(services.db)
  await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${nodeId}`.execute(services.db)
  const servers = new Map<string, FakeServer>()
  const work = (workerNumber: number): VmWork => ({ services, nodeId, workerNumber }) as unknown as VmWork // all that these handlers need
  const find: BackupWorld['find'] = async (_, databaseId) => {
    const server = servers.get(databaseId)
    if (!server) throw new Error('a database without a server')
    return server.machine
  }
  if (handles) {
    await handleDatabaseBackups(work(1), find)
    await handleDatabaseRestores(work(1), find)
  }
  const call: BackupWorld['call'] = (method, path, { as = token, body } = {}) =>
    berth.call(method, `/api/v1/databases/${path}`, {
      ...(as ? { token: as } : {}),
      ...(body === undefined ? {} : { body }),
    })
  const folder = join(dataDir, 'objects')
  const namesIn = (place: string): string[] =>
    existsSync(place)
      ? readdirSync(place, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ name }) => name)
      : []
  return {
    berth,
    token,
    nodeId,
    work,
    find,
    call,
    async database(status = 'active', owner = token) {
      const { id } = await makeDatabase(berth, owner, nodeId, { status })
      const server = fakeServer()
      servers.set(decodeId('database', id) ?? '', server)
      return { id, server }
    },
    backUp: async (id) => (await call('POST', `${id}/backups`)).body,
    async whenBackup(databaseId, id, status) {
      let last: BackupAnswer | undefined
      await until(
        `backup ${status}`,
        async () => (last = (await call('GET', `${databaseId}/backups/${id}`)).body).status === status,
      )
      return last!
    },
    async followed(field, type, id, after) {
      const query = `subscription { ${field}(id: "${id}", after: "${after}") { ... on ${type} { cursor status } } }`
      const answer = await fetch(`${berth.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query }),
      })
      const found = (await answer.text()).matchAll(/"cursor":"(\d+)","status":"(\w+)"/g)
      return [...found].map((match) => `${match[1]} ${match[2]}`)
    },
    statusOf: async (id) => (await rowOf(berth, id)).status,
    files: () => ({ stored: namesIn(join(folder, 'files', 'backups')), incoming: namesIn(join(folder, 'incoming')) }),
    contentOf(name) {
      const found = readdirSync(join(folder, 'files'), { recursive: true })
        .map(String)
        .find((path) => path.endsWith(name))
      return readFileSync(join(folder, 'files', found ?? ''), 'utf8')
    },
    stop: () => berth.stop(),
  }
}

/** Organizations that order certificates, workers that obtain them, and an edge that shows them: without web process and VMs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCertificates, type EdgeCertificates } from '#src/edge/certificates.ts'
import { readConfig } from '#src/platform/config.ts'
import { newUuid } from '#src/platform/ids.ts'
import { sql, transaction, type Db } from '#src/platform/postgres.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import { findCertificates, orderCertificate } from '#src/resources/infra/certificates.ts'
import { handleCertificates } from '#workers/infra/certificates.ts'
import type { Certificate } from '#src/resources/infra/certificates/rows.ts'
import { createDatabase, type TestDatabase, type TestPostgres } from '../postgres.ts'
import { until } from '../until.ts'

/** A process of this world. */
export type Process = Services & { close: () => Promise<void> }

/** Such a world; each process is closed at its end. */
export type CertificateWorld = {
  db: Db
  databaseUrl: string
  settings: Readonly<Record<string, string>>
  /** Another process, with these settings beside those of all. */
  open: (role: 'worker' | 'edge', more?: Record<string, string>) => Promise<Process>
  /** A process that handles certificates. */
  startWorker: () => Promise<Process>
  /** The certificates of another edge process; all of them are read. */
  startEdge: () => Promise<EdgeCertificates>
  organization: () => Promise<string>
  order: (organizationId: string, host: string, domainId?: string) => Promise<Certificate>
  find: (organizationId: string, host: string) => Promise<Certificate | undefined>
  /** Waits until the certificate is so. */
  becomes: (certificate: Certificate, is: (row: Certificate) => boolean) => Promise<Certificate>
  stop: () => Promise<void>
}

/** Makes one, with settings as in docs/operating.md. */
export async function startCertificateWorld(
  settings: Record<string, string>,
  on?: TestPostgres,
): Promise<CertificateWorld> {
  const database: TestDatabase = await createDatabase(on)
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-certificates-'))
  const all = { BERTH_DATA_DIR: dataDir, BERTH_LOG_LEVEL: 'fatal', ...settings }
  const opened: Process[] = []
  const edges: EdgeCertificates[] = []
  const open = async (role: 'worker' | 'edge', more: Record<string, string> = {}): Promise<Process> => {
    const services = await openServices(readConfig({ ...all, ...more }), database.url, role)
    opened.push(services)
    return services
  }
  const services = await open('edge')
  const { db } = services
  const find = async (organizationId: string, host: string): Promise<Certificate | undefined> =>
    (await findCertificates(db, [{ organizationId, host }]))[0]
  return {
    db,
    databaseUrl: database.url,
    settings: all,
    open,
    find,
    async startWorker() {
      const worker = await open('worker')
      await handleCertificates(worker)
      return worker
    },
    async startEdge() {
      const edge = openCertificates({ services: await open('edge'), given: null, hasRoute: () => false })
      edges.push(edge)
      await edge.ready
      return edge
    },
    async organization() {
      const id = newUuid()
      await sql`insert into organizations (id, name) values (${id}, ${`org-${id.slice(-6)}`})`.execute(db)
      return id
    },
    order: (organizationId, host, domainId = newUuid()) =>
      transaction(db, (tx) => orderCertificate(services, tx, { organizationId, host, domainId })),
    async becomes({ organizationId, host }, is) {
      let row: Certificate | undefined
      await until(`the certificate of ${host} is as wanted`, async () => {
        row = await find(organizationId, host)
        return row !== undefined && is(row)
      }).catch((error: Error) => {
        throw new Error(`${error.message}; it is ${JSON.stringify({ ...row, chain: null, sealedKey: null })}`)
      })
      return row as Certificate // `until` saw it
    },
    async stop() {
      for (const edge of edges) edge.close()
      for (const one of opened) await one.close()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * The edge process: it lets clients of Postgres in to databases, and serves proxies and domains over HTTP. It listens, and ends within ten seconds after a signal.
 * `npm start` and the Procfile start it.
 */
import { flushCompileCache } from 'node:module'
import { nodeClient } from '#src/drivers/node.ts'
import { projectDoorPlace } from '#src/drivers/project-door.ts'
import { sqlDoorPlace } from '#src/drivers/sql-door.ts'
import { ConfigError, readConfig, type Config } from '#src/platform/config.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log, setLogFormat, setLogLevel } from '#src/platform/log.ts'
import { reportConnections } from '#src/platform/metrics.ts'
import { serveMetrics } from '#src/platform/metrics/private-server.ts'
import { lookAtPostgres, watchReadiness } from '#src/platform/metrics/readiness.ts'
import { watchStalls } from '#src/platform/metrics/stalls.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import '#src/resources/wiring.ts'
import { takesPlainText } from '#src/resources/infra/databases/addresses.ts'
import { forgetEdge, reportEdge } from '#src/resources/infra/databases/edges.ts'
import { wakeDatabase } from '#src/resources/infra/databases/sleep.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { openCertificates } from './certificates.ts'
import { openConfiguredDns, type ChallengeDns } from './challenge-dns.ts'
import { openDatabases } from './databases.ts'
import type { Reach } from './databases/servers.ts'
import { givenCertificate, ownCertificate, reportGivenCertificate } from './postgres/logins/certificates.ts'
import type { Ingress } from './http/ingress.ts'
import { openEdgeIngress, openEdgeRoutes } from './ingress.ts'
import { openWhenFree } from './ports.ts'
import { openProxy, type PostgresProxy } from './postgres/proxy.ts'
import { openProjectDoor, type ProjectDoor } from './project-door.ts'
import { openSqlDoor, type SqlDoor } from './sql/door.ts'
import { createTokenCheck } from './databases/tokens.ts'
import { createWaking } from './waking.ts'

const stopLimitMs = 9_000 // the supervisor waits 11 s
/** Clients in the middle of a transaction get so long to finish. */
const finishLimitMs = 6_000
const heartbeatMs = 2_000

async function run(config: Config, databaseUrl: string): Promise<void> {
  const services = await openServices(config, databaseUrl, 'edge')
  reportConnections(services.database)
  const given = givenCertificateOf(config)
  reportGivenCertificate(given)
  const certificates = given ?? ownCertificate(config.dataDir, config.domain)
  const edgeId = newUuid()
  const beating = keepReporting(services, edgeId)
  const checkToken = createTokenCheck(services)
  const directory = openDatabases(services, { reach: reachServer(services), checkToken, edgeId })
  const routes = openEdgeRoutes(services)
  const shown = openCertificates({ services, given, hasRoute: routes.hasHost })
  let ingress: Ingress | null = null
  // It goes on without the database, with what it knows: an outage of Postgres must not take its clients away from it.
  const readiness = watchReadiness(['listens'], async () => ({
    listens: ingress !== null || 'The ports for clients are not open yet.',
    ...(await lookAtPostgres(services)),
  }))
  const isAllowed = (query: URLSearchParams): boolean => shown.isServed(query.get('domain') ?? '')
  const metrics = await serveMetrics(config.edgeMetricsPort, {
    ...{ config, readiness },
    gate: { path: '/tls-gate', isAllowed },
  })
  watchStalls()
  let proxy: PostgresProxy | null = null
  let door: SqlDoor | null = null
  let projectDoor: ProjectDoor | null = null
  let challengeDns: ChallengeDns | null = null

  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'the edge process stops: idle clients are told to leave, others finish')
    setTimeout(() => {
      log.warn('some clients did not finish in time and were cut')
      process.exit(1)
    }, stopLimitMs).unref()
    clearInterval(beating)
    metrics.close()
    projectDoor?.close()
    await Promise.all([proxy?.close(finishLimitMs), door?.close(finishLimitMs), ingress?.close(finishLimitMs)])
    directory.close()
    shown.close()
    routes.close()
    challengeDns?.close()
    await forgetEdge(services.db, edgeId)
    await services.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))

  challengeDns = await openConfiguredDns(config, shown.challengeTexts)
  const { host, postgresPort: port } = config
  proxy = await openWhenFree(port, 'the port for clients of Postgres', 'BERTH_POSTGRES_PORT to a free port', () =>
    openProxy({
      ...{ host, port, directory, certificates },
      derive: services.sealer.derive,
      plainText: takesPlainText(config) ? 'of this host' : 'of nobody',
    }),
  )
  door = await openSqlDoor({ databases: directory, checkToken, proxy, socketPath: sqlDoorPlace(config.runDir) })
  projectDoor = await openProjectDoor({ proxy, socketPath: projectDoorPlace(config.runDir) })
  log.info({ port, host, metricsPort: metrics.port }, 'the edge process listens')
  ingress = await openEdgeIngress(services, routes, shown)
  log.info({ host, port: ingress.port, securePort: ingress.securePort }, 'the ingress listens')
  flushCompileCache() // now, because there is no chance to do it after kill -9
}

/** The operator's certificate, if there is one. @throws ConfigError when it cannot be read. */
function givenCertificateOf({ tlsCertificateFile, tlsKeyFile }: Config): ReturnType<typeof givenCertificate> | null {
  if (tlsCertificateFile === null || tlsKeyFile === null) return null
  try {
    return givenCertificate(tlsCertificateFile, tlsKeyFile)
  } catch (error) {
    throw new ConfigError([
      `BERTH_TLS_CERTIFICATE and BERTH_TLS_KEY must be a certificate and its key in PEM that this user can read: ${error instanceof Error ? error.message : String(error)}.`,
    ])
  }
}

/** Says that this process is alive, so that changes of databases wait for it. */
function keepReporting({ db }: Services, edgeId: string): NodeJS.Timeout {
  const report = (): void =>
    void reportEdge(db, edgeId).catch((error: unknown) =>
      log.warn({ err: error }, 'the edge could not report that it is alive'),
    )
  report()
  return setInterval(report, heartbeatMs)
}

/** Through the worker of its node, which alone has a way to its VM. */
function reachServer(services: Services): Reach {
  const token = services.sealer.derive(nodeTokenPurpose)
  const wake = createWaking((databaseId) => wakeDatabase(services, databaseId))
  return async (databaseId) => {
    const { vmId, nodeAgentUrl } = await wake(databaseId)
    return nodeClient(nodeAgentUrl, token).tunnel({ vmId })
  }
}

try {
  const config = readConfig()
  setLogLevel(config.logLevel)
  setLogFormat(config.logFormat)
  if (!config.databaseUrl)
    throw new ConfigError(['DATABASE_URL is not set. `npm start` sets it for the embedded Postgres.'])
  await run(config, config.databaseUrl)
} catch (error) {
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`)
  else log.fatal({ err: error }, 'the edge process could not start')
  process.exit(error instanceof ConfigError ? 2 : 1)
}

/**
 * The worker process. `npm start` and the Procfile start it; it ends within ten seconds after a signal; VMs continue.
 */
import { flushCompileCache } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import { log, setLogFormat, setLogLevel } from '#src/platform/log.ts'
import { reportConnections } from '#src/platform/metrics.ts'
import { serveMetrics } from '#src/platform/metrics/private-server.ts'
import { lookAtPostgres, watchReadiness } from '#src/platform/metrics/readiness.ts'
import { openServices } from '#src/platform/services.ts'
import { watchStalls } from '#src/platform/metrics/stalls.ts'
import { reportState } from '#src/resources/state-metrics.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'
import { replaceWorker } from './predecessor.ts'
import { startWorker } from './worker.ts'

/**
 * The nice value of a worker: Postgres and the web process go first when processors are busy, so that nobody who waits for
 * an answer waits for work that nobody waits for.
 */
const niceness = 5
const stopLimitMs = 9_000 // the supervisor waits 11 s

try {
  const config = readConfig()
  setLogLevel(config.logLevel)
  setLogFormat(config.logFormat)
  modelTable(config) // its errors are reported now, not in the middle of a job
  serviceCatalog(config)
  memoryModel(config)
  if (!config.databaseUrl)
    throw new ConfigError(['DATABASE_URL is not set. `npm start` sets it for the embedded Postgres.'])
  if (getPriority() < niceness) setPriority(niceness)
  await replaceWorker(config.dataDir)
  const services = await openServices(config, config.databaseUrl, 'worker')
  reportConnections(services.database)
  reportState(services)
  let works = false
  const readiness = watchReadiness(['worker', 'database', 'migrations', 'notices'], async () => ({
    worker: works || 'The worker is starting; while it makes templates of VMs, that takes minutes.',
    ...(await lookAtPostgres(services)),
  }))
  const metrics = await serveMetrics(config.workerMetricsPort, { config, readiness })
  watchStalls()
  let stopping = false
  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    metrics.close()
    await (await starting).stop()
    await services.close()
    process.exit(0)
  }
  const starting = startWorker(services, () => void stop())
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop())
  await starting
  works = true
  flushCompileCache() // now, because there is no chance to do it after a kill
} catch (error) {
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`)
  else log.fatal({ err: error }, 'the worker could not start')
  process.exit(error instanceof ConfigError ? 2 : 1)
}

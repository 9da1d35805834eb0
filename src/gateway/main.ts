/** The web process: listens, and ends within ten seconds after a signal. `npm start` and the Procfile start it. */
import '#src/platform/config.ts' // first, for what it says to libraries
import type { ServerResponse } from 'node:http'
import { flushCompileCache } from 'node:module'
import { Server } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyListenOptions } from 'fastify'
import { ensureConsole } from '#src/console/building.ts'
import { registerSurfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { ConfigError, readConfig, type Config } from '#src/platform/config.ts'
import { log, setLogFormat, setLogLevel } from '#src/platform/log.ts'
import { serveMetrics } from '#src/platform/metrics/private-server.ts'
import { openServices } from '#src/platform/services.ts'
import { watchStalls } from '#src/platform/metrics/stalls.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'
import { clearDeadWrites } from '#src/resources/infra/uploads/writes.ts'
import { buildApp } from './app.ts'
import { watchWeb } from './health.ts'

const stopLimitMs = 9_000 // the supervisor waits 11 s
/** With other web processes on the port, keep-alive connections are closed one by one before we stop listening, so that their clients reach the others. */
const leaveMs = 500

async function run(config: Config, databaseUrl: string): Promise<void> {
  const services = await openServices(config, databaseUrl, 'web')
  await clearDeadWrites(services)
  const app = await buildApp({ services, schema, surfaces: registerSurfaces })
  const metrics = await serveMetrics(config.webMetricsPort, { config, readiness: watchWeb(services) })
  watchStalls()
  // With several web processes the kernel distributes new connections; `npm start` refuses a port that another program has.
  const listening: FastifyListenOptions & { reusePort: boolean } = {
    port: config.port,
    host: config.host,
    reusePort: config.webProcesses > 1,
  } // passed on to Node
  await app.listen(listening)
  log.info({ port: config.port, host: config.host, metricsPort: metrics.port }, 'the web process listens')
  ensureConsole(config)
  flushCompileCache() // now, because there is no chance to do it after kill -9

  let stopping = false
  app.server.prependListener('request', (_request, response: ServerResponse) => {
    if (stopping) response.shouldKeepAlive = false
  })
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'the web process stops: no new requests, those in flight finish')
    setTimeout(() => {
      log.warn('some requests did not finish in time and were cut')
      process.exit(1)
    }, stopLimitMs).unref()
    metrics.close()
    if (config.webProcesses > 1) {
      await pause(leaveMs)
      await new Promise((go) => setImmediate(go)) // just after waiting connections were accepted
      Server.prototype.close.call(app.server) // like HTTP's own, but it does not cut new connections
      await pause(leaveMs)
    }
    await app.close()
    await services.close()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
}

try {
  const config = readConfig()
  setLogLevel(config.logLevel)
  setLogFormat(config.logFormat)
  modelTable(config) // an error in it stops the start, instead of failing at the first request
  serviceCatalog(config)
  memoryModel(config)
  if (!config.databaseUrl)
    throw new ConfigError(['DATABASE_URL is not set. `npm start` sets it for the embedded Postgres.'])
  await run(config, config.databaseUrl)
} catch (error) {
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`)
  else log.fatal({ err: error }, 'the web process could not start')
  process.exit(error instanceof ConfigError ? 2 : 1)
}

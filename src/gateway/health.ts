/**
 * /healthz says that the process is alive, /readyz that it is ready: the database answers, its tables are current,
 * notices arrive. It also reports whether VMs can run and databases can be reached, but the rest works without them, so they do not make
 * it unready.
 */
import type { FastifyInstance } from 'fastify'
import { missingMigrations } from '#src/platform/migrate.ts'
import type { Services } from '#src/platform/services.ts'
import { whyNoEdge } from '#src/resources/infra/databases/edges.ts'
import { whyNoVms } from '#src/resources/infra/nodes.ts'

// Together they stay below 2 s, the time within which /readyz must report a dead Postgres.
const answerTimeoutMs = 1_000
const rememberedMs = 250
const retryAfterSeconds = 1

/** The checks of /readyz: each true, or a sentence that says what is wrong. */
type Readiness = Record<'database' | 'migrations' | 'notices' | 'vms' | 'edge', true | string>

/** Adds /healthz and /readyz. */
export function serveHealth(app: FastifyInstance, services: Pick<Services, 'database' | 'pubsub'>): void {
  let last: { at: number; outcome: Promise<Readiness> } | null = null
  app.get('/healthz', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    // Concurrent probes share one query.
    if (!last || performance.now() - last.at > rememberedMs) last = { at: performance.now(), outcome: look(services) }
    const checks = await last.outcome
    const ready = checks.database === true && checks.migrations === true && checks.notices === true
    reply.header('cache-control', 'no-store')
    if (!ready) reply.code(503).header('retry-after', retryAfterSeconds)
    return {
      status: ready ? 'ready' : 'not_ready',
      checks: Object.fromEntries(Object.entries(checks).map(([name, one]) => [name, one === true ? 'ok' : one])),
    }
  })
}

async function look({ database, pubsub }: Pick<Services, 'database' | 'pubsub'>): Promise<Readiness> {
  const notices = pubsub.connected || 'Notices from Postgres do not arrive; reconnecting.'
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), answerTimeoutMs)
  try {
    const missing = await Promise.race([
      missingMigrations(async (text) => (await database.pool.query<{ name: string }>(text)).rows),
      late.promise,
    ])
    if (missing.length > 0)
      return {
        database: true,
        migrations: `Not yet run: ${missing.join(', ')}. Run: npm run migrate`,
        notices,
        vms: 'Unknown before the migrations.',
        edge: 'Unknown before the migrations.',
      }
    return {
      database: true,
      migrations: true,
      notices,
      vms: (await Promise.race([whyNoVms(database.db), late.promise])) ?? true,
      edge: (await Promise.race([whyNoEdge(database.db), late.promise])) ?? true,
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '42P01')
      return {
        database: true,
        migrations: 'None has run. Run: npm run migrate',
        notices,
        vms: 'Unknown before the migrations.',
        edge: 'Unknown before the migrations.',
      }
    return {
      database: 'Postgres does not answer.',
      migrations: 'Unknown while Postgres does not answer.',
      notices,
      vms: 'Unknown while Postgres does not answer.',
      edge: 'Unknown while Postgres does not answer.',
    }
  } finally {
    clearTimeout(timer)
  }
}

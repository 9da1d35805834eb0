/**
 * The probes of the web process, on its public port: it is ready when the database answers, its tables are current, and notices
 * arrive. It also reports whether VMs can run and databases can be reached, but the rest works without them.
 */
import type { FastifyInstance } from 'fastify'
import {
  answerProbe,
  lookAtPostgres,
  probePaths,
  watchReadiness,
  type AskReadiness,
} from '#src/platform/metrics/readiness.ts'
import type { Services } from '#src/platform/services.ts'
import { whyNoEdge } from '#src/resources/infra/databases/edges.ts'
import { whyNoVms } from '#src/resources/infra/nodes.ts'

/** Whether this web process is ready. */
export function watchWeb(services: Pick<Services, 'database' | 'pubsub'>): AskReadiness {
  return watchReadiness(['database', 'migrations', 'notices'], () =>
    lookAtPostgres(services, { vms: whyNoVms, edge: whyNoEdge }),
  )
}

/** Adds /livez, /readyz and /healthz. */
export function serveHealth(app: FastifyInstance, services: Pick<Services, 'database' | 'pubsub'>): void {
  const ask = watchWeb(services)
  for (const path of probePaths)
    app.get<{ Querystring: Readonly<Record<string, unknown>> }>(path, async (request, reply) => {
      const { status, headers, body } = await answerProbe(path, 'verbose' in request.query, ask)
      return reply.code(status).headers(headers).send(body)
    })
}

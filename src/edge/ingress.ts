/** The ingress of the edge process: its routes, the ways to its targets, and what it shows by TLS. */
import { createVmReach, type ReachVm } from './http/vms.ts'
import { createVmWaking } from './http/waking.ts'
import { openIngress, type Ingress } from './http/ingress.ts'
import { openPreviews } from './http/previews.ts'
import { followRoutes, type FollowedRoutes } from './http/routes.ts'
import type { Reach } from './http/targets.ts'
import type { Services } from '#src/platform/services.ts'
import type { EdgeCertificates } from './certificates.ts'
import { openFunctions, type EdgeFunctions } from './functions.ts'
import { openWhenFree } from './ports.ts'

/** Opens it, as soon as all routes are known and no other program has its ports. */
export async function openEdgeIngress(
  services: Services,
  routes: FollowedRoutes,
  certificates: EdgeCertificates,
): Promise<Ingress> {
  const { config } = services
  const previews = openPreviews(services, routes)
  const reachVm = createVmReach(services, createVmWaking(services))
  const functions = openFunctions(services, reachVm)
  await Promise.all([routes.ready, certificates.ready])
  const ingress = await openWhenFree(
    `${config.httpPort} or ${config.httpsPort}`,
    'the ports for proxies and domains',
    'BERTH_HTTP_PORT and BERTH_HTTPS_PORT to free ports',
    () =>
      openIngress({
        host: config.host,
        port: config.httpPort,
        securePortNumber: config.httpsPort,
        trustedProxies: config.trustedProxies,
        routes: previews.routes,
        catchUp: (host) => routes.catchUp(host),
        guard: previews.guard,
        reach: createReach(reachVm, functions),
        functions,
        secureContextOf: certificates.contextOf,
        challengeContextOf: certificates.challengeContextOf,
        answerChallenge: certificates.challengeAnswer,
        securePort: (host, authority) =>
          certificates.isIssued(host) ? securePortFor(authority, config.httpPort, config.httpsPort) : null,
      }),
  )
  return {
    ...ingress,
    async close(limitMs) {
      await ingress.close(limitMs)
      functions.close()
    },
  }
}

/** The routes that the ingress follows. */
export function openEdgeRoutes(services: Services): FollowedRoutes {
  return followRoutes(services)
}

const usualSecurePort = 443

/** Whoever names our own port has come here directly; others came by a port that is led to ours. */
function securePortFor(authority: string, port: number, securePort: number): number {
  return authority.endsWith(`:${port}`) ? securePort : usualSecurePort
}

function createReach(reachVm: ReachVm, functions: EdgeFunctions): Reach {
  return (target) => (target.kind === 'vm' ? reachVm(target.vmId, target.port, target.wakes) : functions.reach(target))
}

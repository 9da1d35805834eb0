/** What a start prints last: Berth's URLs, and how to sign in. */
import { connect } from 'node:net'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { externalUrl } from '#src/resources/infra/routes/urls.ts'
import type { Config } from '../platform/config.ts'

const askTimeoutMs = 2_000

/** Why something is not there, as sentences; null for what is. */
export type Without = { withoutVms: string | null; withoutDatabases: string | null; withoutProxies: string | null }

/** Names of proxies look like this one. */
const exampleLabel = 'web-4c9qk2xp'

/** The addresses, the state of the VMs, how to get a token, and the ready line last. */
export function announcement(
  config: Config,
  { withoutVms, withoutDatabases, withoutProxies }: Without,
  { signInCode, howToStop }: { signInCode: string | null; howToStop: string },
): string {
  const { publicUrl, host, postgresPort, webMetricsPort, workerMetricsPort, edgeMetricsPort, cacheDir } = config
  const speed =
    knownAcceleration(cacheDir) === 'kvm' ? 'yes, with KVM' : 'yes, under emulation (npm run doctor says why)'
  return [
    '',
    `  Console            ${publicUrl}`,
    `  Command line       npx berth login ${publicUrl}`,
    `  Documentation      ${publicUrl}/docs`,
    `  GraphQL, GraphiQL  ${publicUrl}/graphql`,
    `  REST               ${publicUrl}/api/v1/openapi.json`,
    `  Agents             ${publicUrl}/agents/openapi.json`,
    `  Models             ${publicUrl}/llm/openapi.json`,
    `  Metrics            http://127.0.0.1:${webMetricsPort}/metrics (web), http://127.0.0.1:${workerMetricsPort}/metrics (worker), http://127.0.0.1:${edgeMetricsPort}/metrics (edge); the next free port where one is taken`,
    `  Databases          ${withoutDatabases === null ? `${host} port ${postgresPort}, for psql and every other client of Postgres` : `not reachable. ${withoutDatabases}`}`,
    `  Proxies, domains   ${withoutProxies === null ? `ports ${config.httpPort} (HTTP) and ${config.httpsPort} (HTTPS), such as ${externalUrl(config, `${exampleLabel}.${config.domain}`, '/')}` : `not reachable. ${withoutProxies}`}`,
    `  VMs                ${withoutVms === null ? speed : `none. ${withoutVms}`}`,
    '',
    ...(signInCode === null
      ? []
      : [
          `  Sign in            ${publicUrl}/graphql?code=${signInCode}`,
          '                     (another user of this machine needs this link; the code is good until the next start)',
        ]),
    '  Get a token:       npm run -s token -- --user alice --org acme --role owner',
    '',
    `Berth is ready at ${publicUrl} (${howToStop})`,
  ].join('\n')
}

/** Whether the web process is ready, and, with VMs, a worker too. */
export async function answersReady({ host, port }: Config, withVms: boolean): Promise<boolean> {
  try {
    const response = await fetch(`http://${reachableHost(host)}:${port}/readyz`, {
      signal: AbortSignal.timeout(askTimeoutMs),
    })
    const text = await response.text()
    if (response.status !== 200 || !withVms) return response.status === 200
    return (JSON.parse(text) as { checks?: Record<string, string> }).checks?.['vms'] === 'ok' // our own answer
  } catch {
    return false // not listening yet
  }
}

/** Whether a program of this host takes connections at this port. */
export function takesConnections({ host }: Config, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: reachableHost(host).replaceAll(/[[\]]/g, ''), port, timeout: askTimeoutMs })
    const answer = (taken: boolean): void => {
      socket.destroy()
      resolve(taken)
    }
    socket
      .once('connect', () => answer(true))
      .once('timeout', () => answer(false))
      .once('error', () => answer(false))
  })
}

/** The host name under which a server on that address is reachable from this host. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

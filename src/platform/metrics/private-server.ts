/**
 * The private server of a process, for operators: /metrics for Prometheus, and the probes of Kubernetes. Without settings only
 * this machine reaches it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { register } from 'prom-client'
import type { Config } from '#src/platform/config.ts'
import { log, neverLog } from '#src/platform/log.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import { answerProbe, isProbePath, type AskReadiness } from './readiness.ts'

const portsTried = 50
const requestTimeoutMs = 5_000
/** Prometheus and a few probes have one each. */
const connectionsMax = 64

/** Answers a question at a private path, by its query: yes with 200, no with 403. */
export type PrivateGate = { path: string; isAllowed: (query: URLSearchParams) => boolean }

/** What the server of a process answers: its metrics, whether it is ready, and perhaps a question. */
export type PrivateAnswers = {
  /** Where it listens, and what /metrics wants as `Authorization: Bearer …`; null: nothing. */
  config: Pick<Config, 'metricsHost' | 'metricsToken'>
  readiness: AskReadiness
  gate?: PrivateGate
}

/**
 * Serves /metrics, /livez, /readyz and /healthz on the wanted port or the next free one.
 * @returns the port, and a function to close it.
 * @throws Error when none of 50 ports is free.
 */
export async function serveMetrics(
  wantedPort: number,
  answers: PrivateAnswers,
): Promise<{ port: number; close: () => void }> {
  const { metricsHost, metricsToken } = answers.config
  if (metricsToken !== null) neverLog(metricsToken)
  const limits = { requestTimeout: requestTimeoutMs, connectionsCheckingInterval: requestTimeoutMs / 5 }
  const server = createServer(limits, (request, response) => {
    answer(request, response, answers).catch((error: unknown) => {
      log.error({ err: error }, 'the metrics could not be collected')
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })
  server.maxConnections = connectionsMax
  for (let port = wantedPort; port < wantedPort + portsTried; port++) {
    if (await listens(server, port, metricsHost))
      return {
        port,
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      }
  }
  throw new Error(`no port from ${wantedPort} to ${wantedPort + portsTried - 1} is free for /metrics`)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { config, readiness, gate }: PrivateAnswers,
): Promise<void> {
  const [path = '', text = ''] = (request.url ?? '').split('?', 2)
  const query = new URLSearchParams(text)
  if (request.method !== 'GET' && request.method !== 'HEAD')
    response.writeHead(405, { allow: 'GET, HEAD' }).end('Only GET and HEAD are answered here.\n')
  else if (path === gate?.path) response.writeHead(gate.isAllowed(query) ? 200 : 403).end()
  else if (isProbePath(path)) {
    const { status, headers, body } = await answerProbe(path, query.has('verbose'), readiness)
    response.writeHead(status, headers).end(body)
  } else if (path !== '/metrics') response.writeHead(404).end('The metrics are at /metrics.\n')
  else if (!hasToken(request, config.metricsToken))
    response
      .writeHead(401, { 'www-authenticate': 'Bearer' })
      .end('Send the secret of BERTH_METRICS_TOKEN, as "Authorization: Bearer …".\n')
  else response.writeHead(200, { 'content-type': register.contentType }).end(await register.metrics())
}

/** Whether the request has the token, compared in a time that does not tell where they differ. */
function hasToken({ headers }: IncomingMessage, token: string | null): boolean {
  return token === null || sameDigest(sha256(headers.authorization ?? ''), sha256(`Bearer ${token}`))
}

/** Whether the server could take this port; false when it is busy. */
function listens(server: Server, port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error)
    server.once('error', failed).listen(port, host, () => {
      server.off('error', failed)
      resolve(true)
    })
  })
}

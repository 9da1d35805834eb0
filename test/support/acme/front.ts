/** A plain server before the edge's certificates, on ports of loopback: challenges over HTTP and TLS, and a page over HTTPS. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import { freePort } from '../ports.ts'
import type { EdgeCertificates } from '#src/edge/certificates.ts'

/** Its ports; `certificates` is what it answers with, and may be set later. */
export type Front = {
  httpPort: number
  tlsPort: number
  certificates: EdgeCertificates | null
  /** Host names that get no answer over HTTP. */
  silent: Set<string>
  /** Requests over HTTP wait for it. */
  gate: Promise<void> | null
  /** The host names that were asked for over HTTP. */
  asked: string[]
  close: () => void
}

/** Starts one. */
export async function startFront(): Promise<Front> {
  const prefix = '/.well-known/acme-challenge/'
  const front: Front = {
    httpPort: await freePort(),
    tlsPort: await freePort(),
    certificates: null,
    silent: new Set(),
    gate: null,
    asked: [],
    close,
  }
  const http: Server = createServer((request, response) => {
    const token = request.url?.startsWith(prefix) ? request.url.slice(prefix.length) : ''
    const host = request.headers.host?.split(':')[0] ?? ''
    const answerTo = async (): Promise<void> => {
      front.asked.push(host)
      await front.gate
      const answer = front.silent.has(host) ? null : await front.certificates?.challengeAnswer(host, token)
      response.writeHead(answer ? 200 : 404).end(answer ?? '')
    }
    void answerTo()
  })
  const tls: TlsServer = createTlsServer({
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (name, done) =>
      void Promise.resolve(front.certificates?.challengeContextOf(name) ?? null).then((context) =>
        context ? done(null, context) : done(new Error('no such challenge')),
      ),
  })
  tls.on('tlsClientError', () => undefined)
  http.listen(front.httpPort, '127.0.0.1')
  tls.listen(front.tlsPort, '127.0.0.1')
  await Promise.all([once(http, 'listening'), once(tls, 'listening')])
  function close(): void {
    http.close()
    http.closeAllConnections()
    tls.close()
  }
  return front
}

/** Whether a client that trusts `ca` gets to the name of this certificate; the names that it is for. */
export async function shownNames(certificates: EdgeCertificates, serverName: string, ca: string): Promise<string> {
  const context = await certificates.contextOf(serverName)
  if (!context) throw new Error(`nothing is shown for ${serverName}`)
  const server = createTlsServer({ SNICallback: (_, done) => done(null, context) }, (socket) => socket.end())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number } // it listens on a port
  const socket = connect({ host: '127.0.0.1', port, servername: serverName, ca })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().subjectaltname ?? ''
  } finally {
    socket.destroy()
    server.close()
  }
}

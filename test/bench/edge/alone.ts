/**
 * The ingress of the edge process alone, a process of its own: its code, its limits and its connections to targets, with one
 * route in memory that leads to a server on this host. Words: port, port for HTTPS, port of that server, certificate, key.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createSecureContext } from 'node:tls'
import { openIngress } from '#src/edge/http/ingress.ts'
import { createRoutes } from '#src/edge/http/routes.ts'
import { newUuid } from '#src/platform/ids.ts'
import { benchHost } from './peers.ts'

const [port, securePort, targetPort, certificate = '', key = ''] = process.argv.slice(2)
const secureContext = createSecureContext({ cert: readFileSync(certificate), key: readFileSync(key) })
const routes = createRoutes()
routes.put({
  id: newUuid(),
  organizationId: newUuid(),
  kind: 'domain',
  host: benchHost,
  path: '/',
  access: 'public',
  vmId: newUuid(),
  vmPort: Number(targetPort),
  functionId: null,
  wakes: false,
})
await openIngress({
  host: '127.0.0.1',
  port: Number(port),
  securePortNumber: Number(securePort),
  routes,
  async reach() {
    const socket = connect({ host: '127.0.0.1', port: Number(targetPort), noDelay: true, allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  },
  secureContextOf: async () => secureContext,
})
process.stdout.write('the ingress listens\n')

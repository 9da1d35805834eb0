/**
 * An ingress in a process of its own, so that what holds its thread is told apart from what its clients and targets do. Its
 * routes are in its arguments: `host=port` of targets on this host.
 */
import { watchThread } from '../../support/stalls/watched-thread.ts'
import { openWorld } from './ingress-world.ts'

const world = await openWorld()
for (const route of process.argv.slice(2)) {
  const [host = '', port = ''] = route.split('=')
  world.route(host, Number(port))
}

watchThread({ port: world.ingress.port, securePort: world.ingress.securePort, ca: world.ca })

/**
 * An ingress in a process of its own, so that what holds its thread is told apart from what its clients and targets do. Its
 * routes are in its arguments: `host=port` of targets on this host.
 */
import { openWorld } from './ingress-world.ts'

const everyMs = 1
const world = await openWorld()
for (const route of process.argv.slice(2)) {
  const [host = '', port = ''] = route.split('=')
  world.route(host, Number(port))
}

/** As src/platform/metrics/stalls.ts: processor time of this thread between two turns of its loop. */
let worked = process.threadCpuUsage()
let longestMs = 0
function look(): void {
  const { user, system } = process.threadCpuUsage(worked)
  worked = process.threadCpuUsage()
  longestMs = Math.max(longestMs, (user + system) / 1000)
}
setInterval(look, everyMs)

process.on('message', () => {
  look()
  const { user, system } = process.threadCpuUsage()
  process.send?.({ longestMs, workedMs: (user + system) / 1000 })
  longestMs = 0
})
process.send?.({ port: world.ingress.port, securePort: world.ingress.securePort, ca: world.ca })

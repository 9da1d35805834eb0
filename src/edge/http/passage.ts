/**
 * Connections that pass as they are, by the name in their TLS greeting: their TLS ends at a server in a VM, such as a Postgres,
 * whose clients ask for encryption in its own way first.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { joinConnections } from '#src/drivers/joined-connections.ts'
import { log } from '#src/platform/log.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import { postgresRequest } from './hello.ts'
import { ingressLimits } from './limits.ts'
import { refused } from './metrics.ts'
import { openWithin } from './reaching.ts'
import type { RouteTable } from './routes.ts'
import { targetKey, targetOf, type Reach, type Target } from './targets.ts'
import type { Tenants } from './tenants.ts'

/** Takes a connection, whose greeting has been put back. */
export type Passage = (socket: Socket, asksAsPostgres: boolean) => void

/** What it needs. */
export type PassageOptions = {
  routes: Pick<RouteTable, 'find' | 'watch'>
  reach: Reach
  tenants: Tenants
  limits: Pick<typeof ingressLimits, 'reachSeconds' | 'greetingSeconds' | 'webSocketIdleSeconds'>
}

/** Makes what finds the passage for a name; null where the ingress itself is meant. */
export function createPassage({
  routes,
  reach,
  tenants,
  limits,
}: PassageOptions): (serverName: string) => Passage | null {
  const open = new Map<Socket, string>() // to the id of its route
  routes.watch(({ id }) => {
    for (const [socket, routeId] of open) if (routeId === id) socket.destroy()
  })

  async function lead(socket: Socket, route: Route, target: Target, asksAsPostgres: boolean): Promise<void> {
    const { organizationId } = route
    const key = targetKey(target)
    if (!tenants.enterSocket(organizationId, key)) {
      refused.inc({ reason: 'too-many-passing' })
      return void socket.destroy()
    }
    open.set(socket, route.id)
    socket.once('close', () => {
      open.delete(socket)
      tenants.leaveSocket(organizationId, key)
    })
    const stream = await openWithin(reach, target, limits.reachSeconds * 1000)
    stream.on('error', (error) => log.debug({ err: error }, 'a connection that passes as it is broke'))
    if (socket.destroyed) return void stream.destroy()
    socket.once('close', () => stream.destroy())
    if (asksAsPostgres && !(await isReady(stream, limits.greetingSeconds * 1000))) return void socket.destroy()
    socket.setTimeout(limits.webSocketIdleSeconds * 1000, () => socket.destroy())
    joinConnections(socket, stream)
  }

  return (serverName) => {
    const route = routes.find(serverName, '/')
    if (route?.access !== 'database') return null
    return (socket, asksAsPostgres) => {
      const target = targetOf(route)
      if (!target) return void socket.destroy()
      lead(socket, route, target, asksAsPostgres).catch((error: unknown) => {
        log.debug({ err: error }, 'a connection could not be passed on')
        socket.destroy()
      })
    }
  }
}

/** Asks a Postgres for encryption, which the client has been promised. */
async function isReady(stream: Duplex, limitMs: number): Promise<boolean> {
  stream.write(postgresRequest)
  const [answer] = (await once(stream, 'data', { signal: AbortSignal.timeout(limitMs) })) as [Buffer]
  stream.pause()
  return answer.length === 1 && answer[0] === 'S'.charCodeAt(0)
}

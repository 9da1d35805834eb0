/** The routes in memory: found by host and path without asking Postgres, and kept as they are while it is away. */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { followRows } from '#src/platform/streams/followed-rows.ts'
import { findRouteIds, findRoutes, findRoutesAfter, routesTopic, type Route } from '#src/resources/infra/routes.ts'
import { ingressLimits } from './limits.ts'

/** The routes of all proxies and domains. */
export type RouteTable = {
  /** The route of a host (in lower case, without its port) and the path of a request; undefined when nothing is there. */
  find(host: string, path: string): Route | undefined
  /** Whether anything is at a host, at whatever path. */
  hasHost(host: string): boolean
  /** How many there are. */
  readonly size: number
  /** Calls back with the route before a change: it was removed, or leads elsewhere now. */
  watch(changed: (before: Route) => void): () => void
}

/** A table that follows Postgres. */
export type FollowedRoutes = RouteTable & {
  /** Resolves when all have been read for the first time. */
  ready: Promise<void>
  /**
   * Looks in Postgres for what leads from a host that is unknown here: a notice of it may be on its way. Returns after a
   * short while at the latest, and at once when there were too many such looks.
   */
  catchUp(host: string): Promise<void>
  close(): void
}

/** Follows them for as long as the process lives. */
export function followRoutes({ db, pubsub }: Pick<Services, 'db' | 'pubsub'>): FollowedRoutes {
  const table = createRoutes()
  const followed = followRows<Route>({
    pubsub,
    topic: routesTopic,
    what: 'routes',
    readPage: (afterId) => findRoutesAfter(db, afterId),
    readRows: (ids) => findRoutes(db, ids),
    replace: table.replace,
    put: (id, route) => (route ? table.put(route) : table.remove(id)),
  })
  const mayLook = createLookCount()
  async function lookFor(host: string): Promise<void> {
    const ids = await findRouteIds(db, [host, wildcardOf(host)])
    if (ids.length > 0) await followed.catchUp(ids)
  }
  return {
    ready: followed.ready,
    close: followed.close,
    async catchUp(host) {
      if (!mayLook()) return
      const looked = lookFor(host).catch((error: unknown) => log.debug({ err: error }, 'a host could not be looked up'))
      await Promise.race([looked, pause(ingressLimits.unknownWaitMs, undefined, { ref: false })])
    },
    find: table.find,
    hasHost: table.hasHost,
    get size() {
      return table.size
    },
    watch: table.watch,
  }
}

/** A table that its owner fills. */
export type Routes = RouteTable & {
  put(route: Route): void
  remove(id: string): void
  /** These, and no others. */
  replace(routes: readonly Route[]): void
}

/** The routes of one host by their paths, and the longest of these. */
type HostRoutes = { paths: Map<string, Route>; longest: number }

/** Begins without any. */
export function createRoutes(): Routes {
  const byId = new Map<string, Route>()
  const byHost = new Map<string, HostRoutes>()
  const watchers = new Set<(before: Route) => void>()

  function put(route: Route): void {
    const before = byId.get(route.id)
    if (before) leaveHost(before)
    byId.set(route.id, route)
    const host = byHost.get(route.host) ?? { paths: new Map<string, Route>(), longest: 0 }
    byHost.set(route.host, host)
    const path = prefixOf(route.path)
    host.paths.set(path, route)
    host.longest = Math.max(host.longest, path.length)
    if (before && !leadsTheSame(before, route)) notify(before)
  }
  function leaveHost(route: Route): void {
    const host = byHost.get(route.host)
    const path = prefixOf(route.path)
    if (host?.paths.get(path)?.id !== route.id) return // another one has its place already
    host.paths.delete(path)
    host.longest = Math.max(0, ...[...host.paths.keys()].map(({ length }) => length))
    if (host.paths.size === 0) byHost.delete(route.host)
  }
  function remove(id: string): void {
    const route = byId.get(id)
    if (!route) return
    byId.delete(id)
    leaveHost(route)
    notify(route)
  }
  function notify(before: Route): void {
    for (const changed of watchers) changed(before)
  }
  const hostRoutes = (host: string): HostRoutes | undefined => byHost.get(host) ?? byHost.get(wildcardOf(host))

  return {
    put,
    remove,
    replace(routes) {
      const kept = new Set(routes.map(({ id }) => id))
      for (const id of [...byId.keys()]) if (!kept.has(id)) remove(id)
      for (const route of routes) put(route)
    },
    find(host, path) {
      const found = hostRoutes(host)
      return found && longestIn(found, path)
    },
    hasHost: (host) => hostRoutes(host) !== undefined,
    get size() {
      return byId.size
    },
    watch(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
  }
}

/** Whether one more look fits into this second. */
function createLookCount(): () => boolean {
  let sinceMs = -Infinity
  let looks = 0
  return () => {
    if (performance.now() - sinceMs >= 1000) [sinceMs, looks] = [performance.now(), 0]
    return ++looks <= ingressLimits.unknownLooksPerSecond
  }
}

/** `*.` for the left-most label. */
function wildcardOf(host: string): string {
  const dot = host.indexOf('.')
  return dot < 0 ? '' : `*${host.slice(dot)}`
}

/** A path as a prefix: without the slash at its end, so `/` is empty. */
function prefixOf(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

/** The longest prefix that ends where a segment of the path does. */
function longestIn({ paths, longest }: HostRoutes, path: string): Route | undefined {
  if (longest === 0) return paths.get('')
  let end = path.indexOf('?')
  if (end < 0) end = path.length
  while (end > 0) {
    const found = end <= longest ? paths.get(path.slice(0, end)) : undefined
    if (found) return found
    end = path.lastIndexOf('/', Math.min(end - 1, longest))
  }
  return paths.get('')
}

function leadsTheSame(before: Route, now: Route): boolean {
  return (['host', 'path', 'access', 'vmId', 'vmPort', 'functionId'] as const).every(
    (name) => before[name] === now[name],
  )
}

/**
 * What organizations take of the ingress at once, so that none of them takes what the others need: at most so many, and not more
 * than are still free. So several together, however many they are, leave places for those who have none yet.
 */
/** The limits of organizations; smaller in tests. */
export type TenantLimits = Record<
  'requestsMax' | 'requestsPerOrganization' | 'webSocketsMax' | 'webSocketsPerOrganization' | 'webSocketsPerTarget',
  number
>

/** What is open of each. */
export type Tenants = {
  /** Takes a place for a request of this organization. @returns false when all are taken */
  enter(organizationId: string): boolean
  leave(organizationId: string): void
  /** The same for a web socket, by its target too. */
  enterSocket(organizationId: string, target: string): boolean
  leaveSocket(organizationId: string, target: string): void
  /** How many web sockets there are. */
  readonly sockets: number
}

/** Begins without any. */
export function createTenants(limits: TenantLimits): Tenants {
  const requests = new Map<string, number>()
  const sockets = new Map<string, number>()
  const socketsByTarget = new Map<string, number>()
  let requestsOpen = 0
  let socketsOpen = 0
  return {
    get sockets() {
      return socketsOpen
    },
    enter(organizationId) {
      const most = Math.min(limits.requestsPerOrganization, limits.requestsMax - requestsOpen)
      if (!add(requests, organizationId, most)) return false
      requestsOpen++
      return true
    },
    leave(organizationId) {
      take(requests, organizationId)
      requestsOpen--
    },
    enterSocket(organizationId, target) {
      if (!add(socketsByTarget, target, limits.webSocketsPerTarget)) return false
      const most = Math.min(limits.webSocketsPerOrganization, limits.webSocketsMax - socketsOpen)
      if (!add(sockets, organizationId, most)) {
        take(socketsByTarget, target)
        return false
      }
      socketsOpen++
      return true
    },
    leaveSocket(organizationId, target) {
      take(sockets, organizationId)
      take(socketsByTarget, target)
      socketsOpen--
    },
  }
}

function add(counts: Map<string, number>, key: string, most: number): boolean {
  const count = counts.get(key) ?? 0
  if (count >= most) return false
  counts.set(key, count + 1)
  return true
}

function take(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 1) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

/**
 * The connections of clients: how many there may be, of one address and together. Those that rest make room for new ones, the
 * longest first; so nobody keeps others out by being silent.
 */
import type { Socket } from 'node:net'
import { neighbourhood } from '#src/drivers/addresses.ts'
import { ingressLimits } from './limits.ts'
import { refused } from './metrics.ts'
import type { Peer } from './peers.ts'

/** The limits of connections; smaller in tests. */
export type ConnectionLimits = Pick<
  typeof ingressLimits,
  'connectionsMax' | 'connectionsPerAddress' | 'unprovenPerAddress'
>

/** The place of a connection. */
export type Place = {
  /** A request has begun, and all have been answered. */
  busy(): void
  resting(): void
}

/** Those that are open. */
export type ClientConnections = {
  /** Lets a connection in, until it closes; null when it must leave. */
  enter(socket: Socket, peer: Peer): Place | null
  /** Cuts those that rest; or all. */
  cutResting(): void
  cutAll(): void
  readonly size: number
}

type Room = { all: number; unproven: Set<Socket>; resting: Set<Socket> }

/** Begins without any. */
export function createClientConnections(limits: ConnectionLimits): ClientConnections {
  const all = new Set<Socket>()
  const resting = new Set<Socket>() // the longest first, as in each of the sets below
  const rooms = new Map<string, Room>()

  function makeWay(crowd: Set<Socket>): boolean {
    const [longest] = crowd
    if (!longest) return false
    refused.inc({ reason: 'made-room' })
    longest.destroy()
    leave(longest)
    return true
  }
  const places = new Map<Socket, () => void>()
  function leave(socket: Socket): void {
    places.get(socket)?.()
  }

  return {
    get size() {
      return all.size
    },
    enter(socket, { address, isTrusted }) {
      const key = neighbourhood(address)
      const room = rooms.get(key) ?? { all: 0, unproven: new Set(), resting: new Set() }
      const most = isTrusted ? limits.connectionsMax : limits.connectionsPerAddress
      if (room.unproven.size >= limits.unprovenPerAddress && !isTrusted) makeWay(room.unproven)
      if ((room.all >= most && !makeWay(room.resting)) || (all.size >= limits.connectionsMax && !makeWay(resting))) {
        refused.inc({ reason: 'too-many-connections' })
        socket.destroy()
        return null
      }
      rooms.set(key, room)
      room.all++
      for (const crowd of [all, resting, room.unproven, room.resting]) crowd.add(socket)
      places.set(socket, () => {
        places.delete(socket)
        for (const crowd of [all, resting, room.unproven, room.resting]) crowd.delete(socket)
        if (--room.all === 0 && rooms.get(key) === room) rooms.delete(key)
      })
      socket.once('close', () => leave(socket))
      return {
        busy() {
          resting.delete(socket)
          room.resting.delete(socket)
          room.unproven.delete(socket)
        },
        resting() {
          if (socket.destroyed) return
          resting.add(socket)
          room.resting.add(socket)
        },
      }
    },
    cutResting() {
      for (const socket of resting) socket.destroy()
    },
    cutAll() {
      for (const socket of all) socket.destroy()
    },
  }
}

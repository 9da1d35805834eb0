/**
 * How many connections there may be: of one address and together. Those that have not logged in have little room: the one
 * that has said nothing for longest makes way for the next, so nobody keeps others out by being silent.
 */
import type { Socket } from 'node:net'
import { neighbourhood } from '#src/drivers/addresses.ts'
import { limits } from '#src/platform/limits.ts'

/** Those that are open. */
export type OpenConnections = {
  /**
   * Lets a connection in, until it closes; null when it must leave. It is cut when it has not proved itself in time.
   * @param from who is at its other end, when that is no address, and how many of them there may be.
   */
  enter(socket: Socket, from?: { address: string; clientsMax: number }): Seat | null
  /** Cuts those that have not logged in; or all. */
  cutUnproved(): void
  cutAll(): void
  /** Resolves when none is open. */
  allClosed(): Promise<void>
}

/** The place of a connection. */
export type Seat = { address: string; proved: () => void }

/** Begins without any. */
export function openConnections(): OpenConnections {
  const all = new Set<Socket>()
  const unproved = new Set<Socket>() // the oldest first
  let waiting: (() => void)[] = []
  const byAddress = new Map<string, { all: number; unproved: Set<Socket> }>()

  function leave(socket: Socket, address: string): void {
    const room = byAddress.get(address)
    all.delete(socket)
    unproved.delete(socket)
    room?.unproved.delete(socket)
    if (room && --room.all === 0) byAddress.delete(address)
    if (all.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }
  function makeWay(crowd: Set<Socket>, most: number): void {
    for (const oldest of crowd) {
      if (crowd.size <= most) return
      crowd.delete(oldest)
      oldest.destroy()
    }
  }

  return {
    enter(socket, from) {
      const address = from?.address ?? neighbourhood(socket.remoteAddress ?? '')
      const clientsMax = from?.clientsMax ?? limits.postgresClientsPerAddress
      const room = byAddress.get(address) ?? { all: 0, unproved: new Set() }
      if (room.all >= clientsMax || all.size >= limits.postgresClientsMax) return null
      byAddress.set(address, room)
      room.all++
      all.add(socket)
      unproved.add(socket)
      room.unproved.add(socket)
      makeWay(room.unproved, limits.postgresUnprovenPerAddress)
      makeWay(unproved, limits.postgresUnprovenMax)
      const late = setTimeout(() => socket.destroy(), limits.postgresLoginSeconds * 1000).unref()
      socket.once('close', () => {
        clearTimeout(late)
        leave(socket, address)
      })
      return {
        address,
        proved() {
          clearTimeout(late)
          unproved.delete(socket)
          room.unproved.delete(socket)
        },
      }
    },
    cutUnproved: () => makeWay(unproved, 0),
    cutAll() {
      for (const socket of all) socket.destroy()
    },
    allClosed: () => (all.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}

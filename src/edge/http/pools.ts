/** Connections to targets: kept for the next request, and shared fairly by those who wait. */
import type { Duplex } from 'node:stream'
import { createPieceTurns, type PieceTurns } from '#src/drivers/small-pieces.ts'
import { log } from '#src/platform/log.ts'
import type { Exchange } from './exchanges.ts'
import { ingressLimits } from './limits.ts'
import { openWithin, reachLimitSeconds } from './reaching.ts'
import { TargetConnection, type ConnectionLimits, type ConnectionOwner } from './target-connections.ts'
import { refusalFrom, targetKey, TargetRefusal, type Reach, type Target } from './targets.ts'

/** The limits of pools; smaller in tests. */
export type PoolLimits = ConnectionLimits &
  Pick<typeof ingressLimits, 'connectionsPerTarget' | 'waitingPerTarget'> & { reachSeconds: number }

/** The connections to all targets. */
export type Pools = {
  of(target: Target): Pool
  /** A function, or with null each, answers elsewhere now: its connections take no further requests. */
  retire(functionId: string | null): void
  counts(): { targetConnections: number; waiting: number }
  /** Of those that answer in many small chunks. */
  readonly turns: Pick<PieceTurns, 'pay'>
  close(): void
}

const sweepMs = 1_000

/** Begins without any. */
export function createPools(reach: Reach, limits: PoolLimits, everyMs = sweepMs): Pools {
  const pools = new Map<string, Pool>()
  const { smallAnswerPiecesPerSecond: smallPiecesPerSecond } = ingressLimits
  const turns = createPieceTurns({ ...ingressLimits, smallPiecesPerSecond })
  const sweeping = setInterval(() => {
    const nowMs = performance.now()
    for (const [key, pool] of pools)
      if (pool.sweep(nowMs)) {
        pool.isDropped = true
        pools.delete(key)
      }
  }, everyMs).unref()
  return {
    turns,
    of(target) {
      const wakes = target.kind === 'vm' && target.wakes
      const key = `${targetKey(target)}${wakes ? ' wakes' : ''}`
      const known = pools.get(key)
      if (known) return known
      const reachSeconds = reachLimitSeconds(target, limits)
      const made = new Pool(
        () => openWithin(reach, target, reachSeconds * 1000),
        { ...limits, reachSeconds },
        target.kind === 'function',
        turns,
      )
      pools.set(key, made)
      return made
    },
    retire(functionId) {
      if (functionId !== null) return pools.get(functionId)?.retire()
      for (const pool of pools.values()) if (pool.isOfFunction) pool.retire()
    },
    counts: () => ({
      targetConnections: [...pools.values()].reduce((sum, pool) => sum + pool.size, 0),
      waiting: [...pools.values()].reduce((sum, pool) => sum + pool.waiting, 0),
    }),
    close() {
      clearInterval(sweeping)
      for (const pool of pools.values()) pool.close()
    },
  }
}

/** The connections to one target, and those who wait for one. */
export class Pool implements ConnectionOwner {
  readonly #open: () => Promise<Duplex>
  readonly #limits: PoolLimits
  readonly #all = new Set<TargetConnection>()
  readonly #idle: TargetConnection[] = []
  readonly #waiting = new Set<Exchange>()
  /** Those that lead where the target is no more, and finish what is under way. */
  readonly #retired = new Set<TargetConnection>()
  readonly isOfFunction: boolean
  #opening = 0
  #moves = 0
  /** Whether it was empty, and another one has taken its place. */
  isDropped = false

  readonly turns: Pick<PieceTurns, 'pay'>

  constructor(open: () => Promise<Duplex>, limits: PoolLimits, isOfFunction: boolean, turns: Pick<PieceTurns, 'pay'>) {
    this.turns = turns
    this.#open = open
    this.#limits = limits
    this.isOfFunction = isOfFunction
  }

  get size(): number {
    return this.#all.size + this.#retired.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Has a request answered, as soon as there is a connection for it. */
  give(exchange: Exchange): void {
    const free = this.#idle.pop()
    if (free) return free.serve(exchange)
    if (this.#waiting.size >= this.#limits.waitingPerTarget)
      return exchange.fail(
        new TargetRefusal('busy', 'The service has too many requests waiting. Try again in a moment.', 1),
      )
    this.#waiting.add(exchange)
    this.#openMore()
  }

  /** Whoever waits no more. */
  leave(exchange: Exchange): void {
    this.#waiting.delete(exchange)
  }

  /** Until a first connection is there, one is tried: a target that must wake up is woken once. */
  #openMore(): void {
    const most = this.#all.size === 0 ? 1 : this.#waiting.size
    while (this.#opening < most && this.#all.size + this.#opening < this.#limits.connectionsPerTarget) {
      this.#opening++
      const moves = this.#moves
      this.#open().then(
        (stream) => this.#opened(stream, moves),
        (error: unknown) => this.#failed(error),
      )
    }
  }

  #opened(stream: Duplex, moves: number): void {
    this.#opening--
    if (moves !== this.#moves) {
      stream.destroy() // it may lead to where the target was
      if (this.#waiting.size > 0) this.#openMore()
      return
    }
    const connection = new TargetConnection(stream, this)
    this.#all.add(connection)
    this.free(connection)
    if (this.#waiting.size > 0) this.#openMore()
  }

  #failed(error: unknown): void {
    this.#opening--
    if (!(error instanceof TargetRefusal)) log.debug({ err: error }, 'a target could not be reached')
    if (this.#all.size > 0) return // those who wait get one of these
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const exchange of waiting) exchange.fail(refusalFrom(error))
  }

  /** A connection is free: for whoever waits, or until somebody comes. */
  free(connection: TargetConnection): void {
    const [next] = this.#waiting
    if (!next) return void this.#idle.push(connection)
    this.#waiting.delete(next)
    connection.serve(next)
  }

  /** The target is somewhere else: what is under way goes on, and everything new goes there. */
  retire(): void {
    this.#moves++
    for (const connection of this.#all) {
      this.#retired.add(connection)
      connection.retire()
    }
    this.#all.clear()
    this.#idle.length = 0
    if (this.#waiting.size > 0) this.#openMore()
  }

  /** A connection has gone. */
  gone(connection: TargetConnection): void {
    if (this.#retired.delete(connection)) return
    this.#all.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#waiting.size > 0) this.#openMore()
  }

  /** Ends what takes too long. @returns whether nobody needs the pool */
  sweep(nowMs: number): boolean {
    for (const exchange of this.#waiting)
      if (nowMs - exchange.begunMs > (this.#limits.waitingSeconds + this.#limits.reachSeconds) * 1000) {
        this.#waiting.delete(exchange)
        exchange.fail(new TargetRefusal('busy', 'The service is busy with other requests. Try again in a moment.', 1))
      }
    for (const open of [this.#all, this.#retired]) for (const connection of open) connection.look(nowMs, this.#limits)
    return this.size + this.#opening + this.#waiting.size === 0
  }

  close(): void {
    for (const open of [this.#all, this.#retired]) for (const connection of open) connection.destroy()
  }
}

/** Connections to targets: kept for the next request, and shared fairly by those who wait. */
import type { Duplex } from 'node:stream'
import { ingressLimits } from '#src/platform/limits/ingress.ts'
import { log } from '#src/platform/log.ts'
import { AnswerReader, BadAnswer } from './answers.ts'
import type { Carrier, Exchange, ExchangeLimits } from './exchanges.ts'
import { reachSeconds } from './metrics.ts'
import { refusalFrom, targetKey, TargetRefusal, type Reach, type Target } from './targets.ts'

/** The limits of pools; smaller in tests. */
export type PoolLimits = ExchangeLimits &
  Pick<typeof ingressLimits, 'connectionsPerTarget' | 'waitingPerTarget' | 'targetIdleSeconds' | 'reachSeconds'>

/** The connections to all targets. */
export type Pools = {
  of(target: Target): Pool
  counts(): { targetConnections: number; waiting: number }
  close(): void
}

const sweepMs = 1_000

/** Begins without any. */
export function createPools(reach: Reach, limits: PoolLimits, everyMs = sweepMs): Pools {
  const pools = new Map<string, Pool>()
  const sweeping = setInterval(() => {
    const nowMs = performance.now()
    for (const [key, pool] of pools)
      if (pool.sweep(nowMs)) {
        pool.isDropped = true
        pools.delete(key)
      }
  }, everyMs).unref()
  return {
    of(target) {
      const wakes = target.kind === 'vm' && target.wakes
      const key = `${targetKey(target)}${wakes ? ' wakes' : ''}`
      const known = pools.get(key)
      if (known) return known
      const made = new Pool(() => openWithin(reach, target, limits.reachSeconds * 1000), limits)
      pools.set(key, made)
      return made
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

/** Reaches a target in time. @throws as Reach; TargetRefusal when it takes too long */
export async function openWithin(reach: Reach, target: Target, limitMs: number): Promise<Duplex> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const sinceMs = performance.now()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    reject(new TargetRefusal('failing', 'The service did not come up in time. Try again in a moment.', 5))
  }, limitMs)
  const opening = reach(target)
  opening.then((stream) => isLate && stream.destroy()).catch(() => undefined) // whoever waits has the error
  try {
    const stream = await Promise.race([opening, late])
    reachSeconds.observe((performance.now() - sinceMs) / 1000)
    return stream
  } finally {
    clearTimeout(timer)
  }
}

/** The connections to one target, and those who wait for one. */
export class Pool {
  readonly #open: () => Promise<Duplex>
  readonly #limits: PoolLimits
  readonly #all = new Set<TargetConnection>()
  readonly #idle: TargetConnection[] = []
  readonly #waiting = new Set<Exchange>()
  #opening = 0
  /** Whether it was empty, and another one has taken its place. */
  isDropped = false

  constructor(open: () => Promise<Duplex>, limits: PoolLimits) {
    this.#open = open
    this.#limits = limits
  }

  get size(): number {
    return this.#all.size
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
      this.#open().then(
        (stream) => this.#opened(stream),
        (error: unknown) => this.#failed(error),
      )
    }
  }

  #opened(stream: Duplex): void {
    this.#opening--
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

  /** A connection has gone. */
  gone(connection: TargetConnection): void {
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
    for (const connection of this.#all) connection.look(nowMs, this.#limits)
    return this.#all.size + this.#opening + this.#waiting.size === 0
  }

  close(): void {
    for (const connection of this.#all) connection.destroy()
  }
}

/** One connection to a target, with one request at a time. */
export class TargetConnection implements Carrier {
  readonly stream: Duplex
  readonly #pool: Pool
  readonly #reader = new AnswerReader()
  #exchange: Exchange | null = null
  #keepsAlive = true
  #isSent = false
  #isUsed = false
  #idleSinceMs = performance.now()
  #isGone = false

  constructor(stream: Duplex, pool: Pool) {
    this.stream = stream
    this.#pool = pool
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    stream.on('drain', () => this.#exchange?.drained())
    stream.on('end', () => this.#ended())
    stream.on('error', (error) => log.debug({ err: error }, 'a connection to a target broke'))
    stream.on('close', () => this.#ended())
  }

  serve(exchange: Exchange): void {
    this.#exchange = exchange
    this.#isSent = false
    this.#reader.expect(exchange)
    exchange.sendOn(this)
  }

  sent(): void {
    this.#isSent = true
  }

  #take(bytes: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return this.destroy() // nobody asked for anything
    try {
      const wantsMore = this.#reader.take(bytes)
      if (this.#reader.isDone) return this.#settle()
      if (!wantsMore) this.stream.pause()
      exchange.flush()
    } catch (error) {
      this.#broke(error)
    }
  }

  /** The answer has ended: the connection is free for the next request, or closed. */
  #settle(): void {
    const exchange = this.#exchange
    if (!exchange) return
    const isClean = this.#reader.keepsAlive && this.#keepsAlive && this.#reader.rest.length === 0
    this.#exchange = null
    exchange.leave()
    if (!isClean || !this.#isSent || this.#isGone) return this.destroy()
    this.#isUsed = true
    this.#idleSinceMs = performance.now()
    this.#pool.free(this)
  }

  #broke(error: unknown): void {
    log.debug({ err: error }, 'a target answered what is no HTTP')
    const exchange = this.#exchange
    this.#exchange = null
    this.destroy()
    exchange?.fail(new TargetRefusal('failing', 'The service answered what is no proper HTTP.'))
  }

  #ended(): void {
    this.#keepsAlive = false
    const exchange = this.#exchange
    const isStale = this.#isUsed && this.#reader.isUntouched && exchange?.canRetry
    try {
      this.#reader.end()
    } catch (error) {
      if (!isStale || !(error instanceof BadAnswer)) {
        if (exchange) this.#broke(error)
        return this.destroy()
      }
      // It was closed while the request was on its way: another one may do.
      this.#exchange = null
      exchange.leave()
      exchange.isRetried = true
      this.destroy()
      return this.#pool.give(exchange)
    }
    if (exchange) this.#settle()
    this.destroy()
  }

  destroy(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.stream.destroy()
    this.#exchange = null
    this.#pool.gone(this)
  }

  look(nowMs: number, limits: PoolLimits): void {
    const exchange = this.#exchange
    if (!exchange) {
      if (nowMs - this.#idleSinceMs > limits.targetIdleSeconds * 1000) this.destroy()
      return
    }
    const state = exchange.look(nowMs, limits)
    if (state === 'fine') return
    this.destroy()
    if (state === 'cut') exchange.cut()
    else exchange.fail(state)
  }
}

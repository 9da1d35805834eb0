/**
 * Connections to targets: each takes one request after the other, until either end closes it. Not undici's, which was tried:
 * with them, and with headers that were never put together, the ingress reached 0.45 times nginx, and with these 0.66, by
 * `npm run bench -- ingress`. The goal is 0.50.
 */
import type { Duplex } from 'node:stream'
import type { PieceTurns } from '#src/drivers/small-pieces.ts'
import { log } from '#src/platform/log.ts'
import { BadAnswer } from './answer-heads.ts'
import { AnswerReader } from './answers.ts'
import type { Carrier, Exchange, ExchangeLimits } from './exchanges.ts'
import type { ingressLimits } from './limits.ts'
import { TargetFlow } from './target-flow.ts'
import { TargetRefusal } from './targets.ts'

/** The limits of one; smaller in tests. */
export type ConnectionLimits = ExchangeLimits & Pick<typeof ingressLimits, 'targetIdleSeconds'>

/** Whoever has connections to a target, and hears of them. `turns`: of those that answer in many small chunks. */
export type ConnectionOwner = {
  readonly turns: Pick<PieceTurns, 'pay'>
  /** It is free for the next request. */
  free(connection: TargetConnection): void
  gone(connection: TargetConnection): void
  /** A request that its connection did not take. */
  give(exchange: Exchange): void
}

/** One connection to a target, with one request at a time. */
export class TargetConnection implements Carrier {
  readonly stream: Duplex
  readonly #pool: ConnectionOwner
  readonly #reader = new AnswerReader()
  #exchange: Exchange | null = null
  #keepsAlive = true
  #isSent = false
  readonly #flow: TargetFlow
  #isUsed = false
  #idleSinceMs = performance.now()
  #isGone = false

  constructor(stream: Duplex, pool: ConnectionOwner) {
    this.stream = stream
    this.#pool = pool
    this.#flow = new TargetFlow(stream, pool.turns)
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

  /** It takes no further request: it ends, or else with the one that it has. */
  retire(): void {
    this.#keepsAlive = false
    if (!this.#exchange) this.destroy()
  }

  #take(bytes: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return this.destroy() // nobody asked for anything
    try {
      this.#flow.took(this.#reader.take(bytes), this.#reader)
      if (this.#reader.isDone) return this.#settle()
      exchange.flush()
    } catch (error) {
      this.#broke(error)
    }
  }

  resume(): void {
    this.#flow.resume()
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

  look(nowMs: number, limits: ConnectionLimits): void {
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

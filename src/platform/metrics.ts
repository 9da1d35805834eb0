/** This process's metrics for Prometheus. Labels are route templates and codes, never ids. */
import type { Server } from 'node:http'
import { Counter, Gauge, Histogram, collectDefaultMetrics } from 'prom-client'
import type { Database } from './postgres.ts'

collectDefaultMetrics()

/** How long requests took, by route template. */
export const requestSeconds = new Histogram({
  name: 'berth_http_request_duration_seconds',
  help: 'How long requests took, by route template.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})
/** Event streams and subscriptions that are open now: `sse`, `graphql-sse`, `websocket`, `websocket-operation`, `chat`. */
export const openStreams = new Gauge({
  name: 'berth_open_streams',
  help: 'Event streams and subscriptions that are open.',
  labelNames: ['kind'],
})
/** Requests refused because a rate limit was reached. */
export const rateLimited = new Counter({
  name: 'berth_rate_limited_total',
  help: 'Requests refused by a rate limit.',
  labelNames: ['surface'],
})

/** Requests to models that were refused for lack of a plan, credits, or budget. */
export const creditRefusals = new Counter({
  name: 'berth_credit_refusals_total',
  help: 'Requests to models that were refused for lack of a plan, credits or budget, by reason.',
  labelNames: ['reason'],
})
/** Builds that this process finished. */
export const buildsFinished = new Counter({
  name: 'berth_builds_finished_total',
  help: 'Builds that this process finished, by status.',
  labelNames: ['status'],
})

type Tokens = {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
}
/** Tokens by model since the metrics were last read. */
const tokensSince = new Map<string, Tokens>()
const directions = {
  input: 'inputTokens',
  output: 'outputTokens',
  cache_read: 'cacheReadTokens',
  cache_write: 'cacheWriteTokens',
  reasoning: 'reasoningTokens',
} as const

new Counter({
  name: 'berth_model_tokens_total',
  help: 'Tokens of this process’s requests to models. cache_read and cache_write are parts of input, reasoning is part of output.',
  labelNames: ['direction', 'model'],
  collect() {
    for (const [model, tokens] of tokensSince)
      for (const [direction, name] of Object.entries(directions)) this.inc({ direction, model }, tokens[name])
    tokensSince.clear()
  },
})

/** Counts a request's tokens by its model, which is in the catalog. A hot path: they are summed here until they are read. */
export function countTokens(model: string, usage: Tokens): void {
  const sum = tokensSince.get(model)
  if (!sum) return void tokensSince.set(model, { ...usage })
  sum.inputTokens += usage.inputTokens
  sum.outputTokens += usage.outputTokens
  sum.cacheReadTokens += usage.cacheReadTokens
  sum.cacheWriteTokens += usage.cacheWriteTokens
  sum.reasoningTokens += usage.reasoningTokens
}

/** Reports how many connections this server has open; of several in a process, the one given last. */
export function reportServer(server: Server): void {
  watchedServer = server
}
let watchedServer: Server | null = null
new Gauge({
  name: 'berth_http_connections',
  help: 'Open connections to the public port of this process.',
  async collect() {
    this.set(
      watchedServer?.listening
        ? await new Promise<number>((resolve) =>
            watchedServer?.getConnections((error, count) => resolve(error ? 0 : count)),
          )
        : 0,
    )
  },
})

/** Reports the use of this process's database connections. The pool given last is the one reported. */
export function reportConnections({ pool }: Database): void {
  watched = pool
}
let watched: Database['pool'] | null = null
/** The pool lists each request until its next turn, also one that a free connection takes then, as this scrape's own. */
function waitingFor({ idleCount, totalCount, waitingCount, options }: Database['pool']): number {
  return Math.max(0, waitingCount - idleCount - (options.max - totalCount))
}
new Gauge({
  name: 'berth_database_connections',
  help: 'Database connections of this process; waiting: requests that are waiting for one.',
  labelNames: ['state'],
  collect() {
    this.set({ state: 'open' }, watched?.totalCount ?? 0)
    this.set({ state: 'idle' }, watched?.idleCount ?? 0)
    this.set({ state: 'waiting' }, watched ? waitingFor(watched) : 0)
  },
})

/** Connections that were refused because there were too many, from one address or together. */
export const connectionsRefused = new Counter({
  name: 'berth_connections_refused_total',
  help: 'Connections refused because there were too many, from one address or together.',
})

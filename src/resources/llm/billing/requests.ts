/** A running request to a model: its reservation, its usage, and how it is written to the ledger. */
import type { Usage } from '#src/drivers/models/model.ts'
import { nowMs } from '#src/platform/clock.ts'
import { newUuid } from '#src/platform/ids.ts'
import { countTokens } from '#src/platform/metrics.ts'
import type { Account, Purse } from './accounts.ts'
import { costNanoUsd, noUsage } from './costs.ts'
import type { LedgerRow, Payer, RequestRoute, RequestStatus } from './ledger.ts'
import type { Pricing } from '#src/resources/llm/models/rows.ts'

/** More than any model accepts: a larger count is a fault of the provider. */
const tokensMax = 1_000_000_000

/** The request to open: its payer, model and route, the agent's session that made it, if any, and its maximum cost. */
export type InferenceOrder = {
  payer: Payer
  model: string
  pricing: Pricing
  route: RequestRoute
  sessionId?: string | null
  maxCostNanoUsd: number
}

/** A running request. Its methods are those of `Metered`. */
export class RunningRequest implements LedgerRow {
  readonly id = newUuid()
  readonly startedMs = nowMs()
  readonly payer: Payer
  readonly model: string
  readonly route: RequestRoute
  readonly sessionId: string | null
  endedMs = 0
  status: RequestStatus = 'open'
  upstream: string | null = null
  usage: Usage = noUsage
  costNanoUsd = 0
  written: LedgerRow['written'] = null
  batch: LedgerRow['batch'] = null
  /** Whether there is usage that the ledger does not have. */
  changed = false
  #pricing: Pricing
  #reservedNanoUsd: number
  #account: Account
  #key: Purse | null
  #onEnd: (ended: RunningRequest) => Promise<void>
  #done: Promise<void> | null = null
  #usedSoFar: (() => Usage) | null = null

  constructor(
    { payer, model, route, sessionId = null, pricing, maxCostNanoUsd }: InferenceOrder,
    account: Account,
    key: Purse | null,
    onEnd: (ended: RunningRequest) => Promise<void>,
  ) {
    this.payer = payer
    this.model = model
    this.route = route
    this.sessionId = sessionId
    this.#pricing = pricing
    this.#reservedNanoUsd = maxCostNanoUsd
    this.#account = account
    this.#key = key
    this.#onEnd = onEnd
    account.reserve(maxCostNanoUsd)
    key?.reserve(maxCostNanoUsd)
  }

  progress(upstream: string, usedSoFar: () => Usage): void {
    if (this.#done) return
    this.upstream = upstream
    this.#usedSoFar = usedSoFar
    this.changed = true
  }

  /** What it has used so far. */
  used(): Usage {
    return this.#usedSoFar?.() ?? this.usage
  }

  finish(outcome: RequestStatus, upstream: string | null, usage: Usage): Promise<void> {
    return this.end(outcome, upstream, usage)
  }

  /** As finish, with any status. */
  end(status: RequestStatus, upstream: string | null, usage: Usage): Promise<void> {
    if (this.#done) return this.#done
    this.status = status
    this.upstream = upstream
    this.usage = usage
    this.endedMs = Math.max(nowMs(), this.startedMs)
    this.charge()
    countTokens(this.model, this.usage)
    this.#account.usedAtMs = performance.now()
    return (this.#done = this.#onEnd(this))
  }

  /**
   * Called before it is written: moves its cost so far from the reservation to what is owed; at its end, the rest of
   * the reservation is released.
   */
  charge(): void {
    this.changed = false
    this.usage = soundUsage(this.status === 'open' ? this.used() : this.usage)
    const cost = costNanoUsd(this.#pricing, this.usage)
    const more = cost - this.costNanoUsd
    this.costNanoUsd = cost
    const free = this.status === 'open' ? Math.min(Math.max(more, 0), this.#reservedNanoUsd) : this.#reservedNanoUsd
    this.#reservedNanoUsd -= free
    this.#account.charge(more, free)
    this.#key?.charge(more, free)
  }

  /** Called when so much more of its cost is written. */
  paid(nanoUsd: number): void {
    this.#account.paid(nanoUsd)
    this.#key?.paid(nanoUsd)
  }
}

/** The same tokens as whole numbers that can be summed, whatever a provider reported. */
function soundUsage(usage: Usage): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  if (
    isSound(inputTokens) &&
    isSound(outputTokens) &&
    isSound(cacheReadTokens) &&
    isSound(cacheWriteTokens) &&
    isSound(reasoningTokens)
  )
    return usage
  return {
    inputTokens: sound(inputTokens),
    outputTokens: sound(outputTokens),
    cacheReadTokens: sound(cacheReadTokens),
    cacheWriteTokens: sound(cacheWriteTokens),
    reasoningTokens: sound(reasoningTokens),
  }
}

function isSound(tokens: number): boolean {
  return Number.isInteger(tokens) && tokens >= 0 && tokens <= tokensMax
}

function sound(tokens: number): number {
  return tokens > 0 ? Math.min(Math.floor(tokens), tokensMax) : 0
}

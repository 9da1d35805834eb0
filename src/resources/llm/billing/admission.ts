/** Admits a request for which the database must be asked first: for the plan, for a budget, or for more credits. */
import { BerthError } from '#src/platform/errors.ts'
import { creditRefusals } from '#src/platform/metrics.ts'
import { databaseAway, isDatabaseAway, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Account, Purse } from './accounts.ts'
import { dollars } from './costs.ts'
import { creditsWantedTopic, type Leases } from './leases.ts'
import type { InferenceOrder, RunningRequest } from './requests.ts'
import type { BillingState } from './state.ts'

/** Other requests may be served between a reading and its use; then it is read again, at most this often. */
const roundsMax = 5
/**
 * How often other processes are asked for credits that they hold but do not need, and how long they have to return
 * them.
 */
const wantedTries = 3
const wantedWaitMs = 50

/**
 * Opens the request after reading from the database.
 * @throws BerthError 402 no_active_plan, insufficient_credits, budget_exceeded; 503 while the database is unreachable.
 */
export async function admit(
  db: Db,
  state: BillingState,
  order: InferenceOrder,
  account: Account,
): Promise<RunningRequest> {
  try {
    return await ask(db, state, order, account)
  } catch (error) {
    if (error instanceof BerthError && error.status === 402) creditRefusals.inc({ reason: error.code })
    if (isDatabaseAway(error)) throw databaseAway()
    throw error
  }
}

async function ask(
  db: Db,
  { accounts, leases, writer, begin }: BillingState,
  order: InferenceOrder,
  account: Account,
): Promise<RunningRequest> {
  const {
    payer: { keyId },
    maxCostNanoUsd,
  } = order
  const priced = maxCostNanoUsd > 0
  await accounts.read(account, priced ? keyId : null)
  if (account.plan === null)
    throw new BerthError(
      'no_active_plan',
      'This organization has no plan, so it cannot use models. Ask the operator of this installation: npm run -s credits -- plan --org <name> --plan self_hosted',
    )
  if (!priced) return begin(order, account, null)
  const key = keyId === null ? null : account.key(keyId)
  if (!writer.trusted) await writer.checkIn()
  for (let round = 0; round < roundsMax; round++) {
    refuseOverBudget(account, key, maxCostNanoUsd)
    if (account.leaseLeft >= maxCostNanoUsd) return begin(order, account, key)
    // One after another, so that the lease which the first one takes also serves the others.
    const turn = account.turn.then(() => fetchLease(db, leases, account, maxCostNanoUsd))
    account.turn = turn.catch(() => undefined) // whoever awaits it gets the error
    const opened = await turn.then(() =>
      account.leftFor(key) >= maxCostNanoUsd ? { request: begin(order, account, key) } : null,
    )
    if (opened) return opened.request
  }
  throw new BerthError(
    'service_unavailable',
    'Too many requests of this organization are waiting for credits. Try again in a moment.',
    { retryAfterSeconds: 1 },
  )
}

/**
 * Takes as many credits as are missing. If other processes hold them, asks those to return what they do not need.
 * @throws BerthError insufficient_credits.
 */
async function fetchLease(db: Db, leases: Leases, account: Account, maxCostNanoUsd: number): Promise<void> {
  for (let tries = 1; account.leaseLeft < maxCostNanoUsd; tries++) {
    const refused = await leases.take(account, maxCostNanoUsd)
    if (!refused) return
    if (!refused.isReachable || tries > wantedTries) throw insufficient(maxCostNanoUsd, refused.leftNanoUsd)
    publish(db, creditsWantedTopic, account.organizationId)
    await new Promise((resolve) => setTimeout(resolve, wantedWaitMs))
  }
}

function insufficient(maxCostNanoUsd: number, leftNanoUsd: number): BerthError {
  return new BerthError(
    'insufficient_credits',
    `This request may cost up to ${dollars(maxCostNanoUsd)}, and ${dollars(Math.max(0, leftNanoUsd))} of credits are left. Request fewer tokens (max_tokens), or have the operator grant more: npm run -s credits -- grant --org <name> --usd 25`,
  )
}

function refuseOverBudget(account: Account, key: Purse | null, maxCostNanoUsd: number): void {
  for (const purse of [key, account]) {
    if (purse === null || purse.budgetLeft >= maxCostNanoUsd) continue
    const whose = purse === key ? 'key' : 'organization'
    const left = Math.max(0, purse.budgetLeft)
    throw new BerthError(
      'budget_exceeded',
      `This ${whose} may spend ${dollars(purse.limitNanoUsd ?? 0)} a month, ${dollars(left)} of it is left, and this request may cost up to ${dollars(maxCostNanoUsd)}. Request fewer tokens (max_tokens), or have an admin raise the budget.`,
    )
  }
}

/** Lets a request in when the database must be asked first: for the plan, for a budget, or for more of the credits. */
import { BerthError } from '#src/platform/errors.ts'
import { creditRefusals } from '#src/platform/metrics.ts'
import { databaseAway, isDatabaseAway, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { budgetLeft, keyPurse, leaseLeft, type Account, type Accounts, type Purse } from './accounts.ts'
import { dollars } from './costs.ts'
import { creditsWantedTopic, takeLease } from '#src/resources/llm/billing/leases.ts'
import type { LedgerWriter } from './ledger-writer.ts'
import type { InferenceOrder } from './running-requests.ts'

/** What admitting needs; `begin` sets aside what the request may cost. */
export type AdmissionParts<Opened> = {
  db: Db
  accounts: Accounts
  writer: LedgerWriter
  begin: (order: InferenceOrder, account: Account, key: Purse | null) => Opened
}

/** Others may be served between the answer and its use; then it is asked again, so often at most. */
const roundsMax = 5
/** How often other processes are asked for credits that they hold and do not need, and how long they have. */
const wantedTries = 3
const wantedWaitMs = 50

/** What may be set aside right now without asking anybody; below zero when more is owed than held. */
export function leftFor(account: Account, key: Purse | null): number {
  return Math.min(leaseLeft(account), budgetLeft(account), key === null ? Infinity : budgetLeft(key))
}

/**
 * Opens the request after asking.
 * @throws BerthError 402 no_active_plan, insufficient_credits, budget_exceeded; 503 while the database is away.
 */
export async function admit<Opened>(
  parts: AdmissionParts<Opened>,
  order: InferenceOrder,
  account: Account,
): Promise<Opened> {
  try {
    return await ask(parts, order, account)
  } catch (error) {
    if (error instanceof BerthError && error.status === 402) creditRefusals.inc({ reason: error.code })
    if (isDatabaseAway(error)) throw databaseAway()
    throw error
  }
}

async function ask<Opened>(
  { db, accounts, writer, begin }: AdmissionParts<Opened>,
  order: InferenceOrder,
  account: Account,
): Promise<Opened> {
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
  const key = keyId === null ? null : keyPurse(account, keyId)
  if (!writer.trusted) await writer.checkIn()
  for (let round = 0; round < roundsMax; round++) {
    refuseOverBudget(account, key, maxCostNanoUsd)
    if (leaseLeft(account) >= maxCostNanoUsd) return begin(order, account, key)
    // One after another, so that what the first brings serves those behind it.
    const turn = account.turn.then(() => fetchLease(db, writer, account, maxCostNanoUsd))
    account.turn = turn.catch(() => undefined) // whoever waits for it hears of it
    const opened = await turn.then(() =>
      leftFor(account, key) >= maxCostNanoUsd ? { request: begin(order, account, key) } : null,
    )
    if (opened) return opened.request
  }
  throw new BerthError(
    'service_unavailable',
    'Too many requests of this organization want credits at once. Try again in a moment.',
    { retryAfterSeconds: 1 },
  )
}

/**
 * Takes as much as is missing; when others hold it, after they were asked for what they do not need.
 * @throws BerthError insufficient_credits.
 */
async function fetchLease(db: Db, writer: LedgerWriter, account: Account, maxCostNanoUsd: number): Promise<void> {
  const { organizationId } = account
  for (let tries = 1; leaseLeft(account) < maxCostNanoUsd; tries++) {
    const refused = await writer.inLane(async () => {
      const missing = maxCostNanoUsd - leaseLeft(account)
      if (missing <= 0) return null
      const { heldNanoUsd, balanceNanoUsd, elsewhereNanoUsd } = await takeLease(
        db,
        writer.processId,
        organizationId,
        missing,
      )
      if (heldNanoUsd === null) {
        const reachable = missing <= balanceNanoUsd + elsewhereNanoUsd // then what others still hold once they were asked is set aside for what runs
        return { reachable, leftNanoUsd: balanceNanoUsd + leaseLeft(account) + (reachable ? 0 : elsewhereNanoUsd) }
      }
      account.heldNanoUsd = heldNanoUsd
      return null
    })
    if (!refused) return
    if (!refused.reachable || tries > wantedTries) throw insufficient(maxCostNanoUsd, refused.leftNanoUsd)
    await publish(db, creditsWantedTopic, organizationId)
    await new Promise((resolve) => setTimeout(resolve, wantedWaitMs))
  }
}

function insufficient(maxCostNanoUsd: number, leftNanoUsd: number): BerthError {
  return new BerthError(
    'insufficient_credits',
    `This request may cost ${dollars(maxCostNanoUsd)} at most, and ${dollars(Math.max(0, leftNanoUsd))} of credits are left. Ask for fewer tokens (max_tokens), or have the operator grant more: npm run -s credits -- grant --org <name> --usd 25`,
  )
}

function refuseOverBudget(account: Account, key: Purse | null, maxCostNanoUsd: number): void {
  for (const purse of [key, account]) {
    if (purse === null || budgetLeft(purse) >= maxCostNanoUsd) continue
    const whose = purse === key ? 'key' : 'organization'
    const left = Math.max(0, budgetLeft(purse))
    throw new BerthError(
      'budget_exceeded',
      `This ${whose} may spend ${dollars(purse.limitNanoUsd ?? 0)} a month, ${dollars(left)} of it is left, and this request may cost ${dollars(maxCostNanoUsd)} at most. Ask for fewer tokens (max_tokens), or have an admin raise the budget.`,
    )
  }
}

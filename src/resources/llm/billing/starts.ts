/** Whether an organization may spend on models at all: asked before work begins that nobody waits for. */
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import { dollars } from './costs.ts'
import { monthOf, spentSince } from './months.ts'

/** An account, in nano-dollars; what is leased counts as there, since it comes back where it is not needed. */
type State = { plan: string | null; leftNanoUsd: number; budgetNanoUsd: number | null; spentNanoUsd: number }

/**
 * Refuses work of an organization that could not pay for its first request. The exact check is at each request.
 * @param isFree whether the model costs nothing: then a plan is enough.
 * @throws BerthError 402 no_active_plan, insufficient_credits, budget_exceeded.
 */
export async function checkMaySpend(db: Db, organizationId: string, isFree: boolean): Promise<void> {
  const spent = isFree ? sql`0` : spentSince(monthOf(nowMs()).start, sql`a.organization_id`)
  const leased = sql`coalesce((select sum(amount_nano_usd) from credit_leases l where l.organization_id = a.organization_id), 0)`
  const account = await findOne<State>(
    db,
    sql`
      select a.plan, (a.balance_nano_usd + ${leased})::bigint as left_nano_usd, a.monthly_budget_nano_usd as budget_nano_usd,
        (${spent})::bigint as spent_nano_usd
    from inference_accounts a where a.organization_id = ${organizationId}`,
  )
  if (!account || account.plan === null)
    throw new BerthError(
      'no_active_plan',
      'This organization has no plan, so it cannot use models. Ask the operator of this installation: npm run -s credits -- plan --org <name> --plan self_hosted',
    )
  if (isFree) return
  if (account.budgetNanoUsd !== null && account.spentNanoUsd >= account.budgetNanoUsd)
    throw new BerthError(
      'budget_exceeded',
      `This organization may spend ${dollars(account.budgetNanoUsd)} a month, and it has. Wait for the next month, or have an admin raise the budget.`,
    )
  if (account.leftNanoUsd <= 0)
    throw new BerthError(
      'insufficient_credits',
      'This organization has no credits left. Have the operator grant more: npm run -s credits -- grant --org <name> --usd 25',
    )
}

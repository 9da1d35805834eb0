/** Budgets by the month (UTC), and what an organization has left: what its people see of its money. */
import { allowIn } from '#src/platform/access.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { accountsTopic, monthOf, spentSince } from './accounts.ts'
import { nanoUsdPerUsd } from './costs.ts'

const budgetUsdMax = 1_000_000
const keyBudgetsMax = 1_000

/** What a key may spend in a month, and has; US dollars. */
export type KeyBudget = { keyId: string; monthlyUsd: number; spentThisMonthUsd: number }

/** What an organization has; US dollars. `balanceUsd` is what it can still spend; `reservedUsd` of it is set aside for what runs. */
export type Credits = {
  organizationId: string
  plan: string | null
  grantedUsd: number
  balanceUsd: number
  reservedUsd: number
  spentUsd: number
  monthlyBudgetUsd: number | null
  spentThisMonthUsd: number
  keyBudgets: KeyBudget[]
}

/** The organization's credits. @throws BerthError forbidden for one that the caller does not belong to. */
export async function getCredits(call: Call, publicOrganizationId: string): Promise<Credits> {
  const scope = allowIn(call.caller, 'inference-usage:read', decodeId('organization', publicOrganizationId))
  return readCredits(call.db, scope.organizationId)
}

/** The same without a caller, for operators. @param organizationId a stored uuid. */
export async function readCredits(db: Db, organizationId: string): Promise<Credits> {
  const month = monthOf(nowMs()).start
  const account = await getOne<Omit<Credits, 'keyBudgets'>>(
    db,
    sql`
    select o.id as organization_id, a.plan, ${usd(sql`(select coalesce(sum(amount_nano_usd), 0) from inference_grants g where g.organization_id = o.id)`)} as granted_usd,
      ${usd(sql`coalesce(a.balance_nano_usd, 0) + l.held`)} as balance_usd, ${usd(sql`l.held`)} as reserved_usd, ${usd(spentSince(null, sql`o.id`))} as spent_usd,
      ${usd(sql`a.monthly_budget_nano_usd`)} as monthly_budget_usd, ${usd(spentSince(month, sql`o.id`))} as spent_this_month_usd
    from organizations o left join inference_accounts a on a.organization_id = o.id,
      lateral (select coalesce(sum(amount_nano_usd), 0) as held from credit_leases where organization_id = o.id) as l
    where o.id = ${organizationId}`,
  )
  const keyBudgets = await findAll<KeyBudget>(
    db,
    sql`
    select key_id, ${usd(sql`monthly_budget_nano_usd`)} as monthly_usd, ${usd(spentSince(month, sql`b.organization_id`, sql`b.key_id`))} as spent_this_month_usd
    from inference_key_budgets b where organization_id = ${organizationId} order by key_id limit ${keyBudgetsMax}`,
  )
  return { ...account, keyBudgets }
}

/** Sets what the organization may spend in a month; null is no limit. For admins. @throws BerthError invalid_request, forbidden. */
export async function setOrganizationBudget(
  call: Call,
  publicOrganizationId: string,
  monthlyUsd: number | null,
): Promise<Credits> {
  const { organizationId } = allowIn(call.caller, 'budgets:write', decodeId('organization', publicOrganizationId))
  const budget = readBudget(monthlyUsd)
  await transaction(call.db, async (tx) => {
    await change(
      tx,
      sql`
      insert into inference_accounts (organization_id, monthly_budget_nano_usd) values (${organizationId}, ${budget})
      on conflict (organization_id) do update set monthly_budget_nano_usd = excluded.monthly_budget_nano_usd`,
    )
    await publish(tx, accountsTopic, organizationId)
  })
  return readCredits(call.db, organizationId)
}

/** Sets what one of the organization's keys may spend in a month; null is no limit. For admins. @throws BerthError invalid_request, forbidden, not_found. */
export async function setKeyBudget(
  call: Call,
  publicOrganizationId: string,
  keyId: string,
  monthlyUsd: number | null,
): Promise<Credits> {
  const { organizationId } = allowIn(call.caller, 'budgets:write', decodeId('organization', publicOrganizationId))
  const budget = readBudget(monthlyUsd)
  await transaction(call.db, async (tx) => {
    const key = await findOne(
      tx,
      sql`select key_id from api_keys where key_id = ${keyId} and organization_id = ${organizationId}`,
    )
    if (!key) throw notFound('key')
    if (budget === null)
      await change(
        tx,
        sql`delete from inference_key_budgets where organization_id = ${organizationId} and key_id = ${keyId}`,
      )
    else
      await change(
        tx,
        sql`
      insert into inference_key_budgets (organization_id, key_id, monthly_budget_nano_usd) values (${organizationId}, ${keyId}, ${budget})
      on conflict (organization_id, key_id) do update set monthly_budget_nano_usd = excluded.monthly_budget_nano_usd`,
      )
    await publish(tx, accountsTopic, organizationId)
  })
  return readCredits(call.db, organizationId)
}

function readBudget(monthlyUsd: number | null): number | null {
  if (monthlyUsd === null) return null
  if (!(monthlyUsd >= 0 && monthlyUsd <= budgetUsdMax))
    throw new BerthError(
      'invalid_request',
      `A budget is from 0 to ${budgetUsdMax.toLocaleString('en-US')} US dollars a month, or null for none.`,
    )
  return Math.round(monthlyUsd * nanoUsdPerUsd)
}

/** An amount of a table as US dollars with nine decimals. */
function usd(nanoUsd: ReturnType<typeof sql>): ReturnType<typeof sql> {
  return sql`round((${nanoUsd})::numeric / ${nanoUsdPerUsd}::numeric, 9)`
}

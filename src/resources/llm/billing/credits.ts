/**
 * An organization's credits as its members and the operator see them: its plan, its grants, its monthly budgets (UTC).
 */
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { accountsTopic } from './accounts.ts'
import { nanoUsdPerUsd } from './costs.ts'
import { monthOf, spentSince } from './months.ts'

const grantUsdMax = 1_000_000
const budgetUsdMax = 1_000_000
const keyBudgetsMax = 1_000

/** A key's monthly budget and spending; US dollars as text with nine decimals. */
export type KeyBudget = Pick<Row<'inference_key_budgets'>, 'keyId'> & { monthlyUsd: string; spentThisMonthUsd: string }

/**
 * An organization's credits; US dollars as text with nine decimals. `balanceUsd` is what it can still spend, including
 * `reservedUsd`, which is reserved for requests.
 */
export type Credits = {
  organizationId: string
  plan: string | null
  grantedUsd: string
  balanceUsd: string
  reservedUsd: string
  spentUsd: string
  monthlyBudgetUsd: string | null
  spentThisMonthUsd: string
  keyBudgets: KeyBudget[]
}

/** The organization's credits. @throws BerthError forbidden for one that the caller does not belong to. */
export async function getCredits(call: Call, publicOrganizationId: string | null | undefined): Promise<Credits> {
  const scope = allowInGiven(call.caller, 'inference-usage:read', publicOrganizationId)
  return readCredits(call.db, scope.organizationId)
}

/** The same without a caller, for operators. @param organizationId a stored uuid. */
export async function readCredits(db: Db, organizationId: string): Promise<Credits> {
  const month = monthOf(nowMs()).start
  const account = await getOne<Omit<Credits, 'keyBudgets'>>(
    db,
    sql`
    select o.id as organization_id, a.plan,
      ${usd(sql`(select coalesce(sum(amount_nano_usd), 0) from inference_grants g where g.organization_id = o.id)`)} as granted_usd,
      ${usd(sql`coalesce(a.balance_nano_usd, 0) + l.held`)} as balance_usd, ${usd(sql`l.held`)} as reserved_usd,
      ${usd(spentSince(null, sql`o.id`))} as spent_usd,
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

/**
 * Sets what the organization may spend in a month; null means no limit. For admins.
 * @throws BerthError invalid_request, forbidden.
 */
export async function setOrganizationBudget(
  call: Call,
  publicOrganizationId: string | null | undefined,
  monthlyUsd: string | null,
): Promise<Credits> {
  const { organizationId } = allowInGiven(call.caller, 'budgets:write', publicOrganizationId)
  const budget = readBudget(monthlyUsd)
  await transaction(call.db, async (tx) => {
    await change(
      tx,
      sql`
      insert into inference_accounts (organization_id, monthly_budget_nano_usd) values (${organizationId}, ${budget})
      on conflict (organization_id) do update set monthly_budget_nano_usd = excluded.monthly_budget_nano_usd`,
    )
    publish(tx, accountsTopic, organizationId)
  })
  return readCredits(call.db, organizationId)
}

/**
 * Sets what one of the organization's keys may spend in a month; null means no limit. For admins.
 * @throws BerthError invalid_request, forbidden, not_found.
 */
export async function setKeyBudget(
  call: Call,
  publicOrganizationId: string | null | undefined,
  keyId: string,
  monthlyUsd: string | null,
): Promise<Credits> {
  const { organizationId } = allowInGiven(call.caller, 'budgets:write', publicOrganizationId)
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
    publish(tx, accountsTopic, organizationId)
  })
  return readCredits(call.db, organizationId)
}

function readBudget(monthlyUsd: string | null): number | null {
  if (monthlyUsd === null) return null
  const usd = Number(monthlyUsd)
  if (!(usd >= 0 && usd <= budgetUsdMax))
    throw new BerthError(
      'invalid_request',
      `A budget must be from 0 to ${budgetUsdMax.toLocaleString('en-US')} US dollars a month, or null for none.`,
      { field: 'monthlyUsd' },
    )
  return Math.round(usd * nanoUsdPerUsd)
}

/** The plan of every organization that is created on a single host. */
export const selfHostedPlan = 'self_hosted'

/** Gives a new organization the plan of a single host; an existing one keeps what it has. */
export async function ensurePlan(tx: Tx, organizationId: string): Promise<void> {
  await change(
    tx,
    sql`insert into inference_accounts (organization_id, plan) values (${organizationId}, ${selfHostedPlan}) on conflict do nothing`,
  )
}

/** Sets an organization's plan, or, with null, removes it. @throws BerthError invalid_request for an unknown plan. */
export async function setPlan(db: Db, organizationId: string, plan: string | null): Promise<void> {
  if (plan !== null && plan !== selfHostedPlan)
    throw new BerthError('invalid_request', `There is no such plan; it is ${selfHostedPlan} or none.`)
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`
        insert into inference_accounts (organization_id, plan)
        values (${organizationId}, ${plan})
        on conflict (organization_id) do update set plan = excluded.plan`,
    )
    publish(tx, accountsTopic, organizationId)
  })
}

/**
 * Grants credits to an organization, or, if negative, takes them back.
 * @param usd US dollars with nine decimals at most.
 * @throws BerthError invalid_request for an amount of zero or beyond a million.
 */
export async function grantCredits(
  db: Db,
  {
    organizationId,
    usd,
    grantedBy = 'operator',
    note = null,
  }: { organizationId: string; usd: number; grantedBy?: string; note?: string | null },
): Promise<void> {
  const amountNanoUsd = Math.round(usd * nanoUsdPerUsd)
  if (!Number.isFinite(usd) || amountNanoUsd === 0 || Math.abs(usd) > grantUsdMax)
    throw new BerthError(
      'invalid_request',
      `An amount must be in US dollars, at most ${grantUsdMax.toLocaleString('en-US')}, and not zero.`,
    )
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`
        insert into inference_grants (id, organization_id, amount_nano_usd, granted_by, note)
        values (${newUuid()}, ${organizationId}, ${amountNanoUsd}, ${grantedBy}, ${note})`,
    )
    await change(
      tx,
      sql`
      insert into inference_accounts as a (organization_id, balance_nano_usd) values (${organizationId}, ${amountNanoUsd})
      on conflict (organization_id) do update set balance_nano_usd = a.balance_nano_usd + excluded.balance_nano_usd`,
    )
    publish(tx, accountsTopic, organizationId)
  })
}

/** A stored amount as US dollars with nine decimals. */
function usd(nanoUsd: ReturnType<typeof sql>): ReturnType<typeof sql> {
  return sql`round((${nanoUsd})::numeric / ${nanoUsdPerUsd}::numeric, 9)::text`
}

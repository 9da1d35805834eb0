/** Plans: an organization without one may use no model. A single host gives every organization its own. */
import { BerthError } from '#src/platform/errors.ts'
import { change, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { accountsTopic } from './accounts.ts'

/** The plan of every organization that is made on a single host. */
export const selfHostedPlan = 'self_hosted'

/** Gives an organization that is new the plan of a single host; one that is there keeps what it has. */
export async function ensurePlan(tx: Tx, organizationId: string): Promise<void> {
  await change(
    tx,
    sql`insert into inference_accounts (organization_id, plan) values (${organizationId}, ${selfHostedPlan}) on conflict do nothing`,
  )
}

/**
 * Sets an organization's plan, or, with null, ends it.
 * @throws BerthError invalid_request for a plan that there is not.
 */
export async function setPlan(db: Db, organizationId: string, plan: string | null): Promise<void> {
  if (plan !== null && plan !== selfHostedPlan)
    throw new BerthError('invalid_request', `There is no such plan; it is ${selfHostedPlan} or none.`)
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`insert into inference_accounts (organization_id, plan) values (${organizationId}, ${plan}) on conflict (organization_id) do update set plan = excluded.plan`,
    )
    await publish(tx, accountsTopic, organizationId)
  })
}

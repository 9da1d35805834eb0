/** The outcomes in a session's row. */
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { OutcomeChange } from '#src/resources/agents/sessions/outcomes/rows.ts'
import type { Session } from './rows.ts'

/** Changes an outcome in its session's row. @returns the changed session; undefined when it is deleted. */
export async function changeOutcome(
  tx: Tx,
  sessionId: string,
  { id, change }: OutcomeChange,
): Promise<Session | undefined> {
  return findOne<Session>(
    tx,
    sql`
    update sessions set outcomes = (
      select jsonb_agg(case when one ->> 'outcome_id' = ${id} then one || ${JSON.stringify(change)}::jsonb else one end order by place)
      from jsonb_array_elements(outcomes) with ordinality as every (one, place))
    where id = ${sessionId} and outcomes @> ${JSON.stringify([{ outcome_id: id }])}::jsonb returning *`,
  )
}

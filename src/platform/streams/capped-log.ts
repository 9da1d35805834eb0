/** Logs of events of which only the newest are kept. */
import type { RawBuilder } from 'kysely'
import { change, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'

/** An event to add. Its SQL is its noun's, which alone writes these tables. */
export type CappedEvent = {
  /** Who follows this log: a topic, and the id of the row that has it. */
  topic: string
  id: string
  /** Numbers the event, by an update that returns its `position`. */
  next: RawBuilder<unknown>
  /** Deletes the log: `delete from <events> where …`, of which those that are too old are deleted. */
  old: RawBuilder<unknown>
  kept: number
  /** `insert into <events> (…) select …`, with `position` from `next`. */
  insert: RawBuilder<unknown>
}

/** Adds an event in the transaction of its change; the oldest are deleted when there are too many. */
export async function addCappedEvent(tx: Tx, { topic, id, next, old, kept, insert }: CappedEvent): Promise<void> {
  await change(
    tx,
    sql`
    with next as (${next}), old as (${old} and position <= (select next.position - ${kept} from next))
    ${insert} from next`,
  )
  publish(tx, topic, id)
}

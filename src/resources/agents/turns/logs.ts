/**
 * The parts of a session's log that a step reads. A log grows as long as the session lives, but settled turns no longer
 * decide anything: they are read only for the conversation, when the model is asked.
 */
import type { RawBuilder } from 'kysely'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import { messageTypes, promptTypes, resultTypes, toolUseTypes } from '#src/resources/agents/sessions/event-types.ts'
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'
import type { TurnEvent } from '#src/resources/agents/turns.ts'

/** Only the fact of these events decides, so their data is not read. */
const factTypes = [...messageTypes, ...resultTypes, 'agent.message']

/**
 * The part of a log that decides what is next: every function of turns.ts and pending-work.ts answers for it as for the
 * whole log. That is all since the last turn was settled, or since its prompt or its last request where these are
 * earlier; and of before, what nobody has taken yet, and tool uses without a result with their confirmations. What was
 * said, and what tools answered, is without its data.
 * @returns them in the order of the log.
 */
export async function readTurnLog(db: Db, sessionId: string): Promise<SessionEvent[]> {
  const last = (condition: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select position from session_events where session_id = ${sessionId} and ${condition} order by position desc limit 1)`
  const hasResult = (use: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`exists (select from session_events where session_id = ${sessionId} and answers = ${use} and type = any(${resultTypes}::text[]))`
  return findAll<SessionEvent>(
    db,
    sql`
    with bound as (
      select least(
        ${last(sql`type = 'span.model_request_start'`)},
        coalesce(${last(sql`type = any(${promptTypes}::text[]) and processed_at is not null`)}, 0),
        coalesce(${last(sql`type = 'session.status_idle' and data #>> '{stop_reason,type}' is distinct from 'requires_action'`)}, 0)) as since)
    select session_id, position, id, type, case when type = any(${factTypes}::text[]) then '{}' else data end as data, answers,
      processed_at, taken_position, created_at
    from session_events event, bound
    where session_id = ${sessionId} and (position >= since or taken_position > since or processed_at is null
      or (type = any(${toolUseTypes}::text[]) and not ${hasResult(sql`event.id`)})
        or (type = 'user.tool_confirmation' and not ${hasResult(sql`event.answers`)}))
    order by position`,
  )
}

/** The events that conversations.ts needs. */
const conversationTypes = [
  ...messageTypes,
  ...toolUseTypes,
  ...resultTypes,
  'agent.message',
  'span.model_request_start',
  'span.outcome_evaluation_end',
  'agent.thread_context_compacted',
]

/** The part of a log that the conversation is made from, in the order of the log. */
export async function readConversation(db: Db, sessionId: string): Promise<TurnEvent[]> {
  return findAll<TurnEvent>(
    db,
    sql`
    select id, type, data, answers, processed_at, position, taken_position from session_events
    where session_id = ${sessionId} and type = any(${conversationTypes}::text[]) and processed_at is not null order by position`,
  )
}

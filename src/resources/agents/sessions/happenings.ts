/** What webhook endpoints are told of sessions: that something happened, never what was said. */
import { encodeId } from '#src/platform/ids.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import { emitWebhookEvent, emitWebhookEvents } from '#src/resources/infra/webhooks/emit.ts'
import type { WebhookEventType } from '#src/resources/infra/webhooks/event-types.ts'
import type { Session, SessionEvent } from './rows.ts'

const told: Readonly<Record<string, WebhookEventType>> = {
  'session.status_running': 'session.status_run_started',
  'session.status_idle': 'session.status_idled',
  'session.status_rescheduled': 'session.status_rescheduled',
  'session.status_terminated': 'session.status_terminated',
  'session.updated': 'session.updated',
  'span.outcome_evaluation_end': 'session.outcome_evaluation_ended',
}

/** Why a session became idle, where endpoints can ask for that. */
const toldReasons: Readonly<Record<string, WebhookEventType>> = {
  requires_action: 'session.requires_action',
  budget_reached: 'session.budget_reached',
}

/** Tells of what was appended to a session's log, in the same transaction; most events are told to nobody. */
export async function tellOfEvents(
  tx: Tx,
  sessionId: string,
  events: readonly Pick<SessionEvent, 'type' | 'data'>[],
): Promise<void> {
  const types = events.flatMap(({ type, data }) => [told[type] ?? [], reasonOf(type, data) ?? []].flat())
  if (types.length === 0) return
  const id = encodeId('session', sessionId)
  await emitWebhookEvents(
    tx,
    sql`(select organization_id from sessions where id = ${sessionId})`,
    types.map((type) => ({ type, id })),
  )
}

/** Tells what happened to a whole session. */
export async function tellOfSession(
  tx: Tx,
  { id, organizationId }: Pick<Session, 'id' | 'organizationId'>,
  type: `session.${'created' | 'archived' | 'deleted'}`,
): Promise<void> {
  await emitWebhookEvent(tx, organizationId, { type, id: encodeId('session', id) })
}

function reasonOf(type: string, data: SessionEvent['data']): WebhookEventType | undefined {
  const reason = type === 'session.status_idle' ? data['stop_reason'] : undefined
  return typeof reason === 'object' && reason !== null && 'type' in reason
    ? toldReasons[String(reason.type)]
    : undefined
}

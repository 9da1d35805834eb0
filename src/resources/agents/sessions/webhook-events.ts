/** What webhook endpoints are notified of in sessions: that something happened, never its content. */
import { encodeId } from '#src/platform/ids.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import { emitWebhookEvent, emitWebhookEvents, type Happening } from '#src/resources/infra/webhooks/emit.ts'
import type { WebhookEventType } from '#src/resources/infra/webhooks/event-types.ts'
import type { Session, SessionEvent } from './rows.ts'

const webhookTypes: Readonly<Record<string, WebhookEventType>> = {
  'session.status_running': 'session.status_run_started',
  'session.status_idle': 'session.status_idled',
  'session.status_rescheduled': 'session.status_rescheduled',
  'session.status_terminated': 'session.status_terminated',
  'session.updated': 'session.updated',
  'span.outcome_evaluation_end': 'session.outcome_evaluation_ended',
}

/** Why a session became idle, where endpoints can ask for that. */
const webhookTypesOfReasons: Readonly<Record<string, WebhookEventType>> = {
  requires_action: 'session.requires_action',
  budget_reached: 'session.budget_reached',
}

/** Notifies of what was appended to a session's log, in the same transaction; of most events no endpoint is notified. */
export async function notifyOfEvents(
  tx: Tx,
  sessionId: string,
  events: readonly Pick<SessionEvent, 'type' | 'data'>[],
): Promise<void> {
  const organizationId = sql`(select organization_id from sessions where id = ${sessionId})`
  await emitWebhookEvents(tx, organizationId, happeningsOf(sessionId, events))
}

/** Tells of sessions of an organization that were just made, and of the first events of each. */
export async function notifyOfNewSessions(
  tx: Tx,
  organizationId: string,
  sessions: readonly { id: string; events: readonly Pick<SessionEvent, 'type' | 'data'>[] }[],
): Promise<void> {
  const happenings = sessions.flatMap(({ id, events }): Happening[] => [
    { type: 'session.created', id: encodeId('session', id) },
    ...happeningsOf(id, events),
  ])
  await emitWebhookEvents(tx, organizationId, happenings)
}

/** Tells what happened to a whole session. */
export async function notifyOfSession(
  tx: Tx,
  { id, organizationId }: Pick<Session, 'id' | 'organizationId'>,
  type: `session.${'archived' | 'deleted'}`,
): Promise<void> {
  await emitWebhookEvent(tx, organizationId, { type, id: encodeId('session', id) })
}

function happeningsOf(sessionId: string, events: readonly Pick<SessionEvent, 'type' | 'data'>[]): Happening[] {
  const id = encodeId('session', sessionId)
  const types = events.flatMap(({ type, data }) => [webhookTypes[type] ?? [], reasonOf(type, data) ?? []].flat())
  return types.map((type) => ({ type, id }))
}

function reasonOf(type: string, data: SessionEvent['data']): WebhookEventType | undefined {
  const reason = type === 'session.status_idle' ? data['stop_reason'] : undefined
  return typeof reason === 'object' && reason !== null && 'type' in reason
    ? webhookTypesOfReasons[String(reason.type)]
    : undefined
}

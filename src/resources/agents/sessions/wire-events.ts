/** Events of a session's log as callers see them. */
import { decodeId, encodeId } from '#src/platform/ids.ts'
import type { SessionEvent } from './rows.ts'

/** An event as callers see it. */
export function wireEvent({
  id,
  type,
  data,
  processedAt,
}: Pick<SessionEvent, 'id' | 'type' | 'data' | 'processedAt'>): Record<string, unknown> {
  const event = { id: encodeId('sessionEvent', id), type, ...data, processed_at: processedAt }
  const exchangeId = exchangeOf({ id, type, data })
  return type === 'agent.tool_use' && exchangeId !== null
    ? { ...event, peer_exchange_id: encodeId('peerExchange', exchangeId) }
    : event
}

/**
 * The stored id of the peer exchange that a use of `ask_peer`, or the result of one, tells of; null for any other event.
 * There is no exchange of this id when nobody was asked.
 */
export function exchangeOf({ id, type, data }: Pick<SessionEvent, 'id' | 'type' | 'data'>): string | null {
  if (type === 'agent.tool_use') return data['name'] === 'ask_peer' ? id : null
  const named = data['peer_exchange_id']
  return type === 'agent.tool_result' && typeof named === 'string' ? (decodeId('peerExchange', named) ?? null) : null
}

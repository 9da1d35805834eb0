/** Exchanges between agents: their rows, states and events. Nothing here moves a session. */
import type { RawBuilder } from 'kysely'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { addCappedEvent } from '#src/platform/streams/capped-log.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { taskLimits } from '#src/resources/agents/tasks/limits.ts'

/** `input_required`: the responder waits for its user. The last four are final. */
export type PeerState = 'submitted' | 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled' | 'rejected'

/** Why an exchange failed or was rejected: a word for programs, and a sentence. */
export type PeerError = { type: string; message: string }

/** An exchange as it is stored; moments are wire text, ids are uuids. `status` is what callers see as `state`. */
export type PeerExchange = Row<'peer_exchanges', { status: PeerState; error: PeerError | null }>

/** A state that an exchange came to; positions grow by one. */
export type PeerExchangeEvent = Row<'peer_exchange_events', { status: PeerState }>

/** Where each state may go. */
const peerStates: States<PeerState> = states<PeerState>('peer_exchanges', 'exchange', {
  submitted: ['working', 'failed', 'cancelled', 'rejected'],
  working: ['input_required', 'completed', 'failed', 'cancelled'],
  input_required: ['working', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
  rejected: [],
})

/** The notice that an exchange came to another state; the id is the exchange's. */
export const peerTopic = 'peer_exchange'

/** Queries for exchanges. */
export const peerRows = rowsOf<PeerExchange>('peerExchange', 'peer_exchanges', 'peer exchange', sql`*`, [
  'request_text',
  'answer',
])

/** Whether an exchange has not ended. */
export function isOpen({ finishedAt }: Pick<PeerExchange, 'finishedAt'>): boolean {
  return finishedAt === null
}

/** Whether nothing follows this state. */
export function isFinal(state: PeerState): boolean {
  return peerStates.moves[state].length === 0
}

/** The exchange of this stored id, whoever's it is: for Berth itself. */
export async function findExchangeRow(db: Db, id: string): Promise<PeerExchange | undefined> {
  return findOne<PeerExchange>(db, sql`select * from peer_exchanges where id = ${id}`)
}

/** Those of these tool uses whose exchange has not ended, so that the session waits for them. */
export async function findAwaited(db: Db, toolUseIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (toolUseIds.length === 0) return new Set()
  const open = await findAll<Pick<PeerExchange, 'id'>>(
    db,
    sql`select id from peer_exchanges where id = any(${toolUseIds}::uuid[]) and finished_at is null`,
  )
  return new Set(open.map(({ id }) => id))
}

/** A new exchange, which expires with its task, and its first event. `error` goes with rejected, which no task follows. */
export async function insertExchange(
  tx: Tx,
  {
    error = null,
    ...given
  }: Pick<
    PeerExchange,
    | 'id'
    | 'organizationId'
    | 'ownerUserId'
    | 'requesterSessionId'
    | 'responderSessionId'
    | 'turnId'
    | 'depth'
    | 'requestText'
    | 'fileId'
  > & { error?: PeerError | null },
): Promise<void> {
  const status: PeerState = error ? 'rejected' : 'submitted'
  await change(
    tx,
    sql`
    insert into peer_exchanges (id, organization_id, owner_user_id, requester_session_id, responder_session_id, turn_id, depth,
      request_text, file_id, status, error, expires_at, finished_at)
    values (${given.id}, ${given.organizationId}, ${given.ownerUserId}, ${given.requesterSessionId}, ${given.responderSessionId},
      ${given.turnId}, ${given.depth}, ${given.requestText}, ${given.fileId},
      ${status}, ${error && JSON.stringify(error)}::jsonb, now() + ${taskLimits.openHours} * interval '1 hour', ${error ? sql`now()` : null})`,
  )
  await addEvent(tx, given.id, status)
}

/**
 * Moves an exchange, and tells whoever follows it.
 * @param set further assignments.
 * @returns undefined, having told nobody, when the move is not allowed.
 */
export async function moveExchange(
  tx: Tx,
  id: string,
  to: PeerState,
  set: RawBuilder<unknown>,
): Promise<PeerExchange | undefined> {
  const moved = await transition<PeerExchange, PeerState>(
    tx,
    peerStates,
    id,
    to,
    sql`${set}, updated_at = now(), finished_at = ${isFinal(to) ? sql`now()` : null}`,
  )
  if (moved) await addEvent(tx, id, to)
  return moved
}

/** Adds an event in the transaction of its change; the oldest are deleted when there are too many. */
async function addEvent(tx: Tx, id: string, status: PeerState): Promise<void> {
  await addCappedEvent(tx, {
    topic: peerTopic,
    id,
    next: sql`update peer_exchanges set event_position = event_position + 1 where id = ${id} returning event_position as position`,
    old: sql`delete from peer_exchange_events where exchange_id = ${id}`,
    kept: peerLimits.eventsKept,
    insert: sql`insert into peer_exchange_events (exchange_id, position, status) select ${id}, position, ${status}`,
  })
}

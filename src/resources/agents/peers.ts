/** Peer exchanges as their owner sees them: read, listed, followed, stopped, and their attachments. */
import type { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { eventPosition, type Direction, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { findAll, findOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import { fileKey, isThere, type StoredFile } from './files/rows.ts'
import {
  findExchangeRow,
  isFinal,
  isOpen,
  peerRows,
  peerTopic,
  type PeerExchange,
  type PeerExchangeEvent,
  type PeerState,
} from './peers/rows.ts'
import { stopTask } from './tasks.ts'

/** Conditions of a list of exchanges; all must hold. `sessionId`: that asked or was asked. */
export type PeerExchangeFilter = { sessionId?: string | null; states?: readonly PeerState[] | null }

/** In which part a session has exchanges. */
export type PeerPart = 'requester' | 'responder'

const columns = { requester: sql`requester_session_id`, responder: sql`responder_session_id` } as const

/** The exchange of this id. @throws BerthError not_found. */
export async function getPeerExchange(call: Call, publicId: string): Promise<PeerExchange> {
  return peerRows.read(call.db, publicId, ownedByCaller(allow(call.caller, 'peers:read')))
}

/** The exchanges of these stored ids that are the caller's. */
export async function findPeerExchanges(call: Call, ids: readonly string[]): Promise<PeerExchange[]> {
  return peerRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'peers:read')))
}

/** The first exchange in which each of these sessions, by stored ids, is asked: the one that it was started for, if an exchange started it. */
export async function findPeerExchangesOfSessions(call: Call, sessionIds: readonly string[]): Promise<PeerExchange[]> {
  const reach = allowAnywhere(call.caller, 'peers:read')
  return findAll<PeerExchange>(
    call.db,
    sql`
    select distinct on (responder_session_id) * from peer_exchanges
    where responder_session_id = any(${sessionIds}::uuid[]) and ${ownedByCaller(reach)} order by responder_session_id, id`,
  )
}

/** The caller's exchanges, newest first by default. @throws BerthError invalid_request. */
export async function pagePeerExchanges(
  call: Call,
  window: PageWindow,
  filter?: PeerExchangeFilter | null,
  direction?: Direction,
): Promise<Page<PeerExchange>> {
  const scope = allow(call.caller, 'peers:read')
  const { sessionId: named = null, states = null } = filter ?? {}
  const sessionId = named === null ? null : decodeId('session', named)
  const chosen =
    sessionId === undefined // a malformed id matches nothing
      ? sql`false`
      : sql`${ownedByCaller(scope)} and (${sessionId}::uuid is null or requester_session_id = ${sessionId} or responder_session_id = ${sessionId})
          and (${states}::text[] is null or status = any(${states}::text[]))`
  return peerRows.page(call.db, window, chosen, direction)
}

/** The exchanges of each session of these stored ids in this part, newest first. @throws BerthError invalid_request. */
export async function pagePeerExchangesOfEach(
  call: Call,
  part: PeerPart,
  sessionIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<PeerExchange>> {
  const scope = allow(call.caller, 'peers:read')
  return peerRows.pageOfEach(call.db, window, {
    parents: sql`select id from unnest(${sessionIds}::uuid[]) given(id)`,
    parentName: 'session',
    chosen: sql`${ownedByCaller(scope)} and ${columns[part]} = parent.id`,
  })
}

/**
 * Cancels an exchange: the responder is interrupted, and the requester goes on without an answer. One that has ended stays
 * as it is.
 * @throws BerthError not_found.
 */
export async function stopPeerExchange(call: Call, publicId: string): Promise<PeerExchange> {
  const scope = allow(call.caller, 'peers:write')
  return transaction(call.db, async (tx) => {
    const { id, responderSessionId: sessionId } = await peerRows.read(tx, publicId, ownedByCaller(scope))
    await stopTask(call, tx, { id, sessionId })
    return peerRows.read(tx, publicId, ownedByCaller(scope))
  })
}

/** The attachment of an exchange and its bytes. @throws BerthError not_found, also when there is none, or no longer. */
export async function openAttachment(
  call: Call,
  publicId: string,
  headOnly: boolean,
): Promise<{ file: StoredFile; body: Readable | null }> {
  const { fileId } = await getPeerExchange(call, publicId)
  const file = await findOne<StoredFile>(call.db, sql`select * from files where id = ${fileId} and ${isThere}`)
  if (!file) throw notFound('attachment of this exchange')
  return { file, body: headOnly ? null : await objectStore(call).read(fileKey(file)) }
}

/**
 * The states of an exchange after the cursor (the latest one without), then others as it comes to them; ends with its last.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followPeerExchange(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<PeerExchangeEvent>> {
  const { id, eventPosition: latest } = await getPeerExchange(call, publicId)
  return eventsAfter<PeerExchangeEvent>(call, id, after ? eventPosition(after, latest) : latest - 1, {
    topic: peerTopic,
    read: (from, most) =>
      findAll<PeerExchangeEvent>(
        call.db,
        sql`select * from peer_exchange_events where exchange_id = ${id} and position > ${from} order by position limit ${most}`,
      ),
    isLast: ({ status }) => isFinal(status),
    isOver: async () => {
      const exchange = await findExchangeRow(call.db, id)
      return exchange === undefined || !isOpen(exchange)
    },
  })
}

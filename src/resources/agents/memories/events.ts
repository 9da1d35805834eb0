/** What happens to the memories of a space: written with the change, followed from any position. */
import { allow, allowIn } from '#src/platform/access.ts'
import { decodeId } from '#src/platform/ids.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { addCappedEvent } from '#src/platform/streams/capped-log.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Memory } from './rows.ts'
import { findSpace, lockSpace, type MemoryOwner } from './spaces.ts'

/** The types of events, each with its meaning. */
export const memoryEventTypes = {
  'memory.created': 'The memory was created.',
  'memory.updated': 'Its body or category changed.',
  'memory.deleted': 'It was deleted.',
} as const
/** The type of an event. */
export type MemoryEventType = keyof typeof memoryEventTypes

/** An event; ids are stored uuids, positions grow by one. */
export type MemoryEvent = Row<'memory_events', { type: MemoryEventType }>

/** What notices of changed spaces are about. */
export const memoryTopic = 'memories'

/** Adds an event in the transaction of its change; the oldest are deleted when there are too many. */
export async function addMemoryEvent(
  tx: Tx,
  { id, spaceId, revision }: Pick<Memory, 'id' | 'spaceId' | 'revision'>,
  type: MemoryEventType,
): Promise<void> {
  await addCappedEvent(tx, {
    topic: memoryTopic,
    id: spaceId,
    next: sql`update memory_spaces set event_position = event_position + 1 where id = ${spaceId} returning event_position as position`,
    old: sql`delete from memory_events where space_id = ${spaceId}`,
    kept: memoryLimits.eventsKept,
    insert: sql`insert into memory_events (space_id, position, type, memory_id, revision) select ${spaceId}, position, ${type}, ${id}, ${revision}`,
  })
}

/**
 * What happens to the caller's memories, or to those that an organization shares, after the cursor (from now on without
 * one), as it happens.
 * @throws BerthError forbidden; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followMemories(
  call: Call & { signal?: AbortSignal },
  organizationId: string | null | undefined,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<MemoryEvent>> {
  const owner = ownerOf(call, organizationId)
  const space = (await findSpace(call.db, owner)) ?? (await transaction(call.db, (tx) => lockSpace(tx, owner)))
  return followRows<MemoryEvent>(call, space.id, after, {
    topic: memoryTopic,
    rows: sql`memory_events where space_id = ${space.id}`,
    position: space.eventPosition,
    latest: space.eventPosition,
  })
}

/**
 * Whose memories a list or a stream is about: the caller's own in the active organization, or those that the named
 * organization shares.
 * @throws BerthError forbidden when they do not belong to it.
 */
export function ownerOf(call: Pick<Call, 'caller'>, organizationId: string | null | undefined): MemoryOwner {
  if (organizationId === null || organizationId === undefined) {
    const scope = allow(call.caller, 'memories:read')
    return { organizationId: scope.organizationId, userId: scope.userId }
  }
  const scope = allowIn(call.caller, 'memories:read', decodeId('organization', organizationId))
  return { organizationId: scope.organizationId, userId: null }
}

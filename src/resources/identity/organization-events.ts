/** What changes in an organization: one stream of all objects that its lists show, for whoever may see each of them. */
import { actingIn, allow, findScope, type Caller } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { nowMs } from '#src/platform/clock.ts'
import { patiently } from '#src/platform/patience.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { createFanOut } from '#src/platform/streams/fan-out.ts'
import type { Piece } from '#src/platform/streams/follow.ts'
import { organizationEventLimits } from './organization-events/limits.ts'
import { cursorOf, horizon, isAfter, readCursor, readEnd, type EventPosition } from './organization-events/positions.ts'
import { listenForEvents } from './organization-events/tail.ts'
import { watchedTypeNames, watchedTypes, type WatchedType } from './organization-events/watched.ts'

/** A change of an object. `nodeId`: its stored id. */
export type OrganizationEvent = Row<
  'organization_events',
  { type: WatchedType; change: 'created' | 'updated' | 'deleted' }
>

/** The events of an organization by its stored id; see fan-out.ts. */
const { follow: followEvents } = createFanOut<OrganizationEvent, EventPosition>({
  name: 'the events of an organization',
  read: readEvents,
  watch(db, id, { ring, signal }) {
    listenForEvents(db, id, ring, signal) // before the position is read, so that none is missed
    return {
      start: patiently(() => readEnd(db), signal),
      read: (after) => patiently(() => readEvents(db, id, after), signal),
    }
  },
  positionOf: (event) => event,
  isAfter,
  isAside: () => false,
  isLast: () => false,
  sizeBytes: () => eventBytes,
})
const eventBytes = 500 // about, in memory

async function readEvents(db: Db, organizationId: string, after: EventPosition): Promise<Piece<OrganizationEvent>> {
  const { readAtOnce } = organizationEventLimits
  const items = await findAll<OrganizationEvent>(
    db,
    sql`
    select * from organization_events
    where organization_id = ${organizationId} and (transaction, id) > (${after.transaction}, ${after.id}) and transaction < ${horizon}
    order by transaction, id limit ${readAtOnce}`,
  )
  return { items, more: items.length >= readAtOnce } // types that only a newer process knows are shown to nobody
}

/**
 * The changes of the organization's objects of these types: those after the cursor, without one only new ones, then live ones.
 * @param types all that the caller may read, without it.
 * @throws BerthError forbidden when the caller does not belong to it, or may not read one of the types; invalid_request for a
 * text that is no cursor, replay_retention_exceeded for one that is too old.
 */
export async function followOrganization(
  call: Call & { signal?: AbortSignal },
  publicId: string | null | undefined,
  types: readonly WatchedType[] | null | undefined,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<OrganizationEvent>> {
  const { organizationId, userId } = allowInGiven(call.caller, 'events:read', publicId)
  const caller = actingIn(call.caller, organizationId)
  const shown = new Set(types ?? readable(caller))
  if (types) for (const type of shown) allow(caller, watchedTypes[type])
  const position = after === null || after === undefined ? await readEnd(call.db) : await readCursor(call.db, after)
  return followEvents(
    call,
    organizationId,
    position,
    ({ type, ownerUserId }) => shown.has(type) && (ownerUserId === null || ownerUserId === userId),
  )
}

function readable(caller: Caller): WatchedType[] {
  return watchedTypeNames.filter((type) => findScope(caller, watchedTypes[type]) !== undefined)
}

/** The cursor of an event. */
export function eventCursor(event: OrganizationEvent): string {
  return cursorOf(event, Date.parse(event.createdAt))
}

/**
 * A cursor before everything that a request reads together with it: some seconds before the present, because the parts of a
 * request are read in any order. Null for whoever may not follow the organization.
 */
export async function currentCursor(call: Call, organizationId: string): Promise<string | null> {
  if (!findScope(actingIn(call.caller, organizationId), 'events:read')) return null
  const { cursorBeforeMs, cursorBeforeEvents } = organizationEventLimits
  const end = await readEnd(call.db)
  const recent = await findOne<EventPosition>(
    call.db,
    sql`
    select transaction, 0 as id from (
      select transaction, created_at from organization_events
      where organization_id = ${organizationId} order by transaction desc, id desc limit ${cursorBeforeEvents}) newest
    where created_at > clock_timestamp() - ${cursorBeforeMs} * interval '1 millisecond'
    order by transaction limit 1`,
  )
  return cursorOf(recent && isAfter(end, recent) ? recent : end, nowMs())
}

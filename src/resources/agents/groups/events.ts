/** What happens in a group: written with the change, followed from any revision without gaps or repeats. */
import { encodeId } from '#src/platform/ids.ts'
import { type ParentId } from '#src/platform/nouns.ts'
import { allowAnywhere } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { follow, listenAlone } from '#src/platform/streams/follow.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { TaskStatus } from '#src/resources/agents/tasks/rows.ts'
import { groupLimits } from './limits.ts'
import { findRunsWhere, groupTopic, isRunOpen, readGroup, readGroupRun, type GroupRun } from './rows.ts'

/** The types of events, each with its meaning. */
export const groupEventTypes = {
  'group.created': 'The group was created.',
  'group.updated': 'Its name or description changed.',
  'group.message': 'Somebody said something.',
  'group.run': 'A run began to wait, or its status or what it waits for changed.',
} as const
/** The type of an event. */
export type GroupEventType = keyof typeof groupEventTypes

/** An event; ids are stored uuids. Its position is the revision that the group had from then on. */
export type GroupEvent = Row<'group_events', { type: GroupEventType; runStatus: TaskStatus | null }>

/** What an event is about. */
type About = { messageId?: string; runId?: string; runStatus?: TaskStatus }

/**
 * Adds an event in the transaction of its change, which has locked the group; the oldest are deleted when there are too
 * many.
 * @returns the group's new revision.
 */
export async function addGroupEvent(
  tx: Tx,
  groupId: string,
  type: GroupEventType,
  { messageId, runId, runStatus }: About = {},
): Promise<number> {
  const { position } = await getOne<Pick<GroupEvent, 'position'>>(
    tx,
    sql`
    with next as (update groups set revision = revision + 1, updated_at = now() where id = ${groupId} returning revision as position),
      old as (delete from group_events using next where group_id = ${groupId} and group_events.position <= next.position - ${groupLimits.eventsKept})
    insert into group_events (group_id, position, type, message_id, run_id, run_status)
    select ${groupId}, position, ${type}, ${messageId ?? null}, ${runId ?? null}, ${runStatus ?? null} from next returning position`,
  )
  publish(tx, groupTopic, groupId)
  return position
}

type Following = Call & { signal?: AbortSignal }

/**
 * What happens in a group after the cursor, which is a revision (from now on without one), as it happens, until the group
 * is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor; replay_retention_exceeded when the next event
 * is not kept any more. All before the first event, except that a reader who is too slow may fall out of what is kept.
 */
export async function followGroup(
  call: Following,
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<GroupEvent>> {
  const group = await readGroup(call.db, allowAnywhere(call.caller, 'groups:read'), publicId)
  const position = after ? eventPosition(after, group.revision) : group.revision
  await readEvents(call.db, group.id, position, 1)
  return eventsAfter<GroupEvent>(call, group.id, position, {
    topic: groupTopic,
    read: (from, most) => readEvents(call.db, group.id, from, most),
    isLast: () => false,
    isOver: async () => (await findOne(call.db, sql`select 1 from groups where id = ${group.id}`)) === undefined,
  })
}

/** The events after a position. @throws BerthError replay_retention_exceeded when the first of them is not kept any more. */
async function readEvents(db: Db, groupId: string, after: number, most: number): Promise<GroupEvent[]> {
  const events = await findAll<GroupEvent>(
    db,
    sql`select * from group_events where group_id = ${groupId} and position > ${after} order by position limit ${most}`,
  )
  const [first] = events
  if (first && first.position !== after + 1)
    throw new BerthError(
      'replay_retention_exceeded',
      `The next event is not kept any more: only the newest ${groupLimits.eventsKept} are. Read the group as it is now, and go on from its event cursor.`,
    )
  return events
}

/** Which run is meant, by public ids. `groupId`: when given, a run of another group is not found. */
export type RunNamed = { groupId?: ParentId; runId: string }

/**
 * A run at every change: first as it is now, unless it has not changed since the cursor, which is a revision; of several
 * quick changes only the last. Ends when the run does.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first.
 */
export async function followGroupRun(
  call: Following,
  { groupId, runId }: RunNamed,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<GroupRun>> {
  const scope = allowAnywhere(call.caller, 'groups:read')
  const run = await readGroupRun(call.db, scope, groupId, runId)
  const { revision: latest } = await readGroup(call.db, scope, encodeId('group', run.groupId))
  const of = sql`r.id = ${run.id}`
  return follow<GroupRun, number>(call, after ? eventPosition(after, latest) : 0, {
    sit: (signal) => listenAlone(call.pubsub, groupTopic, run.groupId, signal),
    read: async (position) => ({
      items: await findRunsWhere(call.db, sql`${of} and r.revision > ${position}`),
      more: false,
    }),
    isOver: async () => !(await findRunsWhere(call.db, of)).some(isRunOpen),
    positionOf: ({ revision }) => revision,
    isAfter: (one, other) => one > other,
    isLast: (one) => !isRunOpen(one),
  })
}

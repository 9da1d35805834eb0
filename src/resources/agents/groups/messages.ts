/** What is said in groups: sending messages, the snapshot, and the history. */
import { allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import {
  pageSql,
  readSizedPagesOfEach,
  type Direction,
  type Loaded,
  type PagesOf,
  type PageReading,
  type PageWindow,
} from '#src/platform/pages.ts'
import { readWithinBytes, withinPageBytes } from '#src/platform/pages/bytes.ts'
import { change, findAll, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { beginIfRoom } from '#src/resources/agents/tasks.ts'
import { addMessage, addRun } from './conversation.ts'
import { mentionsUnknown, recipientsOf, userHandle } from './handles.ts'
import { groupLimits } from './limits.ts'
import {
  checkChange,
  findMembers,
  findRunsWhere,
  reachOfChange,
  readGroup,
  type Group,
  type GroupMember,
  type GroupMessage,
  type GroupRun,
} from './rows.ts'
import { readText } from './texts.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** The input of a message. `recipientIds`: public ids of sessions; without it the mentions in the text count. */
export type MessageInput = { text: string; recipientIds?: readonly string[] | null }

/** A message that was sent, and the runs of those who are to answer it. */
export type SentMessage = { message: GroupMessage; runs: GroupRun[] }

/**
 * Says something in a group. Each member that is to answer gets a run, which begins at once if its session is idle.
 * @throws BerthError not_found, invalid_request; rate_limited when too much waits for one of them.
 */
export async function sendGroupMessage(call: Call, publicId: string, input: MessageInput): Promise<SentMessage> {
  const scope = reachOfChange(call.caller)
  const text = readText('text', input.text, groupLimits.textLength)
  return transaction(call.db, async (tx) => {
    const known = await readGroup(tx, scope, publicId)
    checkChange(call.caller, known)
    await checkStorage({ ...call, db: tx }, known.organizationId, 'transcripts')
    const members = await findMembers(tx, [known.id])
    const recipients = recipientsOf(members, text, input.recipientIds)
    await lockSessions(tx, recipients)
    const group = await readGroup(tx, scope, publicId, sql`for no key update`)
    checkCount(group)
    const message = await addMessage(tx, group, {
      authorType: 'user',
      authorId: group.ownerUserId,
      authorHandle: userHandle,
      text,
      runId: null,
      recipients,
      undeliveredReason: !input.recipientIds && mentionsUnknown(members, text) ? 'unknown_mention' : null,
    })
    const ids: string[] = []
    const cause = { messageId: message.id, originId: message.id, hops: 0 }
    for (const recipient of recipients) ids.push(await addRun(tx, group, recipient, cause))
    for (const { sessionId } of recipients) await beginIfRoom(call, tx, sessionId)
    const runs = await findRunsWhere(tx, sql`r.id = any(${ids}::uuid[])`)
    return { message, runs: runs.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id)) }
  })
}

/** Sessions are locked before their group, in the order of their ids. */
async function lockSessions(tx: Tx, members: readonly GroupMember[]): Promise<void> {
  const ids = members.map(({ sessionId }) => sessionId)
  await change(tx, sql`select 1 from sessions where id = any(${ids}::uuid[]) order by id for no key update`)
}

function checkCount({ messageSequence }: Group): void {
  if (messageSequence >= groupLimits.messagesMax)
    throw new BerthError(
      'rate_limited',
      `This group has ${groupLimits.messagesMax} messages, which is the limit. Create another one.`,
      { retryAfterSeconds: 60 },
    )
}

/** A group, its newest messages, oldest first, and its runs, all as they were at one moment. */
export type GroupSnapshot = { group: Group; transcript: GroupMessage[]; runs: GroupRun[]; hasMore: boolean }

/** A group as it is now: its newest messages, and of each member the runs that have not ended and the last one. @throws BerthError not_found. */
export async function getGroupSnapshot(call: Call, publicId: string): Promise<GroupSnapshot> {
  const scope = allowAnywhere(call.caller, 'groups:read')
  return atOneMoment(call.db, async (tx) => {
    const group = await readGroup(tx, scope, publicId)
    const { messages: transcript, hasMore } = await newestMessages(tx, group.id, null)
    const runs = await findRunsWhere(
      tx,
      sql`r.group_id = ${group.id} and r.id in (
        select (select last.id from group_runs last where last.session_id = m.session_id and last.group_id = m.group_id order by last.id desc limit 1)
        from group_members m where m.group_id = ${group.id}
        union select open.id from session_tasks open join group_members m on m.session_id = open.session_id
        where m.group_id = ${group.id} and open.finished_at is null)`,
    )
    return { group, transcript, runs, hasMore }
  })
}

/** Reads in one transaction that sees the database as it was when it began. */
function atOneMoment<Result>(db: Db, read: (tx: Tx) => Promise<Result>): Promise<Result> {
  return transaction(db, async (tx) => {
    await change(tx, sql`set transaction isolation level repeatable read, read only`)
    return read(tx)
  })
}

/** Messages of a group, oldest first, and whether there are older ones. */
export type GroupHistory = { messages: GroupMessage[]; hasMore: boolean }

/**
 * The messages before a sequence number, the newest of them.
 * @throws BerthError not_found; invalid_request for a number below 1.
 */
export async function getGroupHistory(
  call: Call,
  publicId: string,
  beforeSequence: number | null | undefined,
): Promise<GroupHistory> {
  const { id } = await readGroup(call.db, allowAnywhere(call.caller, 'groups:read'), publicId)
  const before = beforeSequence ?? null
  if (before !== null && (!Number.isSafeInteger(before) || before < 1))
    throw new BerthError('invalid_request', 'before_sequence must be the sequence of a message.', {
      field: 'before_sequence',
    })
  return newestMessages(call.db, id, before)
}

async function newestMessages(db: Db, groupId: string, before: number | null): Promise<GroupHistory> {
  const rows = await findAll<GroupMessage>(
    db,
    sql`
    select * from group_messages where group_id = ${groupId} and (${before}::bigint is null or sequence < ${before})
    order by sequence desc limit ${groupLimits.pageMax + 1}`,
  )
  return { messages: rows.slice(0, groupLimits.pageMax).reverse(), hasMore: rows.length > groupLimits.pageMax }
}

/**
 * The messages of these stored ids that are in groups of the caller's.
 * @throws BerthError invalid_request when several of them are larger together than a page may be.
 */
export async function findGroupMessages(call: Call, ids: readonly string[]): Promise<GroupMessage[]> {
  const mine = ownedByCaller(allowAnywhere(call.caller, 'groups:read'))
  const sized = sql<GroupMessage>`
    select *, octet_length(text) as size_bytes from group_messages
    where id = any(${ids}::uuid[]) and group_id in (select g.id from groups g where ${mine})`
  return (await readWithinBytes(call.db, sized, limits.pageBytes)).loaded
}

/**
 * The messages of each group of these stored ids, oldest first by default.
 * @param bytesMax what all pages may have together.
 * @throws BerthError invalid_request.
 */
export async function pageMessagesOfEach(
  call: Call,
  groupIds: readonly string[],
  window: PageWindow,
  { direction = 'asc', bytesMax = limits.pageBytes }: { direction?: Direction | undefined; bytesMax?: number } = {},
): Promise<Loaded<PagesOf<GroupMessage>>> {
  const pageBytesMax = Math.min(bytesMax, limits.pageBytes)
  const mine = ownedByCaller(allowAnywhere(call.caller, 'groups:read'))
  const chosen = sql`group_id = parent.id`
  return readSizedPagesOfEach<GroupMessage, string>(call.db, window, {
    cursors: { keyOf: sequenceOf, cursorOf: ({ sequence }) => String(sequence) },
    parents: sql`select id from groups where id = any(${groupIds}::uuid[]) and ${mine}`,
    parentName: 'group',
    rows: (reading: PageReading) => {
      const { within, cut } = pageSql(sql`sequence`, reading, direction)
      const listed = sql`select *, octet_length(text) as size_bytes from group_messages where ${chosen} and ${within} ${cut}`
      return withinPageBytes(listed, sql`sequence`, reading, direction, Math.floor(pageBytesMax / groupIds.length))
    },
    whole: sql`group_messages where ${chosen}`,
    most: limits.connectionFirstMax,
    bytesMax: pageBytesMax,
  })
}

function sequenceOf(cursor: string): string | undefined {
  return /^\d{1,15}$/.test(cursor) ? cursor : undefined
}

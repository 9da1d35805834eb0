/**
 * The conversation of a group: messages, and the runs with which members answer them. Written in the transaction of what
 * they follow from, with the group's row locked; the sessions of the members are locked before it.
 */
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { change, findOne, getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { isOpen, queueTask, type Task } from '#src/resources/agents/tasks/rows.ts'
import { addGroupEvent } from './events.ts'
import { mentionedBy, mentionsUnknown, withoutQuotes } from './handles.ts'
import { groupLimits } from './limits.ts'
import {
  findMembers,
  sessionCounters,
  type Group,
  type GroupMember,
  type GroupMessage,
  type RunCounters,
  type RunRow,
  type UndeliveredReason,
} from './rows.ts'
import { startOf } from '#src/platform/texts.ts'

/** What is said: by whom, and to whom. */
type Said = Pick<GroupMessage, 'authorType' | 'authorId' | 'authorHandle' | 'text' | 'runId'> & {
  recipients: readonly GroupMember[]
  undeliveredReason?: UndeliveredReason | null
}

/** Where a run comes from: the message that it answers, the user's message before that, and how far that is away. */
type Cause = { messageId: string; originId: string; hops: number }

/** Adds a message to the transcript. */
export async function addMessage(
  tx: Tx,
  group: Pick<Group, 'id'>,
  { authorType, authorId, authorHandle, text, runId, recipients, undeliveredReason = null }: Said,
): Promise<GroupMessage> {
  const message = await getOne<GroupMessage>(
    tx,
    sql`
    with next as (update groups set message_sequence = message_sequence + 1 where id = ${group.id} returning message_sequence as sequence)
    insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids, run_id, undelivered_reason)
    select ${newUuid()}, ${group.id}, sequence, ${authorType}, ${authorId}, ${authorHandle}, ${text},
      ${recipients.map(({ sessionId }) => sessionId)}::uuid[], ${runId}, ${undeliveredReason}
    from next returning *`,
  )
  await addGroupEvent(tx, group.id, 'group.message', { messageId: message.id })
  return message
}

/**
 * Adds the run of a member, which waits for its session.
 * @returns its stored id.
 * @throws BerthError rate_limited when too many tasks wait for the session; nothing was written.
 */
export async function addRun(
  tx: Tx,
  { id: groupId, organizationId, ownerUserId }: Pick<Group, 'id' | 'organizationId' | 'ownerUserId'>,
  { sessionId }: Pick<GroupMember, 'sessionId'>,
  { messageId, originId, hops }: Cause,
): Promise<string> {
  const id = newUuid()
  const { status } = await queueTask(tx, { id, kind: 'group_run', organizationId, ownerUserId, sessionId })
  const revision = await addGroupEvent(tx, groupId, 'group.run', { runId: id, runStatus: status })
  await change(
    tx,
    sql`
    insert into group_runs (id, group_id, organization_id, owner_user_id, session_id, message_id, origin_id, hops, revision)
    values (${id}, ${groupId}, ${organizationId}, ${ownerUserId}, ${sessionId}, ${messageId}, ${originId}, ${hops}, ${revision})`,
  )
  return id
}

/**
 * What follows from a new status of a run's task: once completed, its answer is a message of the member, and whom that
 * mentions is to answer it. The session is locked, unless it is gone.
 */
export async function followRunTask(tx: Tx, task: Task): Promise<void> {
  const run = await findOne<RunRow>(tx, sql`select * from group_runs where id = ${task.id}`)
  const group = run && (await findOne<Group>(tx, sql`select * from groups where id = ${run.groupId} for no key update`))
  if (!run || !group) return
  if (task.status === 'completed' && task.answer) await addReply(tx, group, run, task.answer)
  const revision = await addGroupEvent(tx, group.id, 'group.run', { runId: run.id, runStatus: task.status })
  const session = await findOne<{ counters: RunCounters } & Pick<Row<'sessions'>, 'eventPosition'>>(
    tx,
    sql`select ${sessionCounters} as counters, event_position from sessions s where id = ${run.sessionId}`,
  )
  const from = run.usageFrom ?? (task.startedAt ? session?.counters : undefined)
  const usage = from && session ? usageSince(from, session.counters) : run.usage
  await change(
    tx,
    sql`
    update group_runs
    set revision = ${revision}, usage_from = ${from ? JSON.stringify(from) : null}::jsonb,
      usage = ${usage ? JSON.stringify(usage) : null}::jsonb,
      through_position = ${isOpen(task) || !task.startedAt ? null : (session?.eventPosition ?? null)} where id = ${run.id}`,
  )
}

/** The counters of a session that has used nothing. */
export const nothingUsed: RunCounters = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreation5mInputTokens: 0,
  cacheCreation1hInputTokens: 0,
  webSearchRequests: 0,
  webFetchRequests: 0,
  costNanoUsd: 0,
  activeMs: 0,
}

/** What a session used from one moment to another. */
export function usageSince(from: RunCounters, to: RunCounters): RunCounters {
  const used = { ...nothingUsed }
  for (const name of Object.keys(used) as (keyof RunCounters)[]) used[name] = Math.max(0, to[name] - from[name]) // of the type above
  return used
}

async function addReply(tx: Tx, group: Group, run: RunRow, answer: string): Promise<void> {
  const members = await findMembers(tx, [group.id])
  const author = members.find(({ sessionId }) => sessionId === run.sessionId)
  if (!author) throw new Error('a run of a session that is no member')
  const text = shortened(answer)
  const mentioned = mentionedBy(author, members, text) // in what those that are asked can read
  const hops = run.hops + 1
  const room = hops > groupLimits.hopsMax ? 0 : await roomFor(tx, run.originId)
  const recipients = mentioned.slice(0, room)
  const reply = await addMessage(tx, group, {
    authorType: 'member',
    authorId: author.sessionId,
    authorHandle: author.handle,
    text,
    runId: run.id,
    recipients,
    undeliveredReason: whyNotAll(
      recipients.length < mentioned.length,
      hops,
      mentionsUnknown(members, withoutQuotes(text)),
    ),
  })
  const busy: string[] = []
  for (const recipient of recipients) {
    try {
      await addRun(tx, group, recipient, { messageId: reply.id, originId: run.originId, hops })
    } catch (error) {
      if (!(error instanceof BerthError && error.code === 'rate_limited')) throw error
      busy.push(recipient.sessionId)
    }
  }
  if (busy.length > 0)
    await change(
      tx,
      sql`
      update group_messages set undelivered_reason = 'member_busy', recipient_ids = (select coalesce(array_agg(one order by place), '{}')
        from unnest(recipient_ids) with ordinality as named (one, place) where one <> all(${busy}::uuid[])) where id = ${reply.id}`,
    )
}

function whyNotAll(isStopped: boolean, hops: number, isUnknown: boolean): UndeliveredReason | null {
  if (isStopped) return hops > groupLimits.hopsMax ? 'hop_limit' : 'run_limit'
  return isUnknown ? 'unknown_mention' : null
}

/** How many more runs may come from a message of the user's. */
async function roomFor(tx: Tx, originId: string): Promise<number> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from group_runs where origin_id = ${originId}`,
  )
  return Math.max(0, groupLimits.runsMax - count)
}

function shortened(text: string): string {
  if (text.length <= groupLimits.textLength) return text
  const note = '\n[The rest is left out.]'
  return startOf(text, groupLimits.textLength - note.length) + note
}

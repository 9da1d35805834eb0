/** Groups, their members, messages and runs as they are stored, and their queries. Only its owner finds a group. */
import type { RawBuilder } from 'kysely'
import { allowAnywhere, allowIn, ownedByCaller, type Caller, type Reach, type Scope } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { isParent, type ParentId, rowsOf } from '#src/platform/nouns.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { SessionStatus } from '#src/resources/agents/sessions/rows.ts'
import type { Counted } from '#src/resources/agents/sessions/usage.ts'
import { isOpen, type Task } from '#src/resources/agents/tasks/rows.ts'

/** A group as it is stored; moments are wire text, ids are uuids. */
export type Group = Pick<
  Row<'groups'>,
  | 'id'
  | 'organizationId'
  | 'ownerUserId'
  | 'name'
  | 'description'
  | 'revision'
  | 'messageSequence'
  | 'createdAt'
  | 'updatedAt'
>

/** A member of a group, with the status of its session. */
export type GroupMember = Pick<
  Row<'group_members'>,
  'groupId' | 'sessionId' | 'agentId' | 'builtinAgent' | 'handle' | 'displayName' | 'seenSequence'
> & { status: SessionStatus | 'deleted' }

/** Why somebody whom a message mentions is not to answer it; the last where nobody has the handle. */
export type UndeliveredReason = 'hop_limit' | 'run_limit' | 'member_busy' | 'unknown_mention'

/** A message of a group. `authorId` is the person or the session that said it, `recipientIds` the sessions that are to answer. */
export type GroupMessage = Row<
  'group_messages',
  { authorType: 'user' | 'member'; undeliveredReason: UndeliveredReason | null }
>

/** What a session counts; a run's share is the difference. Unit of `activeMs`: milliseconds. */
export type RunCounters = Omit<Counted, 'runningSince'>

/** A tool use of a run that waits for its user. */
export type PendingUse = { id: string; type: string; data: Readonly<Record<string, unknown>>; createdAt: string }

/** A run as its own row has it. `usageFrom`: the session's counters when it began; `usage`: what it had used when it last changed. */
export type RunRow = Row<'group_runs', { usageFrom: RunCounters | null; usage: RunCounters | null }>

/** A run, together with its task and its reply. */
export type GroupRun = RunRow &
  Pick<Task, 'status' | 'error' | 'fromPosition' | 'startedAt' | 'finishedAt'> & {
    replyId: string | null
    replyText: string | null
    pending: PendingUse[]
    /** The session's counters now; null when it has ended, or the session is gone. */
    counters: RunCounters | null
  }

/** Queries for groups. */
export const groupRows = rowsOf<Group>('group', 'groups', 'group')

/** The caller's group. @param lock `for no key update` to hold it. @throws BerthError not_found. */
export function readGroup(db: Db, scope: Scope, publicId: string, lock: RawBuilder<unknown> = sql``): Promise<Group> {
  return groupRows.read(db, publicId, ownedByCaller(scope), lock)
}

/**
 * Where a caller looks for what they are to change of groups: wherever they may read. `checkChange` then says whether
 * they may change it there.
 * @throws BerthError as allow, when they may change no group at all.
 */
export function reachOfChange(caller: Caller): Reach {
  allowAnywhere(caller, 'groups:write')
  return allowAnywhere(caller, 'groups:read')
}

/** Checks that the caller may change what they found in a group. @throws BerthError not_permitted_for_role. */
export function checkChange(caller: Caller, { organizationId }: Pick<Group, 'organizationId'>): void {
  allowIn(caller, 'groups:write', organizationId)
}

/** The members of each group of these stored ids, in their order. */
export async function findMembers(db: Db, groupIds: readonly string[]): Promise<GroupMember[]> {
  return findAll<GroupMember>(
    db,
    sql`
    select m.group_id, m.session_id, m.agent_id, m.builtin_agent, m.handle, m.display_name, m.seen_sequence, coalesce(s.status, 'deleted') as status
    from group_members m left join sessions s on s.id = m.session_id
    where m.group_id = any(${groupIds}::uuid[]) order by m.group_id, m.place`,
  )
}

/** Runs `r` with their tasks and replies. */
export async function findRunsWhere(db: Db, condition: RawBuilder<unknown>): Promise<GroupRun[]> {
  return findAll<GroupRun>(db, sql`select ${runColumns} from ${runTables} where ${condition} order by r.id`)
}

/**
 * A run of the caller's group.
 * @param groupId when given, a run of another group is not found
 * @throws BerthError not_found.
 */
export async function readGroupRun(db: Db, scope: Scope, groupId: ParentId, runId: string): Promise<GroupRun> {
  const id = decodeId('groupRun', runId)
  const inGroup = isParent('group', groupId, sql`r.group_id`)
  const [run] = id ? await findRunsWhere(db, sql`r.id = ${id} and ${inGroup} and ${ownedByCaller(scope)}`) : []
  if (!run) throw notFound('run of this group')
  return run
}

/** Whether a run has not ended. */
export function isRunOpen(run: Pick<GroupRun, 'status'>): boolean {
  return isOpen(run)
}

/** What a session `s` counts, as JSON. */
export const sessionCounters = sql`jsonb_build_object('inputTokens', s.input_tokens, 'outputTokens', s.output_tokens,
  'cacheReadInputTokens', s.cache_read_input_tokens, 'cacheCreation5mInputTokens', s.cache_creation_5m_input_tokens,
  'cacheCreation1hInputTokens', s.cache_creation_1h_input_tokens, 'webSearchRequests', s.web_search_requests,
  'webFetchRequests', s.web_fetch_requests, 'costNanoUsd', s.cost_nano_usd,
  'activeMs', s.active_ms + coalesce((extract(epoch from now() - s.running_since) * 1000)::bigint, 0))`

/** Where runs stand: `r`, with their tasks `t`, their sessions `s` and their replies. A task and its run are made together. */
export const runTables = sql`
  group_runs r
  join (select id as task_id, status, error, from_position, started_at, finished_at from session_tasks) t on t.task_id = r.id
  left join (select id as reply_id, text as reply_text, run_id from group_messages) reply on reply.run_id = r.id`

/** The columns of a GroupRun, all as they were at one moment. A tool use waits as long as nobody has answered it. */
export const runColumns = sql`r.*, t.status, t.error, t.from_position, t.started_at, t.finished_at, reply.reply_id, reply.reply_text,
  case when t.finished_at is null and r.usage_from is not null then (select ${sessionCounters} from sessions s where s.id = r.session_id) end as counters,
  (select coalesce(json_agg(json_build_object('id', e.id, 'type', e.type, 'data', e.data, 'createdAt', e.created_at) order by e.position), '[]')
    from session_events e where t.status = 'requires_action' and e.session_id = r.session_id and e.position > t.from_position
      and (e.type = 'agent.custom_tool_use' or e.type in ('agent.tool_use', 'agent.mcp_tool_use') and e.data ->> 'evaluated_permission' = 'ask')
      and not exists (select from session_events answer where answer.session_id = e.session_id and answer.answers = e.id)) as pending`

/** The notice that something happened in a group; the id is the group's. */
export const groupTopic = 'group'

/** The message with this stored id. */
export async function findMessageRow(db: Db, id: string): Promise<GroupMessage | undefined> {
  return findOne<GroupMessage>(db, sql`select * from group_messages where id = ${id}`)
}

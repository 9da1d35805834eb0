/** A group of the owner's with a run that has ended for the callers to try to reach, each part holding the canary. */
import { decodeId, encodeId, newId, newUuid } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { appendEvents } from '#src/resources/agents/sessions/log.ts'
import type { Berth } from '../../support/berth.ts'

/** Public ids. `groupMember` and `otherMember` are its sessions; the approval and the question are answered. */
export type GroupsTarget = {
  group: string
  groupMessage: string
  groupRun: string
  groupMember: string
  otherMember: string
  approval: string
  question: string
}

/** Ids of the same kinds that nothing has. */
export const absentGroupsTarget = (): GroupsTarget => ({
  group: newId('group'),
  groupMessage: newId('groupMessage'),
  groupRun: newId('groupRun'),
  groupMember: newId('session'),
  otherMember: newId('session'),
  approval: newId('approval'),
  question: newId('sessionEvent'),
})
/** Texts that are no ids. */
export const malformedGroupsTarget: GroupsTarget = {
  group: 'grp_x',
  groupMessage: 'gmsg_x',
  groupRun: 'grun_x',
  groupMember: 'sesn_x',
  otherMember: 'sesn_y',
  approval: 'apr_x',
  question: 'sevt_x',
}

/** Makes a group of two idle sessions of this agent, and a run that has replied after an approval and a question. */
export async function makeGroupsTarget(
  { services: { db } }: Berth,
  owner: { organizationId: string; userId: string },
  { agentId, environmentId, canary }: { agentId: string; environmentId: string; canary: string },
): Promise<GroupsTarget> {
  const { organizationId, userId } = owner
  const [groupId, messageId, replyId, runId] = [newUuid(), newUuid(), newUuid(), newUuid()]
  const [memberId, otherId, useId, questionId] = [newUuid(), newUuid(), newUuid(), newUuid()]
  for (const id of [memberId, otherId])
    await sql`
      insert into sessions (id, organization_id, owner_user_id, agent_id, agent_version, agent_definition, environment_id, kind, source, status)
      select ${id}, ${organizationId}, ${userId}, id, version, definition, ${environmentId}, 'computer', 'user', 'idle' from agents where id = ${agentId}`.execute(
      db,
    )
  const [use, question] = [encodeId('sessionEvent', useId), encodeId('sessionEvent', questionId)]
  await transaction(db, (tx) =>
    appendEvents(tx, memberId, [
      {
        type: 'agent.tool_use',
        id: useId,
        data: { name: 'bash', input: { command: canary }, evaluated_permission: 'ask' },
      },
      { type: 'agent.custom_tool_use', id: questionId, data: { name: 'ask_user', input: { question: canary } } },
      {
        type: 'user.tool_confirmation',
        queued: false,
        data: { tool_use_id: use, result: 'allow', deny_message: null },
      },
      {
        type: 'user.custom_tool_result',
        queued: false,
        data: { custom_tool_use_id: question, content: [{ type: 'text', text: 'x' }], is_error: false },
      },
    ]),
  )
  await sql`insert into groups (id, organization_id, owner_user_id, name, description, revision, message_sequence) values (${groupId}, ${organizationId}, ${userId}, ${canary}, ${canary}, 3, 2)`.execute(
    db,
  )
  await sql`
    insert into group_members (group_id, place, session_id, agent_id, handle, display_name)
    values (${groupId}, 1, ${memberId}, ${agentId}, 'one', ${canary}), (${groupId}, 2, ${otherId}, ${agentId}, 'two', ${canary})`.execute(
    db,
  )
  await sql`
    insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids)
    values (${messageId}, ${groupId}, 1, 'user', ${userId}, 'user', ${canary}, ${[memberId]}::uuid[])`.execute(db)
  await sql`
    insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, from_position, answer, expires_at, started_at, finished_at)
    values (${runId}, 'group_run', ${organizationId}, ${userId}, ${memberId}, 'completed', 0, ${canary}, now(), now(), now())`.execute(
    db,
  )
  await sql`
    insert into group_runs (id, group_id, organization_id, owner_user_id, session_id, message_id, origin_id, hops, revision, through_position)
    values (${runId}, ${groupId}, ${organizationId}, ${userId}, ${memberId}, ${messageId}, ${messageId}, 0, 3, 4)`.execute(
    db,
  )
  await sql`
    insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids, run_id)
    values (${replyId}, ${groupId}, 2, 'member', ${memberId}, 'one', ${canary}, '{}', ${runId})`.execute(db)
  await sql`insert into group_events (group_id, position, type, run_id, run_status) values (${groupId}, 3, 'group.run', ${runId}, 'completed')`.execute(
    db,
  )
  const chunks = [
    { type: 'start', messageId: encodeId('groupRun', runId) },
    { type: 'text-delta', id: use, delta: canary },
    { type: 'tool-input-available', toolCallId: use, toolName: 'bash', input: { command: canary } },
    { type: 'abort' },
  ].map((chunk) => JSON.stringify(chunk))
  await sql`
    insert into task_streams (task_id, last_number, ended_at) values (${runId}, ${chunks.length}, now() + interval '1 day')`.execute(
    db,
  ) // it can be read all the time
  await sql`
    insert into task_chunks (task_id, number, body, end_bytes)
    select ${runId}, number, body, number * 100 from unnest(${chunks}::text[]) with ordinality as chunk (body, number)`.execute(
    db,
  )
  return {
    group: encodeId('group', groupId),
    groupMessage: encodeId('groupMessage', replyId),
    groupRun: encodeId('groupRun', runId),
    groupMember: encodeId('session', memberId),
    otherMember: encodeId('session', otherId),
    approval: encodeId('approval', useId),
    question,
  }
}

/** Everything stored of it, as text. */
export async function groupsPicture({ services: { db } }: Berth, { group }: GroupsTarget): Promise<string[]> {
  const id = decodeId('group', group)
  const { rows } = await sql<{ row: string }>`
    select 'group ' || g::text as row from groups g where id = ${id} union all select 'member ' || m::text from group_members m where group_id = ${id}
    union all select 'message ' || m::text from group_messages m where group_id = ${id} union all select 'run ' || r::text from group_runs r where group_id = ${id}
    union all select 'task ' || t::text from session_tasks t where id in (select r.id from group_runs r where group_id = ${id})
    union all select 'chunk ' || c::text from task_chunks c where task_id in (select r.id from group_runs r where group_id = ${id})
    union all select 'group event ' || e::text from group_events e where group_id = ${id} order by 1`.execute(db)
  return rows.map(({ row }) => row)
}

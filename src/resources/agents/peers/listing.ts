/** Whom an agent could ask: what it is answered with when it names a session that is not there. */
import { encodeId } from '#src/platform/ids.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import { isByVmToken } from '#src/resources/agents/agents/rows.ts'
import type { Session } from '#src/resources/agents/sessions/rows.ts'

/** The newest other sessions of the person, and their agents, one JSON object a line: their names may be anything. */
export async function listThoseToAsk(
  db: Db,
  { id, organizationId, ownerUserId }: Pick<Session, 'id' | 'organizationId' | 'ownerUserId'>,
): Promise<string> {
  const sessions = await findAll<Pick<Session, 'id' | 'title' | 'status'> & { agent: string }>(
    db,
    sql`
    select id, title, status, agent_definition ->> 'name' as agent from sessions
    where organization_id = ${organizationId} and owner_user_id = ${ownerUserId} and id <> ${id} and status <> 'terminated' and not used_by_vm
    order by id desc limit ${peerLimits.listedMax}`,
  )
  const agents = await findAll<{ id: string; name: string }>(
    db,
    sql`
    select id, name from agents
    where organization_id = ${organizationId} and (owner_user_id is null or owner_user_id = ${ownerUserId}) and archived_at is null and not ${isByVmToken}
    order by id desc limit ${peerLimits.listedMax}`,
  )
  const lines = [
    ...sessions.map(({ id: one, title, status, agent }) =>
      JSON.stringify({ session_id: encodeId('session', one), agent, title, status }),
    ),
    ...agents.map(({ id: one, name }) => JSON.stringify({ session_id: encodeId('agent', one), starts_agent: name })),
  ]
  return lines.length === 0 ? 'There is nobody else to ask.' : `Those that can be asked:\n${lines.join('\n')}`
}

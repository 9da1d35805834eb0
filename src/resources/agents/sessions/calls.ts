/**
 * The tool calls that have started, and in which VM: recorded before each call, so that a crash does not lead to a
 * second one.
 */
import { change, findAll, sql, type Db } from '#src/platform/postgres.ts'
import { ClaimLost, type Claim } from './claims.ts'

/** A call that has started. `vmId` is null for a call outside a VM. */
export type BegunCall = { toolUseId: string; vmId: string | null; vmStartedAt: string | null }

/** Records that a call starts. @param vm its VM; null for a call outside a VM. @throws ClaimLost */
export async function beginCall(
  db: Db,
  { sessionId, fence }: Claim,
  toolUseId: string,
  vm: { id: string; startedAt: string | null } | null,
): Promise<void> {
  const noted = await change(
    db,
    sql`
    insert into session_calls (tool_use_id, session_id, vm_id, vm_started_at)
    select ${toolUseId}, id, ${vm?.id ?? null}, ${vm?.startedAt ?? null}
    from sessions
    where id = ${sessionId} and step_fence = ${fence} and status = 'running'`,
  )
  if (noted === 0) throw new ClaimLost()
}

/** Those of these tool uses that have started, by id. */
export async function readBegunCalls(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, BegunCall>> {
  if (ids.length === 0) return new Map()
  const rows = await findAll<BegunCall>(
    db,
    sql`select tool_use_id, vm_id, vm_started_at from session_calls where tool_use_id = any(${ids}::uuid[])`,
  )
  return new Map(rows.map((row) => [row.toolUseId, row]))
}

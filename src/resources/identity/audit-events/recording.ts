/** Who acts in a call, and what they do that changes no row. What changes rows is recorded by the database: migration 0068. */
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { actingAs, isActing, type Actor } from '#src/platform/postgres/actors.ts'
import { change, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { AuditedType } from './audited.ts'

/**
 * Does the work of a call as its caller, so that what it changes is recorded. Without a caller nothing is.
 * @param operation what was asked for, as the graph names it.
 */
export async function asCaller<Result>(
  call: Pick<Call, 'caller' | 'requestId' | 'address'>,
  operation: string,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const actor = actorOf(call)
  const { requestId, address = null } = call
  return actor ? actingAs({ ...actor, operation, address, requestId: requestIdOf(requestId) }, work) : work()
}

/** Does the work of whoever operates this host, or of a person by their stored id. `requestId`: public; absent for a command. */
export async function asNamed<Result>(
  { userId = null, operation, address = null, requestId }: Named,
  work: () => Promise<Result>,
): Promise<Result> {
  const kind = userId === null ? 'operator' : 'person'
  return actingAs(
    {
      kind,
      userId,
      keyId: null,
      vmId: null,
      authorizationId: null,
      operation,
      address,
      requestId: requestIdOf(requestId),
    },
    work,
  )
}

type Named = { userId?: string | null; operation: string; address?: string | null; requestId?: string }

function requestIdOf(requestId: string | undefined): string {
  return (requestId === undefined ? undefined : decodeId('request', requestId)) ?? newUuid()
}

function actorOf({ caller }: Pick<Call, 'caller'>): Omit<Actor, 'operation' | 'address' | 'requestId'> | null {
  if (caller.kind === 'key')
    return { kind: 'api_key', userId: null, keyId: caller.keyId, vmId: null, authorizationId: null }
  if (caller.kind !== 'person') return null
  const { userId, vmId, program } = caller
  const authorizationId = program?.authorizationId ?? null
  return { kind: vmId === null ? 'person' : 'vm_token', userId, keyId: null, vmId, authorizationId }
}

/** Records that whoever acts here used an object without a change of its row; nothing where nobody does. `id`: stored. */
export async function recordUse(
  db: Db,
  { organizationId, type, id, name }: { organizationId: string; type: AuditedType; id: string; name: string | null },
): Promise<void> {
  if (!isActing()) return
  await transaction(db, async (tx) =>
    change(tx, sql`select audit(array[${organizationId}::uuid], ${type}, ${id}, ${name}, 'used')`),
  )
}

/**
 * Audit events: who did what to which object, from where. The database writes one for each object that a call changes, in the
 * transaction of the change (migration 0068), so there is none of what failed or was rolled back.
 */
import { allow, owned } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { readsOf, rowsOf } from '#src/platform/nouns.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import type { AuditedType } from './audit-events/audited.ts'
import { auditLimits } from './audit-events/limits.ts'

type Stored = Row<
  'audit_events',
  {
    actorKind: 'person' | 'api_key' | 'vm_token' | 'operator'
    change: 'created' | 'updated' | 'deleted' | 'used'
    objectType: AuditedType
  }
>

/** An audit event; stored ids. `actorName`: of the person, key or VM now; null when it is gone. */
export type AuditEvent = Stored & { actorName: string | null }

/** Which object or actor: `type` is null where the id does not say it. */
export type AuditedNode = { type: string | null; id: string }

/** Moments as texts, in whole milliseconds: `after` and `before` are not in them, `from` and `until` are. */
type Bounds = { after?: Bound; from?: Bound; before?: Bound; until?: Bound }
type Bound = string | null | undefined

/** What narrows a list of events; `actor` and `node` are stored ids. */
export type AuditEventFilter = {
  actor?: AuditedNode | null
  node?: AuditedNode | null
  nodeTypes?: readonly AuditedType[] | null
  operations?: readonly string[] | null
  at?: Bounds | null
}

type Sql = ReturnType<typeof sql>

const columns = sql`
  id, organization_id, actor_kind, actor_user_id, actor_key_id, actor_vm_id, actor_authorization_id, actor_program, operation, change, object_type,
  object_id, address, request_id, created_at,
  case actor_kind
    when 'person' then (select name from users where id = actor_user_id)
    when 'api_key' then (select name from api_keys where key_id = actor_key_id)
    when 'vm_token' then (select name from vms where id = actor_vm_id)
  end as actor_name,
  case object_type
    when 'Member' then (select u.name from memberships m join users u on u.id = m.user_id where m.id::text = object_id)
    else object_name
  end as object_name`
const events = rowsOf<AuditEvent>('auditEvent', 'audit_events', 'audit event', columns)

/** How callers read audit events. */
export const auditEventReads = readsOf<AuditEvent, AuditEventFilter>(events, {
  may: 'audit:read',
  whose: owned,
  listed: isChosen,
})

/** @throws BerthError invalid_request. */
function isChosen({ actor, node, nodeTypes, operations, at }: Partial<AuditEventFilter>): Sql {
  const { nodeTypesMax, operationsMax } = auditLimits
  const conditions = [
    ...(actor ? [isBy(actor)] : []),
    ...(node ? [isAbout(node)] : []),
    ...(nodeTypes ? [sql`object_type = any(${upTo(nodeTypes, nodeTypesMax, 'nodeTypes')})`] : []),
    ...(operations ? [sql`operation = any(${upTo(operations, operationsMax, 'operations')})`] : []),
    ...boundsOf(at ?? {}),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

function boundsOf({ after, from, before, until }: Bounds): Sql[] {
  return [
    ...(after ? [sql`id >= ${idFrom(after, 1)}::uuid`] : []),
    ...(from ? [sql`id >= ${idFrom(from)}::uuid`] : []),
    ...(before ? [sql`id < ${idFrom(before)}::uuid`] : []),
    ...(until ? [sql`id < ${idFrom(until, 1)}::uuid`] : []),
  ]
}

function isBy({ type, id }: AuditedNode): Sql {
  if (type === 'User') return sql`actor_user_id = ${id}`
  if (type === 'ApiKey') return sql`actor_key_id = ${id}`
  if (type === 'Vm') return sql`actor_vm_id = ${id}`
  throw new BerthError('invalid_request', 'actorId must be the id of a person, an API key or a VM.', {
    field: 'actorId',
  })
}

function isAbout({ type, id }: AuditedNode): Sql {
  return type === null ? sql`object_id = ${id}` : sql`object_id = ${id} and object_type = ${type}`
}

function upTo(given: readonly string[], most: number, field: string): readonly string[] {
  if (given.length <= most) return given
  throw new BerthError('invalid_request', `${field} names at most ${most}; leave it out for all.`, { field })
}

/** The lowest id that an event may have so many milliseconds after this moment. */
function idFrom(moment: string, afterMs = 0): string {
  const digits = Math.max(0, Date.parse(moment) + afterMs)
    .toString(16)
    .padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`
}

/** Which events an export has: after the one of a public id; from and until moments as texts; how many at most. */
export type ExportOrder = {
  after?: string | undefined
  since?: string | undefined
  until?: string | undefined
  limit?: number | undefined
}

/**
 * The caller's organization's events, oldest first, a part of them at a time. Of the newest only those before which none can
 * come any more: whoever continues after the last one misses none.
 * @throws BerthError as allow; invalid_request.
 */
export function exportAuditEvents(
  call: Call,
  { after, since, until, limit }: ExportOrder,
): AsyncGenerator<AuditEvent[]> {
  const scope = allow(call.caller, 'audit:read')
  const { exportMax, exportedAtOnce } = auditLimits
  const most = limit ?? exportMax
  if (!Number.isInteger(most) || most < 1 || most > exportMax)
    throw new BerthError('invalid_request', `limit must be a whole number from 1 to ${exportMax}.`, { field: 'limit' })
  const from = after === undefined ? null : decodeId('auditEvent', after)
  if (from === undefined)
    throw new BerthError('invalid_request', 'after must be the id of the last event that you have.', { field: 'after' })
  const chosen = sql`(${owned(scope)}) and (${isChosen({ at: { from: since, before: until } })})`
  return partsOf(call, chosen, from, { most, exportedAtOnce })
}

async function* partsOf(
  { db }: Call,
  chosen: Sql,
  from: string | null,
  { most, exportedAtOnce }: { most: number; exportedAtOnce: number },
): AsyncGenerator<AuditEvent[]> {
  const end = await settledId(db)
  for (let last = from, left = most; left > 0; ) {
    const part = await findAll<AuditEvent>(
      db,
      sql`
      select ${columns} from audit_events
      where ${chosen} and id < ${end}::uuid and (${last}::uuid is null or id > ${last}::uuid)
      order by id limit ${Math.min(left, exportedAtOnce)}`,
    )
    if (part.length > 0) yield part
    if (part.length < Math.min(left, exportedAtOnce)) return
    left -= part.length
    last = part.at(-1)?.id ?? last
  }
}

/**
 * The lowest id that an event of a transaction which still runs may get. It is read in a statement of its own, before the
 * events: what is over by then is seen by the next.
 */
async function settledId(db: Call['db']): Promise<string> {
  const { settled } = await getOne<{ settled: string }>(
    db,
    sql`
    select least(statement_timestamp(), min(xact_start)) as settled from pg_stat_activity
    where datname = current_database() and backend_xid is not null`,
  )
  return idFrom(settled)
}

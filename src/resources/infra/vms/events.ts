/** The events of a VM: listed, and followed from any position without gaps or repeats. */
import { allow, allowAnywhere } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { eventPosition, pageSql, readPagesOfEach, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import { eventsAfter, type RowEvents } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import { knownVms, type Vm, type VmEvent } from './rows.ts'

/**
 * The VM's events after the cursor (its latest one without), then new ones as they come; ends after `deleted`.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. Both before the first event.
 */
export async function followVm(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<VmEvent>> {
  const scope = allow(call.caller, 'vms:read')
  const id = decodeId('vm', publicId)
  const vm = id && (await findOne<Vm>(call.db, sql`select * from vms where id = ${id} and ${knownVms(scope)}`))
  if (!vm) throw notFound('VM')
  const position = after ? eventPosition(after) : vm.eventPosition - 1
  // No event can follow, so this is refused, which stops clients that reconnect by themselves.
  if (vm.status === 'deleted' && (!after || position >= vm.eventPosition)) throw notFound('VM')
  return eventsAfter(call, vm.id, position, eventsOf(call, vm.id))
}

/** The events of each VM of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageVmEventsOfEach(
  call: Call,
  vmIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<VmEvent>> {
  const reach = allowAnywhere(call.caller, 'vms:read')
  return readPagesOfEach<VmEvent & { id: string }, number>(call.db, window, {
    cursors: {
      keyOf: (cursor) => (/^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined),
      cursorOf: ({ position }) => String(position),
    },
    parents: sql`select id from vms where id = any(${vmIds}::uuid[]) and ${knownVms(reach)}`,
    rows(reading) {
      const { within, cut } = pageSql(sql`position`, reading)
      return sql`select vm_events.*, vm_id as id from vm_events where vm_id = parent.id and ${within} ${cut}`
    },
    whole: sql`vm_events where vm_id = parent.id`,
    parentName: 'VM',
  })
}

function eventsOf({ db }: Call, vmId: string): RowEvents<VmEvent> {
  return {
    topic: 'vm',
    isLast: ({ status }) => status === 'deleted',
    read: (position, most) =>
      findAll(
        db,
        sql`select * from vm_events where vm_id = ${vmId} and position > ${position} order by position limit ${most}`,
      ),
    isOver: async () =>
      (await findOne(db, sql`select 1 from vms where id = ${vmId} and status <> 'deleted'`)) === undefined,
  }
}

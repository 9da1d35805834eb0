/** What happens to a VM, followed from any position without gap or repeat. */
import { allow, owned } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { eventPosition } from '#src/platform/pages.ts'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Vm, VmEvent } from './vm-rows.ts'

const batchMax = 100

/**
 * The VM's events after the cursor (its latest one without), then new ones as they come; ends after `deleted`.
 * @throws BerthError not_found; invalid_request for a text that is no cursor. Both before the first event.
 */
export async function followVm(call: Call & { signal?: AbortSignal }, publicId: string, after: string | null | undefined): Promise<AsyncIterableIterator<VmEvent>> {
  const scope = allow(call.caller, 'vms:read')
  const id = decodeId('vm', publicId)
  const vm = id && (await findOne<Vm>(call.db, sql`select * from vms where id = ${id} and ${owned(scope)}`))
  if (!vm) throw notFound('VM')
  const position = after ? eventPosition(after) : vm.eventPosition - 1
  // Nothing will ever follow: refused, so that a client that reconnects by itself stops.
  if (vm.status === 'deleted' && (!after || position >= vm.eventPosition)) throw notFound('VM')
  return eventsAfter(call, vm.id, position)
}

async function* eventsAfter(call: Call & { signal?: AbortSignal }, vmId: string, position: number): AsyncIterableIterator<VmEvent> {
  const left = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, left.signal]) : left.signal
  const notices = call.pubsub.subscribe('vm', vmId, signal)
  try {
    for (;;) {
      const events = await findAll<VmEvent>(call.db, sql`select * from vm_events where vm_id = ${vmId} and position > ${position} order by position limit ${batchMax}`)
      for (const event of events) {
        position = event.position
        yield event
        if (event.status === 'deleted') return
      }
      if (events.length < batchMax && (await notices.next()).done) return
    }
  } finally {
    left.abort()
  }
}

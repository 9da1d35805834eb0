/** The events of VMs in GraphQL: those that were, and as they come. */
import { builder } from '#schema/builder.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import { pagesOfEach } from '#schema/pages-of-each.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followVm, pageVmEventsOfEach } from '#src/resources/infra/vms/events.ts'
import type { VmEvent } from '#src/resources/infra/vms/rows.ts'
import { vmType } from '../vms.ts'
import { vmStatus } from './words.ts'

const vmEvent = builder.objectRef<VmEvent>('VmEvent').implement({
  description: 'A change of a VM: of its status, or of something else.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: (event) => String(event.position),
    }),
    vmId: t.id({ description: 'Which VM.', resolve: (event) => encodeId('vm', event.vmId) }),
    vm: t.field({
      type: vmType,
      nullable: true,
      description: 'The VM as it is now; null once it is deleted.',
      resolve: (event) => event.vmId,
    }),
    status: t.field({ type: vmStatus, description: 'Its status after this event.', resolve: (event) => event.status }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the event, as a sentence, when there is more.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const vmEventOrHeartbeat = builder.unionType('VmEventOrHeartbeat', {
  description: 'An event of a VM, or a heartbeat.',
  types: [vmEvent, heartbeat],
})

const eventsOf = pagesOfEach((call, vmIds, window: Parameters<typeof pageVmEventsOfEach>[2]) =>
  pageVmEventsOfEach(call, vmIds, window),
)
builder.objectField(vmType, 'events', (t) =>
  t.field({
    type: connectionOf('VmEvent', vmEvent),
    description: 'Its events, newest first; follow new ones with `vmEvents`.',
    args: pageArguments,
    resolve: ({ id }, window, call) => eventsOf(call, id, window),
  }),
)

builder.subscriptionFields((t) => ({
  vmEvents: t.field({
    type: vmEventOrHeartbeat,
    description:
      'A VM’s events: those after the cursor (without a cursor, its current status), then live ones, until it is deleted. Errors: NOT_FOUND.',
    args: {
      vmId: t.arg.id({ required: true, description: 'The VM.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { vmId, after }, call) => withHeartbeats(await followVm(call, vmId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

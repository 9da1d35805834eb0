/** VMs in GraphQL: what one is, how they are found, and what happens to one. What changes them is in vm-changes.ts. */
import type { GraphQLResolveInfo } from 'graphql'
import { idArguments } from '../arguments.ts'
import { builder, type Context } from '../builder.ts'
import { nodeColumns } from '../columns.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followVm } from '#src/resources/infra/vms/events.ts'
import type { Vm, VmEvent, VmStatus } from '#src/resources/infra/vms/rows.ts'
import { findVms, getVm, getVmByExternalRef, pageVms } from '#src/resources/infra/vms.ts'
import { callIn, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { folderType } from './folders.ts'
import { machineType } from './machines.ts'
import { templateType } from './templates.ts'
import { networkPolicyType } from './vms/network-policies.ts'

const vmStatus = enumOf('VmStatus', 'Where a VM is. Some are steady, the others on their way to one of those.', {
  creating: 'It is being made.',
  running: 'It runs. Steady.',
  stopping: 'It is shutting down.',
  stopped: 'It does not run; its disk stays. Steady.',
  starting: 'It starts from its disk.',
  pausing: 'It is being saved with its memory.',
  paused: 'It is saved with its memory. Steady.',
  resuming: 'It continues where it was paused.',
  deleting: 'It is being removed.',
  deleted: 'It is gone. Steady.',
  error: 'It failed; `statusReason` says how. Steady.',
} satisfies Record<VmStatus, string>)
const desiredStatus = enumOf('VmDesiredStatus', 'Where a VM is wanted.', {
  running: 'It shall run.',
  stopped: 'It shall not run, and keep its disk.',
  paused: 'It shall be saved with its memory.',
  deleted: 'It shall be gone.',
} satisfies Record<Vm['desiredStatus'], string>)

/** A VM. */
export const vmType = nodeOf('Vm', '`vm_` and 26 characters.', findVms)

builder.objectType(vmType, {
  description: 'A microVM.',
  fields: (t) => ({
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    status: t.field({ type: vmStatus, description: 'Where it is.', resolve: (vm) => vm.status }),
    desiredStatus: t.field({
      type: desiredStatus,
      description: 'Where it is wanted.',
      resolve: (vm) => vm.desiredStatus,
    }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'A sentence, when there is something to know about the status.',
    }),
    templateId: t.id({
      description: 'What its disk started from.',
      resolve: (vm) => encodeId('template', vm.templateId),
    }),
    template: t.field({
      type: templateType,
      nullable: true,
      description: 'What its disk started from.',
      resolve: (vm) => vm.templateId,
    }),
    organizationId: t.id({ description: 'Whose it is.', resolve: (vm) => encodeId('organization', vm.organizationId) }),
    organization: t.field({
      type: organizationType,
      nullable: true,
      description: 'Whose it is.',
      resolve: (vm) => vm.organizationId,
    }),
    createdById: t.id({
      nullable: true,
      description: 'Who made it; null for an organization key.',
      resolve: (vm) => vm.userId && encodeId('user', vm.userId),
    }),
    createdBy: t.field({
      type: userType,
      nullable: true,
      description: 'Who made it; null for an organization key.',
      resolve: (vm) => vm.userId,
    }),
    ownerId: t.id({
      nullable: true,
      description: 'Whose alone it is, as the VM of a person’s environment is; null: everybody’s in the organization.',
      resolve: (vm) => vm.ownerUserId && encodeId('user', vm.ownerUserId),
    }),
    owner: t.field({
      type: userType,
      nullable: true,
      description: 'Whose alone it is; null: everybody’s in the organization.',
      resolve: (vm) => vm.ownerUserId,
    }),
    machineId: t.id({ description: 'Where it runs.', resolve: (vm) => encodeId('node', vm.nodeId) }),
    machine: t.field({
      type: machineType,
      nullable: true,
      description: 'Where it runs.',
      resolve: (vm) => vm.nodeId,
    }),
    ipAddress: t.exposeString('ipAddress', {
      nullable: true,
      description: 'The address at which its machine reaches it; null while it does not run.',
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    diskMb: t.exposeInt('diskMb', { description: 'The most its disk may hold, in MB.' }),
    externalRef: t.exposeString('externalRef', {
      nullable: true,
      description: 'The caller’s own name for it, unique in the organization.',
    }),
    folderId: t.id({
      nullable: true,
      description: 'The workspace folder mounted at /home/user/workspace.',
      resolve: (vm) => vm.folderId && encodeId('folder', vm.folderId),
    }),
    folder: t.field({
      type: folderType,
      nullable: true,
      description: 'The workspace folder mounted at /home/user/workspace.',
      resolve: (vm) => vm.folderId,
    }),
    metadata: t.field({
      type: 'TextMap',
      description: 'The caller’s own pairs of text.',
      resolve: (vm) => vm.metadata as Record<string, string>, // checked when it was set
    }),
    networkPolicy: t.field({
      type: networkPolicyType,
      description: 'Where it may connect to.',
      resolve: (vm) => vm.networkPolicy,
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'What went wrong at creation without stopping it, such as a repository that could not be cloned.',
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `vmEvents` to hear what happens from here on.',
      resolve: (vm) => String(vm.eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it last began to run.' }),
    stoppedAt: t.expose('stoppedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last stopped running.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: 'When it deletes itself.' }),
  }),
})
builder.objectField(folderType, 'vm', (t) =>
  t.field({
    type: vmType,
    nullable: true,
    description: 'The VM that has it mounted.',
    resolve: (folder) => folder.vmId,
  }),
)

/** The columns of the fields that lists are asked for most; with any other field they take whole rows. */
const columnsOf: Readonly<Record<string, readonly string[]>> = {
  __typename: [],
  id: [],
  name: ['name'],
  status: ['status'],
  statusReason: ['status_reason'],
  templateId: ['template_id'],
  template: ['template_id'],
  createdById: ['user_id'],
  createdBy: ['user_id'],
  machineId: ['node_id'],
  machine: ['node_id'],
  ipAddress: ['ip_address'],
  vcpuCount: ['vcpu_count'],
  memoryMb: ['memory_mb'],
  diskMb: ['disk_mb'],
  externalRef: ['external_ref'],
  folderId: ['folder_id'],
  folder: ['folder_id'],
  createdAt: ['created_at'],
}

const vmConnection = connectionOf('Vm', vmType)
const vmFilter = builder.inputType('VmFilter', {
  description: 'Which VMs a list shows.',
  fields: (t) => ({ statuses: t.field({ type: [vmStatus], description: 'Those that are in one of these.' }) }),
})
const vmArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    first: t.int({ description: 'How many from the beginning, 1 to 1000; 50 without it.' }),
    offset: t.int({ description: 'How many to pass over, as REST does; a cursor is cheaper.' }),
    filter: t.field({ type: vmFilter, description: 'Which ones.' }),
    orderBy: t.field({ type: orderOf('Vm'), description: 'Newest first without it.' }),
  })),
}
type VmArguments = Parameters<typeof pageVms>[1] & {
  filter?: Parameters<typeof pageVms>[2]
  orderBy?: { direction: 'asc' | 'desc' } | null
}

async function readVms(call: Context, { filter, orderBy, ...window }: VmArguments, info: GraphQLResolveInfo) {
  return pageVms(call, window, filter, { direction: orderBy?.direction, columns: nodeColumns(info, columnsOf) })
}

builder.queryFields((t) => ({
  vm: t.field({
    type: vmType,
    description: 'One VM. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getVm(call, id),
  }),
  vmByExternalRef: t.field({
    type: vmType,
    description: 'The VM made with this external reference. Errors: NOT_FOUND.',
    args: { externalRef: t.arg.string({ required: true, description: 'As given at creation.' }) },
    resolve: (_, { externalRef }, call) => getVmByExternalRef(call, externalRef),
  }),
  vms: t.field({
    type: vmConnection,
    description: 'The active organization’s VMs and your own, newest first.',
    args: vmArguments,
    resolve: (_, given, call, info) => readVms(call, given, info),
  }),
}))
builder.objectField(organizationType, 'vms', (t) =>
  t.field({
    type: vmConnection,
    nullable: true,
    description: 'Its VMs and your own in it, newest first.',
    args: vmArguments,
    resolve: (organization, given, call, info) => readVms(callIn(call, organization), given, info),
  }),
)

const vmEvent = builder.objectRef<VmEvent>('VmEvent').implement({
  description: 'A VM’s status as it became, or a change to the VM.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: (event) => String(event.position),
    }),
    vmId: t.id({ description: 'Which VM.', resolve: (event) => encodeId('vm', event.vmId) }),
    vm: t.field({
      type: vmType,
      nullable: true,
      description: 'The VM as it is now; null once it is deleted.',
      resolve: (event) => event.vmId,
    }),
    status: t.field({ type: vmStatus, description: 'Its status from then on.', resolve: (event) => event.status }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'A sentence, when there is something to know.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const vmEventOrHeartbeat = builder.unionType('VmEventOrHeartbeat', {
  description: 'An event of a VM, or a sign of life.',
  types: [vmEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  vmEvents: t.field({
    type: vmEventOrHeartbeat,
    description:
      'What happens to a VM: first what happened after the cursor (without one, its status now), then live, until it is deleted. Errors: NOT_FOUND.',
    args: { ...idArguments, after: t.arg.string({ description: 'The cursor of the last event seen.' }) },
    subscribe: async (_, { id, after }, call) => withHeartbeats(await followVm(call, id, after)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))

/** VMs in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followVm } from '#src/resources/infra/vms/events.ts'
import type { NetworkPolicy, Vm, VmEvent, VmStatus } from '#src/resources/infra/vms/rows.ts'
import { vmStates } from '#src/resources/infra/vms/states.ts'
import {
  createVm,
  deleteVm,
  getVm,
  getVmByExternalRef,
  listVms,
  pageVms,
  requestStatus,
  updateVm,
  type VmSummary,
} from '#src/resources/infra/vms.ts'

/** Where a VM is. */
export const vmStatus = builder.enumType('VmStatus', {
  description: 'Steady: running, stopped, paused, deleted, error. The others are on their way to one of those.',
  values: Object.keys(vmStates.moves) as VmStatus[], // the keys of a closed table
})

const networkPolicy = builder.objectRef<NetworkPolicy>('NetworkPolicy').implement({
  description: 'Where a VM may connect to. Private and loopback addresses are refused under every policy.',
  fields: (t) => ({
    type: t.exposeString('type', { description: '`unrestricted`, `limited` or `none`.' }),
    allowedHosts: t.stringList({
      description: 'With `limited`: host names, or `*.name` for all below one.',
      resolve: (policy) => (policy.type === 'limited' ? policy.allowedHosts : []),
    }),
    allowPackageManagers: t.boolean({
      description: 'With `limited`: whether the public package registries are allowed too.',
      resolve: (policy) => policy.type === 'limited' && policy.allowPackageManagers,
    }),
  }),
})

/** A VM, whole. */
export const vmType = builder.objectRef<Vm>('Vm').implement({
  description: 'A microVM.',
  fields: (t) => ({
    id: t.id({ description: '`vm_` and 26 characters.', resolve: (vm) => encodeId('vm', vm.id) }),
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    status: t.field({ type: vmStatus, description: 'Where it is.', resolve: (vm) => vm.status }),
    desiredStatus: t.exposeString('desiredStatus', {
      description: 'Where it is wanted: running, stopped, paused or deleted.',
    }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'A sentence, when there is something to know about the status.',
    }),
    templateId: t.id({
      description: 'What its disk started from.',
      resolve: (vm) => encodeId('template', vm.templateId),
    }),
    organizationId: t.id({ description: 'Whose it is.', resolve: (vm) => encodeId('organization', vm.organizationId) }),
    userId: t.id({
      nullable: true,
      description: 'Who made it; null for an organization key.',
      resolve: (vm) => vm.userId && encodeId('user', vm.userId),
    }),
    ownerUserId: t.id({
      nullable: true,
      description: 'Whose alone it is, as the VM of a person’s environment is; null: everybody’s in the organization.',
      resolve: (vm) => vm.ownerUserId && encodeId('user', vm.ownerUserId),
    }),
    nodeId: t.id({ description: 'Where it runs.', resolve: (vm) => encodeId('node', vm.nodeId) }),
    ipAddress: t.exposeString('ipAddress', {
      nullable: true,
      description: 'The address at which its node reaches it; null while it does not run.',
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
    metadata: t.field({ type: 'JSON', description: 'The caller’s own pairs of text.', resolve: (vm) => vm.metadata }),
    networkPolicy: t.field({
      type: networkPolicy,
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

const vmSummary = builder.objectRef<VmSummary>('VmSummary').implement({
  description: 'The part of a VM that the REST lists show; cheap to list by the hundred.',
  fields: (t) => ({
    id: t.id({ description: '`vm_` and 26 characters.', resolve: (vm) => encodeId('vm', vm.id) }),
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    status: t.field({ type: vmStatus, description: 'Where it is.', resolve: (vm) => vm.status }),
    ipAddress: t.exposeString('ipAddress', {
      nullable: true,
      description: 'The address at which its node reaches it.',
    }),
    externalRef: t.exposeString('externalRef', { nullable: true, description: 'The caller’s own name for it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
  }),
})

const vmEvent = builder.objectRef<VmEvent>('VmEvent').implement({
  description: 'A VM’s status as it became, or a change to the VM.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: (event) => String(event.position),
    }),
    vmId: t.id({ description: 'Which VM.', resolve: (event) => encodeId('vm', event.vmId) }),
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
const vmConnection = connectionOf('Vm', vmType)

const gitRepoInput = builder.inputType('GitRepoInput', {
  description: 'A repository to clone at creation.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'https:// or ssh://, or http:// for host.berth.internal.' }),
    branch: t.string({ description: 'The default branch without it.' }),
    path: t.string({ description: 'Where to: relative to /home/user, or absolute; /home/user/<name> without it.' }),
  }),
})

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
    description: 'The organization’s VMs and your own, newest first.',
    args: pageArguments,
    resolve: (_, page, call) => pageVms(call, page) as never,
  }), // see pages.ts
  vmList: t.field({
    type: [vmSummary],
    description: 'The same as the REST list shows them, newest first: 1000 at most.',
    args: {
      limit: t.arg.int({ description: '1 to 1000; 1000 without it.' }),
      offset: t.arg.int({ description: 'How many to pass over.' }),
    },
    resolve: (_, window, call) => listVms(call, window),
  }),
}))

builder.mutationFields((t) => ({
  createVm: t.field({
    type: vmType,
    description:
      'Makes a VM and waits at most 30 s until it runs; after that it is answered as it is, still `creating`. Errors: INVALID_REQUEST, INVALID_TEMPLATE, INVALID_ENV_KEY, INVALID_ENV_VALUE, CAPACITY_UNAVAILABLE.',
    args: {
      name: t.arg.string({ description: '1 to 255 characters; `vm-` and six characters without it.' }),
      templateId: t.arg.string({ description: 'A template’s id or name; `base` without it.' }),
      vmId: t.arg.string({ description: 'An unused id of the form `vm_…`; a new one without it.' }),
      env: t.arg({ type: 'TextMap', description: 'Variables for its processes; write-only, never shown again.' }),
      folderId: t.arg.string({
        description: 'A workspace folder to mount at /home/user/workspace; a new one without it.',
      }),
      skipFolderCreate: t.arg.boolean({
        description: 'Whether to go without a workspace folder when `folderId` is empty.',
      }),
      gitRepoUrl: t.arg.string({ description: 'One repository to clone, before those of `gitRepos`.' }),
      gitBranch: t.arg.string({ description: 'The branch of `gitRepoUrl`.' }),
      gitRepos: t.arg({ type: [gitRepoInput], description: 'Repositories to clone: 20 at most.' }),
      externalRef: t.arg.string({ description: 'Your own name for it, unique in the organization.' }),
      vcpuCount: t.arg.int({ description: 'Virtual processors, 1 to 16; 2 without it.' }),
      memoryMb: t.arg.int({ description: 'Memory in MB, 256 to 65536; 2048 without it.' }),
      diskMb: t.arg.int({ description: 'Disk in MB, 10240 to 204800; 10240 without it.' }),
      ttlSeconds: t.arg.int({ description: 'Seconds until it deletes itself, 10 to 86400; it stays without it.' }),
      metadata: t.arg({ type: 'JSON', description: 'Your own pairs of text: 16 at most.' }),
      networkPolicy: t.arg({
        type: 'JSON',
        description:
          '`{"type": "unrestricted"}` (without it), `{"type": "none"}`, or `{"type": "limited", "allowed_hosts": [], "allow_package_managers": true}`.',
      }),
    },
    resolve: (_, order, call) => createVm(call, order),
  }),
  updateVm: t.field({
    type: vmType,
    description: 'Changes a VM; a network policy applies at once. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      ...idArguments,
      name: t.arg.string({ description: 'A new name.' }),
      metadata: t.arg({ type: 'JSON', description: 'Replaces the metadata.' }),
      networkPolicy: t.arg({ type: 'JSON', description: 'As for createVm.' }),
    },
    resolve: (_, { id, ...input }, call) => updateVm(call, id, input),
  }),
  deleteVm: t.field({
    type: 'ID',
    description: 'Deletes a VM and its disk; its folder stays. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteVm(call, id), id),
  }),
  startVm: t.field({
    type: vmType,
    description: 'Starts a stopped or failed VM from its disk. Errors: NOT_FOUND, INVALID_TRANSITION.',
    args: idArguments,
    resolve: (_, { id }, call) => requestStatus(call, id, 'running'),
  }),
  stopVm: t.field({
    type: vmType,
    description: 'Stops a running VM; its disk stays. Errors: NOT_FOUND, INVALID_TRANSITION.',
    args: idArguments,
    resolve: (_, { id }, call) => requestStatus(call, id, 'stopped'),
  }),
  pauseVm: t.field({
    type: vmType,
    description:
      'Saves a running VM with its memory; paused time is not billed. Errors: NOT_FOUND, INVALID_TRANSITION.',
    args: idArguments,
    resolve: (_, { id }, call) => requestStatus(call, id, 'paused'),
  }),
  resumeVm: t.field({
    type: vmType,
    description: 'Continues a paused VM exactly where it was. Errors: NOT_FOUND, INVALID_TRANSITION.',
    args: idArguments,
    resolve: (_, { id }, call) => requestStatus(call, id, 'running'),
  }),
}))

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

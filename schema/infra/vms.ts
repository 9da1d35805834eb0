/** VMs in GraphQL: the type and queries. Events are in vms/events.ts, mutations in vm-changes.ts. */
import { idArguments } from '../arguments.ts'
import { builder, type Context } from '../builder.ts'
import { nodeColumns } from '../columns.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { limits } from '#src/platform/limits.ts'
import { findVms, getVm, getVmByExternalRef, pageVms, pageVmsOfEach } from '#src/resources/infra/vms.ts'
import { startupOf } from '#src/resources/infra/vms/startup.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { folderType } from './folders.ts'
import { machineType } from './machines.ts'
import { projectType } from './projects.ts'
import { templateType } from './templates.ts'
import { startup } from './vms/startup.ts'
import { networkPolicyType } from './vms/network-policies.ts'
import { forRest } from '../rest-fields.ts'
import { desiredStatus, idleAction, vmStatus } from './vms/words.ts'

/** A VM. */
export const vmType = nodeOf('Vm', findVms)

builder.objectType(vmType, {
  description: 'A microVM.',
  fields: (t) => ({
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    status: t.field({ type: vmStatus, description: 'Its current status.', resolve: (vm) => vm.status }),
    desiredStatus: t.field({
      type: desiredStatus,
      description: 'The status it should reach.',
      resolve: (vm) => vm.desiredStatus,
    }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the status, as a sentence, when there is more.',
    }),
    startup: t.field({
      type: startup,
      nullable: true,
      description: 'How far it is while it is `CREATING` or `STARTING`; otherwise null.',
      resolve: startupOf,
    }),
    ...linkTo(t, 'template', {
      type: templateType,
      description: 'The template that its disk started from.',
      id: (vm) => vm.templateId,
    }),
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created it; null for an API key.',
      id: (vm) => vm.userId,
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      nullable: true,
      description:
        'The only person who may use it, as with the VM of a person’s environment; null when every member may.',
      id: (vm) => vm.ownerUserId,
    }),
    ...linkTo(t, 'machine', {
      type: machineType,
      description: 'The machine it runs on.',
      id: (vm) => vm.nodeId,
    }),
    ipAddress: t.exposeString('ipAddress', {
      nullable: true,
      description: 'The IP address at which its machine reaches it; null while it is not running.',
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    diskMb: t.exposeInt('diskMb', { description: 'The capacity of its disk in MB.' }),
    externalRef: t.exposeString('externalRef', {
      nullable: true,
      description: 'The caller’s own name for it, unique in the organization.',
    }),
    ...linkTo(t, 'folder', {
      type: folderType,
      nullable: true,
      description: 'The workspace folder mounted at /home/user/workspace.',
      id: (vm) => vm.folderId,
    }),
    ...linkTo(t, 'project', {
      type: projectType,
      nullable: true,
      description: 'The project that it is in: it reaches the databases of its project.',
      id: (vm) => vm.projectId,
    }),
    metadata: t.field({
      type: 'TextMap',
      description: 'The caller’s own labels: pairs of key and text.',
      resolve: (vm) => vm.metadata as Record<string, string>, // checked when it was set
    }),
    networkPolicy: t.field({
      type: networkPolicyType,
      description: 'What it may connect to.',
      resolve: (vm) => vm.networkPolicy,
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'Problems at creation that did not prevent it, such as a repository that could not be cloned.',
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `vmEvents` to follow what happens from here on.',
      resolve: (vm) => String(vm.eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its creation was requested.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last started running.',
    }),
    stoppedAt: t.expose('stoppedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last stopped running.',
    }),
    idleSeconds: t.exposeInt('idleSeconds', {
      nullable: true,
      description: 'Seconds without use after which it is paused or stopped; null for never.',
    }),
    idleAction: t.field({
      type: idleAction,
      description: 'What becomes of it then.',
      resolve: (vm) => vm.idleAction,
    }),
    isAsleep: t.exposeBoolean('sleeps', {
      description:
        'Whether it rests because nobody used it: then whoever comes wakes it. One that its user paused or stopped stays so.',
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

/** The columns of the fields that lists select most; any other field reads whole rows. */
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
  projectId: ['project_id'],
  project: ['project_id'],
  createdAt: ['created_at'],
}

const vmConnection = connectionOf('Vm', vmType)
const vmFilter = builder.inputType('VmFilter', {
  description: 'Narrows a list of VMs.',
  fields: (t) => ({
    statuses: t.field({ type: [vmStatus], description: 'Only those with one of these statuses.' }),
    text: t.string({
      description: 'Only those with this piece of text in their name or external reference, in upper or lower case.',
    }),
    projectId: t.id({ description: 'Only those of this project.' }),
    templateId: t.id({ description: 'Only those that started from this template.' }),
    createdById: t.id({ description: 'Only those that this person created.' }),
  }),
})
const vmArguments = {
  ...pageArgumentsUpTo(limits.infraListMax),
  ...builder.args((t) => ({
    offset: t.int({ description: 'How many to skip.', ...forRest }),
    filter: t.field({ type: vmFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}
type VmArguments = OrderGiven &
  Parameters<typeof pageVms>[1] & {
    filter?: Parameters<typeof pageVms>[2]
    columns?: readonly string[] | undefined
  }

async function readVms(call: Context, { filter, order, columns, ...window }: VmArguments) {
  return pageVms(call, window, filter, { direction: order, columns })
}
const vmsOf = listOfOrganizations(readVms)

builder.queryFields((t) => ({
  vm: t.field({
    type: vmType,
    description: 'One VM. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getVm(call, id),
  }),
  vmByExternalRef: t.field({
    type: vmType,
    description: 'The VM created with this external reference. Errors: NOT_FOUND.',
    args: { externalRef: t.arg.string({ required: true, description: 'The reference given at creation.' }) },
    resolve: (_, { externalRef }, call) => getVmByExternalRef(call, externalRef),
  }),
  vms: t.field({
    type: vmConnection,
    description: 'The active organization’s VMs and those of your environments, newest first.',
    args: vmArguments,
    resolve: (_, given, call, info) => readVms(call, { ...given, columns: nodeColumns(info, columnsOf) }),
  }),
}))
builder.objectField(organizationType, 'vms', (t) =>
  t.field({
    type: vmConnection,
    nullable: true,
    description: 'Its VMs and those of your environments in it, newest first.',
    args: vmArguments,
    resolve: ({ id }, given, call, info) => vmsOf(call, id, { ...given, columns: nodeColumns(info, columnsOf) }),
  }),
)

const vmsOfProjects = pagesOfEach((call, ids, { organizationId, order, ...window }: OfEachGiven) =>
  pageVmsOfEach(callIn(call, { id: organizationId }), ids, window, order),
)
type OfEachGiven = Parameters<typeof pageVmsOfEach>[2] & OrderGiven & { organizationId: string }
builder.objectField(projectType, 'vms', (t) =>
  t.field({
    type: vmConnection,
    nullable: true,
    description: 'Its VMs that you may see, newest first.',
    args: {
      ...pageArguments,
      order: t.arg(newestFirst),
    },
    resolve: ({ id, organizationId }, given, call) => vmsOfProjects(call, id, { ...given, organizationId }),
  }),
)

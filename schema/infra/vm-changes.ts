/** Mutations of VMs in GraphQL. */
import { builder } from '../builder.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { createVm, deleteVm, requestStatus, updateVm } from '#src/resources/infra/vms.ts'
import { vmType } from './vms.ts'
import { networkPolicyInput, wirePolicy } from './vms/network-policies.ts'
import { idleAction } from './vms/words.ts'

const vm = { field: 'vm', type: vmType }

const gitRepoInput = builder.inputType('GitRepoInput', {
  description: 'A repository to clone at creation.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'https:// or ssh://, or http:// for host.berth.internal.' }),
    branch: t.string({ description: 'The branch; the default branch if omitted.' }),
    path: t.string({
      description: 'Where to clone it: a path relative to /home/user, or absolute; /home/user/<name> by default.',
    }),
  }),
})

mutationOf(
  'createVm',
  vm,
  'Creates a VM and waits up to 30 s until it runs; after that the answer shows it as it is, still `CREATING`. Errors: INVALID_REQUEST, INVALID_TEMPLATE, INVALID_ENV_KEY, INVALID_ENV_VALUE, CAPACITY_UNAVAILABLE.',
  (t) => ({
    wait: t.boolean({
      description: 'False for an answer at once, still `CREATING`; `vmEvents` says when it runs. True by default.',
    }),
    name: t.string({ description: '1 to 255 characters; by default `vm-` and six random characters.' }),
    templateId: t.id({ description: 'A template’s id or name; `base` by default.' }),
    vmId: t.id({ description: 'An unused id of the form `vm_…`; a new one by default.' }),
    env: t.field({
      type: 'TextMap',
      description: 'Environment variables for its processes; write-only, never shown again.',
    }),
    folderId: t.id({
      description: 'A workspace folder to mount at /home/user/workspace; a new one by default.',
    }),
    skipFolderCreate: t.boolean({
      description: 'Whether to create the VM without a workspace folder when `folderId` is empty.',
    }),
    gitRepoUrl: t.string({ description: 'One repository to clone, before those of `gitRepos`.' }),
    gitBranch: t.string({ description: 'The branch of `gitRepoUrl`.' }),
    gitRepos: t.field({ type: [gitRepoInput], description: 'Repositories to clone: 20 at most.' }),
    projectId: t.id({ description: 'The project that it is in, whose databases it reaches; none by default.' }),
    externalRef: t.string({ description: 'Your own name for it, unique in the organization.' }),
    vcpuCount: t.int({ description: 'Virtual processors, 1 to 16; 2 by default.' }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536; 2048 by default.' }),
    diskMb: t.int({ description: 'Disk in MB, 10240 to 204800; 10240 by default.' }),
    ttlSeconds: t.int({ description: 'Seconds until it deletes itself, 10 to 86400; never by default.' }),
    idleSeconds: t.int({
      description:
        'Seconds without use after which it is paused or stopped until somebody comes, 10 to 2592000; never by default.',
    }),
    idleAction: t.field({ type: idleAction, description: 'What becomes of it then; `PAUSE` by default.' }),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
    networkPolicy: t.field({
      type: networkPolicyInput,
      description: 'What it may connect to; every public address by default.',
    }),
  }),
  (call, { networkPolicy, ...order }) => createVm(call, { ...order, networkPolicy: wirePolicy(networkPolicy) }),
)
mutationOf(
  'updateVm',
  vm,
  'Changes a VM. A network policy applies at once; a size only to a stopped VM, which has it from its next start on. Errors: NOT_FOUND, INVALID_REQUEST, INVALID_TRANSITION for the size of a VM that is not stopped, RATE_LIMITED, CAPACITY_UNAVAILABLE.',
  (t) => ({
    ...idField(t),
    name: t.string({ description: 'A new name.' }),
    metadata: t.field({ type: 'TextMap', description: 'Replaces the metadata.' }),
    networkPolicy: t.field({ type: networkPolicyInput, description: 'What it may connect to from now on.' }),
    vcpuCount: t.int({ description: 'Virtual processors, 1 to 16.' }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536.' }),
    diskMb: t.int({
      description: 'Disk in MB, up to 204800. It grows, with the file system on it, and never shrinks.',
    }),
    idleSeconds: t.int({ description: 'Seconds without use after which it is paused or stopped; null for never.' }),
    idleAction: t.field({ type: idleAction, description: 'What becomes of it then.' }),
  }),
  (call, { id, networkPolicy, ...changes }) =>
    updateVm(call, id, { ...changes, networkPolicy: wirePolicy(networkPolicy) }),
)
deletionOf('deleteVm', 'Deletes a VM and its disk; its folder stays. Errors: NOT_FOUND.', deleteVm)
actionOn(
  'startVm',
  vm,
  'Starts a stopped or failed VM from its disk. Errors: NOT_FOUND, INVALID_TRANSITION, CAPACITY_UNAVAILABLE, RATE_LIMITED.',
  (call, id) => requestStatus(call, id, 'running'),
)
actionOn('stopVm', vm, 'Stops a running VM; its disk stays. Errors: NOT_FOUND, INVALID_TRANSITION.', (call, id) =>
  requestStatus(call, id, 'stopped'),
)
actionOn(
  'pauseVm',
  vm,
  'Saves a running VM with its memory; paused time is not billed. Errors: NOT_FOUND, INVALID_TRANSITION.',
  (call, id) => requestStatus(call, id, 'paused'),
)
actionOn(
  'resumeVm',
  vm,
  'Continues a paused VM exactly where it was. Errors: NOT_FOUND, INVALID_TRANSITION, CAPACITY_UNAVAILABLE, RATE_LIMITED.',
  (call, id) => requestStatus(call, id, 'running'),
)

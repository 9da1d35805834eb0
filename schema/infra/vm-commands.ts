/** Commands and background processes of a VM in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import type { GuestUser } from '#src/drivers/node.ts'
import { limits } from '#src/platform/limits.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, pageArgumentsUpTo } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { decodeId } from '#src/platform/ids.ts'
import { execCommand, type CommandResult } from '#src/resources/infra/vm-commands.ts'
import {
  findProcesses,
  followProcess,
  getProcess,
  killProcess,
  pageProcesses,
  pageProcessesOfEach,
  type ProcessEvent,
  type VmProcessOutput,
} from '#src/resources/infra/vms/processes.ts'
import type { VmProcess } from '#src/resources/infra/vms/process-records.ts'
import { callIn } from '../identity/organizations.ts'
import { vmType } from './vms.ts'

const processStatus = enumOf('VmProcessStatus', 'The status of a background process.', {
  running: 'It is running, as far as is known.',
  exited: 'It exited by itself.',
  killed: 'A signal ended it, or its VM stopped.',
} satisfies Record<VmProcess['status'], string>)
const outputStream = enumOf('OutputStream', 'The stream on which a process printed something.', {
  stdout: 'Standard output.',
  stderr: 'Standard error.',
})

/** A background process. */
const processType = nodeOf('VmProcess', findProcesses)

builder.objectType(processType, {
  description: 'A background process of a VM. Its record is kept 24 hours after it ends.',
  fields: (t) => ({
    ...linkTo(t, 'vm', {
      type: vmType,
      description: 'Its VM.',
      id: (process) => process.vmId,
    }),
    command: t.exposeString('command', { description: 'The command line; its first 1024 characters.' }),
    status: t.field({ type: processStatus, description: 'Its current status.', resolve: (process) => process.status }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'Its exit code, once it has exited by itself.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was started.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const commandResult = builder.objectRef<CommandResult>('CommandResult').implement({
  description: 'The result of a command.',
  fields: (t) => ({
    stdout: t.exposeString('stdout', { description: 'The last MiB of its standard output.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its standard error.' }),
    exitCode: t.exposeInt('exitCode', {
      description: 'The exit code: 124 when it timed out; 128 plus the signal’s number when a signal killed it.',
    }),
    duration: t.exposeString('duration', {
      description: 'How long it took, as Go writes durations, in milliseconds precision: `1.204s`.',
    }),
    hasTimedOut: t.exposeBoolean('timeout', { description: 'Whether it timed out.' }),
    isBackground: t.exposeBoolean('background', { description: 'Whether it runs on in the background.' }),
    processId: t.exposeID('processId', { nullable: true, description: 'With `background`: `prc_…`.' }),
    process: t.field({
      type: processType,
      nullable: true,
      description: 'With `background`: the process.',
      resolve: ({ processId }) => processId && decodeId('process', processId),
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it did not end by itself, as a sentence.' }),
  }),
})

const processOutput = builder.objectRef<VmProcessOutput>('VmProcessOutput').implement({
  description: 'A background process with its output.',
  fields: (t) => ({
    process: t.field({ type: processType, description: 'Its record.', resolve: (process) => process }),
    stdout: t.exposeString('stdout', {
      description: 'The last MiB of its standard output; empty when its VM does not run.',
    }),
    stderr: t.exposeString('stderr', {
      description: 'The last MiB of its standard error; empty when its VM does not run.',
    }),
  }),
})

const processEvent = builder.objectRef<ProcessEvent>('ProcessOutputEvent').implement({
  description: 'A piece of a process’s output, or its end.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'ended' in value,
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to resume after this piece.' }),
    stream: t.field({
      type: outputStream,
      nullable: true,
      description: 'The stream it was printed on; null at the end.',
      resolve: (event) => event.stream,
    }),
    text: t.exposeString('text', { description: 'The text as it was printed.' }),
    hasEnded: t.exposeBoolean('ended', { description: 'Whether the process has ended; nothing follows.' }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'The exit code, in the last piece.' }),
  }),
})
const processEventOrHeartbeat = builder.unionType('ProcessOutputEventOrHeartbeat', {
  description: 'A piece of output, or a heartbeat.',
  types: [processEvent, heartbeat],
})

const vmIdArgument = { required: true, description: 'The VM.' } as const
const vmIfGiven = { description: 'Its VM. If given, a process of another VM is not found.' }
const processIdArgument = { required: true, description: 'The process.' } as const

const processFilter = builder.inputType('VmProcessFilter', {
  description: 'Narrows a list of processes.',
  fields: (t) => ({
    statuses: t.field({ type: [processStatus], description: 'Only those with one of these statuses.' }),
  }),
})
const processArguments = {
  ...pageArgumentsUpTo(limits.processListMax),
  ...builder.args((t) => ({
    filter: t.field({ type: processFilter, description: 'Narrows the list.' }),
  })),
}
const processConnection = connectionOf('VmProcess', processType)

type ProcessesGiven = Parameters<typeof pageProcessesOfEach>[2] & {
  organizationId: string
  filter?: Parameters<typeof pageProcessesOfEach>[3]
}
const processesOf = pagesOfEach((call, vmIds, { organizationId, filter, ...window }: ProcessesGiven) =>
  pageProcessesOfEach(callIn(call, { id: organizationId }), vmIds, window, filter),
)

builder.objectField(vmType, 'processes', (t) =>
  t.field({
    type: processConnection,
    nullable: true,
    description: 'Its background processes of the last 24 hours, newest first. Requires the member role.',
    args: processArguments,
    resolve: ({ id, organizationId }, given, call) => processesOf(call, id, { ...given, organizationId }),
  }),
)
builder.queryFields((t) => ({
  vmProcesses: t.field({
    type: processConnection,
    description: 'A VM’s background processes of the last 24 hours, newest first. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument), ...processArguments },
    resolve: (_, { vmId, filter, ...window }, call) => pageProcesses(call, vmId, window, filter),
  }),
  vmProcess: t.field({
    type: processOutput,
    description: 'One background process with its output. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIfGiven), processId: t.arg.id(processIdArgument) },
    resolve: (_, { vmId, processId }, call) => getProcess(call, vmId, processId),
  }),
}))

type Types = (typeof builder)['$inferSchemaTypes']

const guestUser = enumOf('GuestUser', 'Who runs a command in a VM.', {
  user: 'The person of the VM, who may use `sudo`.',
  root: 'The superuser, with the home folder /root.',
} satisfies Record<GuestUser, string>)

/** The fields of what a command gets besides its text. */
export const optionFields = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  env: t.field({
    type: 'TextMap',
    description: 'Environment variables of this command alone, besides the VM’s: 100 at most, 256 KiB together.',
  }),
  stdin: t.string({ description: 'What it reads on standard input, up to 900 KiB; nothing by default.' }),
  user: t.field({ type: guestUser, description: 'Who runs it: `user` by default.' }),
})

mutationOf(
  'execInVm',
  { field: 'result', type: commandResult, description: 'What the command did.' },
  'Runs a command. One that ran is answered normally, whatever its exit code. Errors: INVALID_REQUEST, INVALID_ENV_KEY, INVALID_ENV_VALUE, NOT_FOUND, VM_UNREACHABLE, TIMEOUT, RATE_LIMITED.',
  (t) => ({
    vmId: t.id(vmIdArgument),
    command: t.string({
      required: true,
      description: 'A program when `args` is given; otherwise a command line for `/bin/bash -lc`.',
    }),
    args: t.stringList({ description: 'The program’s arguments, passed unchanged.' }),
    workingDir: t.string({ description: 'The working directory, an absolute path; /home/user by default.' }),
    timeoutSeconds: t.int({
      description: 'A time limit in seconds: 60 by default, 3600 at most; in the background, 0 means no limit.',
      extensions: { word: 'timeout' },
    }),
    background: t.boolean({ description: 'Whether to run it in the background and answer immediately.' }),
    ...optionFields(t),
  }),
  (call, { vmId, timeoutSeconds, ...order }) => execCommand(call, vmId, { ...order, timeout: timeoutSeconds }),
)
mutationOf(
  'killVmProcess',
  { field: 'output', type: processOutput, description: 'The process, with its output.' },
  'Sends a signal to a background process and everything it started. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    vmId: t.id(vmIfGiven),
    processId: t.id(processIdArgument),
    signal: t.string({ description: 'TERM (the default), KILL or INT.' }),
  }),
  (call, { vmId, processId, signal }) => killProcess(call, vmId, processId, signal),
)

builder.subscriptionFields((t) => ({
  vmProcessOutputEvents: t.field({
    type: processEventOrHeartbeat,
    description:
      'The output of a background process: from after the cursor (without a cursor, from its start), then live, until it ends. Errors: NOT_FOUND.',
    args: {
      vmId: t.arg.id(vmIfGiven),
      processId: t.arg.id(processIdArgument),
      after: t.arg.string({ description: 'The cursor of the last piece seen.' }),
    },
    subscribe: async (_, { vmId, processId, after }, call) =>
      withHeartbeats(await followProcess(call, vmId, processId, after, call.signal ?? new AbortController().signal)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

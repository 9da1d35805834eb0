/** Commands and background processes of a VM in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { mutationOf } from '../mutations.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { execCommand, type CommandResult } from '#src/resources/infra/vm-commands.ts'
import {
  findProcesses,
  followProcess,
  getProcess,
  killProcess,
  pageProcesses,
  type ProcessEvent,
  type VmProcess,
  type VmProcessOutput,
} from '#src/resources/infra/vms/processes.ts'
import { callIn } from '../identity/organizations.ts'
import { vmType } from './vms.ts'

const processStatus = enumOf('VmProcessStatus', 'Where a background process is.', {
  running: 'It runs, as far as is known.',
  exited: 'It ended by itself.',
  killed: 'A signal ended it, or its VM stopped.',
} satisfies Record<VmProcess['status'], string>)
const outputStream = enumOf('OutputStream', 'Where a process printed something.', {
  stdout: 'On its standard output.',
  stderr: 'On its standard error.',
})

/** A background process. */
const processType = nodeOf('VmProcess', '`prc_` and 26 characters.', findProcesses)

builder.objectType(processType, {
  description: 'A background process of a VM. Its record is kept 24 hours after it ends.',
  fields: (t) => ({
    vmId: t.id({ description: 'Its VM.', resolve: (process) => encodeId('vm', process.vmId) }),
    vm: t.field({ type: vmType, nullable: true, description: 'Its VM.', resolve: (process) => process.vmId }),
    command: t.exposeString('command', { description: 'What was started; its first 1024 characters.' }),
    status: t.field({ type: processStatus, description: 'Where it is.', resolve: (process) => process.status }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'Once it ended by itself.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was started.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const commandResult = builder.objectRef<CommandResult>('CommandResult').implement({
  description: 'What a command did.',
  fields: (t) => ({
    stdout: t.exposeString('stdout', { description: 'The last MiB of its output.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its errors.' }),
    exitCode: t.exposeInt('exitCode', {
      description: '124 when its time ran out; 128 and the signal’s number when one killed it.',
    }),
    duration: t.exposeString('duration', { description: 'As Go spells it, with milliseconds: `1.204s`.' }),
    timedOut: t.exposeBoolean('timeout', { description: 'Whether its time ran out.' }),
    background: t.exposeBoolean('background', { description: 'Whether it goes on in the background.' }),
    processId: t.exposeID('processId', { nullable: true, description: 'With `background`: `prc_…`.' }),
    process: t.field({
      type: processType,
      nullable: true,
      description: 'With `background`: the process.',
      resolve: ({ processId }) => processId && decodeId('process', processId),
    }),
    error: t.exposeString('error', { nullable: true, description: 'One sentence when it did not end by itself.' }),
  }),
})

const processOutput = builder.objectRef<VmProcessOutput>('VmProcessOutput').implement({
  description: 'A background process with what it printed.',
  fields: (t) => ({
    process: t.field({ type: processType, description: 'Its record.', resolve: (process) => process }),
    stdout: t.exposeString('stdout', { description: 'The last MiB of its output; empty when its VM does not run.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its errors; empty when its VM does not run.' }),
  }),
})

const processEvent = builder.objectRef<ProcessEvent>('ProcessOutputEvent').implement({
  description: 'A piece of a process’s output, or its end.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'ended' in value,
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to resume behind this piece.' }),
    stream: t.field({
      type: outputStream,
      nullable: true,
      description: 'Where it was printed; null at the end.',
      resolve: (event) => event.stream,
    }),
    text: t.exposeString('text', { description: 'What was printed, as it came.' }),
    ended: t.exposeBoolean('ended', { description: 'Whether the process has ended; nothing follows.' }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'At the end.' }),
  }),
})
const processEventOrHeartbeat = builder.unionType('ProcessOutputEventOrHeartbeat', {
  description: 'A piece of output, or a sign of life.',
  types: [processEvent, heartbeat],
})

const vmIdArgument = { required: true, description: 'The VM.' } as const
const processIdArgument = { required: true, description: 'The process.' } as const

const processFilter = builder.inputType('VmProcessFilter', {
  description: 'Which processes a list shows.',
  fields: (t) => ({ statuses: t.field({ type: [processStatus], description: 'Those that are in one of these.' }) }),
})
const processArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    first: t.int({ description: 'How many from the beginning, 1 to 200; 50 without it.' }),
    filter: t.field({ type: processFilter, description: 'Which ones.' }),
  })),
}
const processConnection = connectionOf('VmProcess', processType)

builder.objectField(vmType, 'processes', (t) =>
  t.field({
    type: processConnection,
    nullable: true,
    description: 'Its background processes of the last 24 hours, newest first. Takes a member.',
    args: processArguments,
    resolve: (vm, { filter, ...window }, call) =>
      pageProcesses(callIn(call, { id: vm.organizationId }), encodeId('vm', vm.id), window, filter),
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
    description: 'One background process with what it printed. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument), processId: t.arg.id(processIdArgument) },
    resolve: (_, { vmId, processId }, call) => getProcess(call, vmId, processId),
  }),
}))

mutationOf(
  'execInVm',
  { field: 'result', type: commandResult },
  'Runs a command as `user`. A command that ran answers normally whatever its exit code. Errors: INVALID_REQUEST, NOT_FOUND, VM_UNREACHABLE, TIMEOUT, RATE_LIMITED.',
  (t) => ({
    vmId: t.id(vmIdArgument),
    command: t.string({ required: true, description: 'With `args` a program; without, text for `/bin/bash -lc`.' }),
    args: t.stringList({ description: 'The program’s arguments, passed as they are.' }),
    workingDir: t.string({ description: 'An absolute path; /home/user without it.' }),
    timeoutSeconds: t.int({
      description: '60 without it, 3600 at most; 0 is no limit in the background.',
      extensions: { word: 'timeout' },
    }),
    background: t.boolean({ description: 'Whether to answer at once and let it go on.' }),
  }),
  (call, { vmId, timeoutSeconds, ...order }) => execCommand(call, vmId, { ...order, timeout: timeoutSeconds }),
)
mutationOf(
  'killVmProcess',
  { field: 'output', type: processOutput },
  'Sends a signal to a background process and everything it started. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    vmId: t.id(vmIdArgument),
    processId: t.id(processIdArgument),
    signal: t.string({ description: 'TERM (without it), KILL or INT.' }),
  }),
  (call, { vmId, processId, signal }) => killProcess(call, vmId, processId, signal),
)

builder.subscriptionFields((t) => ({
  vmProcessOutput: t.field({
    type: processEventOrHeartbeat,
    description:
      'What a background process prints: from the cursor (from its start without one), live, until it ends. Errors: NOT_FOUND.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      processId: t.arg.id(processIdArgument),
      after: t.arg.string({ description: 'The cursor of the last piece seen.' }),
    },
    subscribe: async (_, { vmId, processId, after }, call) =>
      withHeartbeats(await followProcess(call, vmId, processId, after, call.signal ?? new AbortController().signal)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))

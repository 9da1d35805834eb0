/** Commands and background processes of a VM in GraphQL. */
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { encodeId } from '#src/platform/ids.ts'
import { execCommand, type CommandResult } from '#src/resources/infra/vm-commands.ts'
import {
  followProcess,
  getProcess,
  killProcess,
  listProcesses,
  type ProcessEvent,
  type VmProcess,
  type VmProcessOutput,
} from '#src/resources/infra/vms/processes.ts'

const commandResult = builder.objectRef<CommandResult>('CommandResult').implement({
  description: 'What a command did.',
  fields: (t) => ({
    stdout: t.exposeString('stdout', { description: 'The last MiB of its output.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its errors.' }),
    exitCode: t.exposeInt('exitCode', {
      description: '124 when its time ran out; 128 and the signal’s number when one killed it.',
    }),
    duration: t.exposeString('duration', { description: 'As Go spells it, with milliseconds: `1.204s`.' }),
    timeout: t.exposeBoolean('timeout', { description: 'Whether its time ran out.' }),
    background: t.exposeBoolean('background', { description: 'Whether it goes on in the background.' }),
    processId: t.exposeString('processId', { nullable: true, description: 'With `background`: `prc_…`.' }),
    error: t.exposeString('error', { nullable: true, description: 'One sentence when it did not end by itself.' }),
  }),
})

const vmProcess = builder.objectRef<VmProcess>('VmProcess').implement({
  description: 'A background process of a VM. Its record is kept 24 hours after it ends.',
  fields: (t) => ({
    id: t.id({ description: '`prc_` and 26 characters.', resolve: (process) => encodeId('process', process.id) }),
    vmId: t.id({ description: 'Its VM.', resolve: (process) => encodeId('vm', process.vmId) }),
    command: t.exposeString('command', { description: 'What was started; its first 1024 characters.' }),
    status: t.exposeString('status', { description: '`running`, `exited` or `killed`.' }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'Once it ended by itself.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was started.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const vmProcessOutput = builder.objectRef<VmProcessOutput>('VmProcessOutput').implement({
  description: 'A background process with what it printed.',
  fields: (t) => ({
    process: t.field({ type: vmProcess, description: 'Its record.', resolve: (process) => process }),
    stdout: t.exposeString('stdout', { description: 'The last MiB of its output; empty when its VM does not run.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its errors; empty when its VM does not run.' }),
  }),
})

const processEvent = builder.objectRef<ProcessEvent>('ProcessOutputEvent').implement({
  description: 'A piece of a process’s output, or its end.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'ended' in value,
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to resume behind this piece.' }),
    stream: t.exposeString('stream', { nullable: true, description: '`stdout` or `stderr`; null at the end.' }),
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

builder.queryFields((t) => ({
  vmProcesses: t.field({
    type: [vmProcess],
    description: 'The VM’s background processes of the last 24 hours, newest first. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument) },
    resolve: (_, { vmId }, call) => listProcesses(call, vmId),
  }),
  vmProcess: t.field({
    type: vmProcessOutput,
    description: 'One background process. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument), processId: t.arg.id(processIdArgument) },
    resolve: (_, { vmId, processId }, call) => getProcess(call, vmId, processId),
  }),
}))

builder.mutationFields((t) => ({
  execInVm: t.field({
    type: commandResult,
    description:
      'Runs a command as `user`. A command that ran answers normally whatever its exit code. Errors: INVALID_REQUEST, NOT_FOUND, VM_UNREACHABLE, TIMEOUT, RATE_LIMITED.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      command: t.arg.string({
        required: true,
        description: 'With `args` a program; without, text for `/bin/bash -lc`.',
      }),
      args: t.arg.stringList({ description: 'The program’s arguments, passed as they are.' }),
      workingDir: t.arg.string({ description: 'An absolute path; /home/user without it.' }),
      timeout: t.arg.int({ description: 'Seconds: 60 without it, 3600 at most; 0 is no limit in the background.' }),
      background: t.arg.boolean({ description: 'Whether to answer at once and let it go on.' }),
    },
    resolve: (_, { vmId, ...order }, call) => execCommand(call, vmId, order),
  }),
  killVmProcess: t.field({
    type: vmProcessOutput,
    description:
      'Sends a signal to a background process and everything it started. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      vmId: t.arg.id(vmIdArgument),
      processId: t.arg.id(processIdArgument),
      signal: t.arg.string({ description: 'TERM (without it), KILL or INT.' }),
    },
    resolve: (_, { vmId, processId, signal }, call) => killProcess(call, vmId, processId, signal),
  }),
}))

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

/** VMs with their commands, processes, variables, files, terminals and tunnels, and sandboxes. */
import { actionOf, byId, callOf, listOf, mutationOf, present, streamOf, withCursor, type Base } from '../calls.ts'
import type { CallOptions } from '../connection.ts'
import { BerthError } from '../errors.ts'
import { filesOf } from '../files.ts'
import {
  CreateVmDocument,
  DeleteVmDocument,
  DeleteVmEnvVariableDocument,
  ExecInVmDocument,
  KillVmProcessDocument,
  PauseVmDocument,
  ResumeVmDocument,
  RunSandboxDocument,
  SetVmEnvDocument,
  StartVmDocument,
  StopVmDocument,
  UpdateVmDocument,
  VmDocument,
  VmEnvDocument,
  VmEventsDocument,
  VmFolderDocument,
  VmKernelLogDocument,
  VmPortsDocument,
  VmPreviewDocument,
  VmProcessDocument,
  VmProcessesDocument,
  VmProcessOutputDocument,
  VmsDocument,
  type ExecInVm,
  type ExecInVmInput,
  type RunSandbox,
  type RunSandboxInput,
} from '../generated/documents.ts'
import { terminalsOf } from '../terminals.ts'
import { tunnelsOf } from '../tunnels.ts'

/** What a command in a VM answered. */
export type CommandResult = NonNullable<ExecInVm['execInVm']>['result']
/** What a sandbox answered. */
export type SandboxResult = NonNullable<RunSandbox['runSandbox']>['sandbox']

const execSeconds = 60 // what a command has unless its caller says otherwise
const spareSeconds = 30

/** `berth.vms`. */
export function vmsOf(base: Base) {
  const exec = mutationOf(base, ExecInVmDocument, (data) => data.execInVm?.result)
  const preview = callOf(base, VmPreviewDocument, (data) => data.vm?.previewUrl)
  const processes = listOf(base, VmProcessesDocument, (data) => data.vmProcesses)
  return {
    ...listOf(base, VmsDocument, (data) => data.vms),
    get: byId(base, VmDocument, (data) => data.vm),
    /** Creates one, and waits until it runs unless `wait` is false. */
    create: mutationOf(base, CreateVmDocument, (data) => data.createVm?.vm),
    update: mutationOf(base, UpdateVmDocument, (data) => data.updateVm?.vm),
    start: actionOf(base, StartVmDocument, (data) => data.startVm?.vm),
    stop: actionOf(base, StopVmDocument, (data) => data.stopVm?.vm),
    pause: actionOf(base, PauseVmDocument, (data) => data.pauseVm?.vm),
    resume: actionOf(base, ResumeVmDocument, (data) => data.resumeVm?.vm),
    delete: actionOf(base, DeleteVmDocument, (data) => data.deleteVm?.deletedId),
    /** Runs a command: a list is executed as it is, a text by `/bin/bash -lc`. It has 60 s unless `timeoutSeconds` says otherwise. */
    exec(
      vmId: string,
      command: string | readonly string[],
      input: Omit<ExecInVmInput, 'vmId' | 'command' | 'args'> = {},
      options: CallOptions = {},
    ): Promise<CommandResult> {
      const [first = '', ...args] = typeof command === 'string' ? [command] : command
      return exec(
        { ...input, vmId, command: first, ...(typeof command === 'string' ? {} : { args }) },
        { timeoutSeconds: (input.timeoutSeconds ?? execSeconds) + spareSeconds, ...options },
      )
    },
    /** Its status at each change, from now on until it is deleted. */
    events: streamOf(base, VmEventsDocument, 'vmId', (data) => withCursor(data.vmEvents)),
    /** Background processes. */
    processes: {
      list: (vmId: string, options?: CallOptions) => processes.list({ vmId }, options),
      get: (vmId: string, processId: string, options?: CallOptions) =>
        callOf(base, VmProcessDocument, (data) => data.vmProcess)({ vmId, processId }, options),
      kill: mutationOf(base, KillVmProcessDocument, (data) => data.killVmProcess?.output.process),
      /** What a process prints, from its beginning to its end: the last has `hasEnded`. */
      output: streamOf(base, VmProcessOutputDocument, 'processId', (data) => withCursor(data.vmProcessOutputEvents)),
    },
    /** What listens in it. */
    ports: byId(base, VmPortsDocument, (data) => data.vm && seen(data.vm.ports)),
    /** What its kernel printed last, a line for each message. */
    kernelLog: byId(base, VmKernelLogDocument, (data) => data.vm && seen(data.vm.kernelLog)),
    /** An address of a port for whoever has it. */
    preview: (vmId: string, port: number, ttlSeconds?: number, options?: CallOptions): Promise<string> =>
      preview({ id: vmId, port, ...(ttlSeconds === undefined ? {} : { ttlSeconds }) }, options),
    files: {
      ...filesOf(base),
      list: callOf(base, VmFolderDocument, (data) => data.vmFolder?.entries),
    },
    /** Environment variables. */
    env: {
      list: byId(base, VmEnvDocument, (data) => data.vm?.env),
      /** Sets these; the others stay. */
      set: mutationOf(base, SetVmEnvDocument, (data) => data.setVmEnv),
      delete: mutationOf(base, DeleteVmEnvVariableDocument, (data) => data.deleteVmEnvVariable),
    },
    terminals: terminalsOf(base),
    tunnels: tunnelsOf(base),
  }
}

/** What is null of a VM that cannot be looked into. @throws BerthError VM_UNREACHABLE. */
function seen<Value>(value: Value | null): Value {
  if (value !== null) return value
  throw new BerthError({
    code: 'VM_UNREACHABLE',
    status: 502,
    message: 'The VM does not run or does not answer, or you may not look inside it.',
  })
}

/** `berth.sandboxes`. */
export function sandboxesOf({ connection }: Base) {
  return {
    /** Runs a program of a language (`python`, `node`, `bash` …) in a VM of its own, which then deletes itself. */
    async run(
      language: string,
      code: string,
      input: Omit<RunSandboxInput, 'language' | 'code'> = {},
      options?: CallOptions,
    ): Promise<SandboxResult> {
      const data = await connection.query(RunSandboxDocument, { input: { ...input, language, code } }, options)
      return present(data.runSandbox?.sandbox)
    },
  }
}

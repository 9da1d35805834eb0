/** Commands in a VM, with their results. Background ones are processes: see vms/processes.ts. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Call } from '#src/platform/services.ts'
import type { ExecRequest, GuestUser } from '#src/drivers/node.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'
import { reachVm } from './vms/access.ts'
import { startProcess } from './vms/processes.ts'

/** What a command gets besides its text: its own variables, what it reads, and who runs it (`user` by default). */
export type CommandOptions = {
  env?: Readonly<Record<string, string>> | null
  stdin?: string | null
  user?: GuestUser | null
}

/**
 * A command to run: with `args`, `command` is a program; otherwise it is a command line for `/bin/bash -lc`. Times in
 * seconds.
 */
export type CommandOrder = CommandOptions & {
  command: string
  args?: readonly string[] | null
  workingDir?: string | null
  timeout?: number | null
  background?: boolean | null
}

/** The result. `duration` is in Go's format with milliseconds: `1.204s`. */
export type CommandResult = {
  stdout: string
  stderr: string
  exitCode: number
  duration: string
  timeout: boolean
  background: boolean
  processId: string | null
  error: string | null
}

/**
 * Runs a command. A command that ran returns normally, whatever its exit code.
 * @throws BerthError invalid_request, invalid_env_key, invalid_env_value, not_found, vm_unreachable, timeout (the guest
 * was silent), rate_limited.
 */
export async function execCommand(call: Call, vmId: string, order: CommandOrder): Promise<CommandResult> {
  const vm = await reachVm(call, vmId, 'vms:write')
  const read = { ...readOrder(order), ...readOptions(order) }
  await call.limiter.spend(`exec:${vm.id}`, limits.execsPerMinute)
  const request: ExecRequest = { vmId: vm.id, envGeneration: vm.envGeneration, ...read }
  if (order.background) {
    const processId = await startProcess(call, vm, request)
    return {
      stdout: '',
      stderr: '',
      exitCode: 0,
      duration: '0.000s',
      timeout: false,
      background: true,
      processId,
      error: null,
    }
  }
  const silenceMs = read.timeoutMs + limits.execSilenceSeconds * 1000
  const result = await vm.node.call('exec', request, { silenceMs })
  return {
    stdout: result.stdout,
    stderr: result.stderr,
    exitCode: result.exitCode,
    duration: spellDuration(result.durationMs),
    timeout: result.timedOut,
    background: false,
    processId: null,
    error: result.timedOut ? `The command was stopped after ${read.timeoutMs / 1000} s.` : null,
  }
}

/** Checks an order and fills in the defaults. @throws BerthError invalid_request. */
export function readOrder(order: CommandOrder): Pick<ExecRequest, 'command' | 'args' | 'workingDir' | 'timeoutMs'> {
  const args = order.args ?? null
  if (order.command.trim() === '') throw new BerthError('invalid_request', 'command must not be empty.')
  checkWords([order.command, ...(args ?? [])])
  if (order.workingDir && !order.workingDir.startsWith('/'))
    throw new BerthError('invalid_request', 'working_dir must be an absolute path.')
  return {
    command: order.command,
    args,
    workingDir: order.workingDir ?? null,
    timeoutMs: readTimeout(order.timeout, order.background ?? false) * 1000,
  }
}

/** Checks the command and its arguments for their size, as Linux counts it. @throws BerthError invalid_request. */
export function checkWords(words: readonly string[]): void {
  const bytes = words.reduce((sum, one) => sum + Buffer.byteLength(one) + 1, 0)
  if (bytes > limits.execArgumentBytes)
    throw new BerthError(
      'invalid_request',
      `command and args, each with a byte that ends it, may have at most ${limits.execArgumentBytes / 1024} KiB together; write a file for more.`,
    )
}

/**
 * Checks what a command gets besides its text. Root is for everyone who may run commands, because `user` may use sudo.
 * @throws BerthError invalid_request, invalid_env_key, invalid_env_value.
 */
export function readOptions({ env, stdin, user }: CommandOptions): Pick<ExecRequest, 'env' | 'stdin' | 'user'> {
  checkEnv(env ?? {}, 'secret', 'command')
  if (Buffer.byteLength(stdin ?? '') > limits.execInputBytes)
    throw new BerthError(
      'invalid_request',
      `stdin may have at most ${limits.execInputBytes / 1024} KiB; put a file into the VM for more, and read that.`,
    )
  return { env: env ?? {}, stdin: stdin ?? null, user: user ?? 'user' }
}

/**
 * The time limit of a command in seconds: 60 by default, 3600 at most; 0 means no limit in the background, and the
 * maximum otherwise.
 */
export function readTimeout(given: number | null | undefined, background: boolean): number {
  const seconds = given ?? (background ? 0 : limits.execTimeoutSecondsDefault)
  if (seconds < 0 || seconds > limits.execTimeoutSecondsMax)
    throw new BerthError(
      'invalid_request',
      `timeout must be a whole number of seconds from 0 to ${limits.execTimeoutSecondsMax}.`,
    )
  return seconds === 0 && !background ? limits.execTimeoutSecondsMax : seconds
}

/** Milliseconds in Go's format of durations with three digits: `1.204s`, `1m2.500s`, `1h0m0.000s`. */
export function spellDuration(durationMs: number): string {
  const total = Math.round(durationMs)
  const minutes = Math.floor(total / 60_000)
  const seconds = `${((total % 60_000) / 1000).toFixed(3)}s`
  if (minutes === 0) return seconds
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`
}

/** Sandboxes: code or a command run once in a fresh VM that deletes itself. */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { nodeClient, type ExecRequest, type ExecResult } from '#src/drivers/node.ts'
import { guestHome } from './git-repos.ts'
import { findNode } from './nodes.ts'
import { languageAliases, sandboxLanguages } from './templates.ts'
import { nodeTokenPurpose } from './vms/access.ts'
import { checkWords, readOrder, readOptions, readTimeout, type CommandOptions } from './vm-commands.ts'
import { createVm } from './vms.ts'
import { markDeleted } from './vms/lifecycle.ts'
import type { Vm } from './vms/rows.ts'

/** Exactly one of `code` (with its language) or `command`. Seconds. */
export type SandboxOrder = CommandOptions & {
  templateId?: string | null
  language?: string | null
  code?: string | null
  command?: string | null
  args?: readonly string[] | null
  timeout?: number | null
  ttl?: number | null
}

/** The VM, the command's result, and the VM's time to live in seconds. */
export type SandboxResult = { vm: Vm; command: { exitCode: number; stdout: string; stderr: string }; ttl: number }

/**
 * Runs the code or command and waits for it. The VM is removed `ttl` seconds after its creation. A non-zero exit code
 * is a result, not an error.
 * @throws BerthError invalid_request, invalid_template; capacity_unavailable when no VM, or its template, was ready in time; service_unavailable when the VM could not be reached.
 */
export async function runSandbox(call: Call, order: SandboxOrder): Promise<SandboxResult> {
  const scope = allow(call.caller, 'vms:write')
  const ttl = order.ttl ?? limits.sandboxTtlSecondsDefault
  if (ttl < limits.sandboxTtlSecondsMin || ttl > limits.sandboxTtlSecondsMax)
    throw new BerthError(
      'invalid_request',
      `ttl must be from ${limits.sandboxTtlSecondsMin} to ${limits.sandboxTtlSecondsMax} seconds.`,
    )
  const run = readRun(order, ttl)
  await call.limiter.spend(`sandbox:${scope.organizationId}`, limits.sandboxesPerMinute)
  const vm = await createVm(call, {
    skipFolderCreate: true,
    ttlSeconds: ttl,
    templateId: order.templateId ?? null,
  })
  if (vm.status !== 'running') {
    await transaction(call.db, (tx) => markDeleted(call, tx, vm, 'error'))
    const late = `${vm.statusReason ?? 'No VM became ready in time.'} Try again in a minute.`
    const sentence = vm.status === 'error' && vm.statusReason !== null ? vm.statusReason : late // it says itself what to do
    throw new BerthError('capacity_unavailable', sentence, { retryAfterSeconds: 30 })
  }
  const result = await runIn(call, vm, run)
  return { vm, command: { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr }, ttl }
}

type Run = Omit<ExecRequest, 'vmId' | 'envGeneration'>

async function runIn(call: Call, vm: Vm, run: Run): Promise<ExecResult> {
  const node = await findNode(call.db, vm.nodeId)
  if (!node) throw new Error(`the VM ${vm.id} runs on a node that is not there`)
  try {
    const client = nodeClient(node.agentUrl, call.sealer.derive(nodeTokenPurpose))
    return await client.call(
      'exec',
      { vmId: vm.id, envGeneration: 0, ...run },
      { silenceMs: run.timeoutMs + limits.execSilenceSeconds * 1000 },
    )
  } catch (error) {
    // The documents list 400, 401, 500 and 503 here: an unreachable or silent VM is the last of them.
    if (error instanceof BerthError && (error.status === 502 || error.status === 504))
      throw new BerthError(
        'service_unavailable',
        `The sandbox ${encodeId('vm', vm.id)} stopped answering. Try again.`,
        { retryAfterSeconds: 3 },
      )
    throw error
  }
}

function readRun(order: SandboxOrder, ttl: number): Run {
  const hasCode = order.code !== null && order.code !== undefined
  const hasCommand = order.command !== null && order.command !== undefined
  if (hasCode === hasCommand)
    throw new BerthError('invalid_request', 'Send exactly one of code (with language) or command (with args).')
  const options = readOptions(order)
  const timeoutMs = Math.min(readTimeout(order.timeout, false), ttl) * 1000
  if (hasCommand) {
    if (order.language) throw new BerthError('invalid_request', 'language belongs to code; leave it out with command.')
    return { ...readOrder({ command: order.command ?? '', args: order.args ?? null }), ...options, timeoutMs }
  }
  const code = order.code ?? ''
  const codeBytes = Buffer.byteLength(code)
  if (codeBytes > limits.execInputBytes)
    throw new BerthError('invalid_request', `code may have at most ${limits.execInputBytes / 1024} KiB.`)
  checkWords(order.args ?? [])
  const name = (order.language ?? '').toLowerCase()
  const language = sandboxLanguages[languageAliases[name] ?? name]
  if (!language)
    throw new BerthError('invalid_request', `language must be one of ${Object.keys(sandboxLanguages).join(', ')}.`)
  const file = `${guestHome}/${language.file}`
  // The code arrives ahead of the standard input and is written to a file; then the program replaces the shell.
  const script = 'head -c "$1" > "$0" && shift && exec "$@"'
  return {
    ...options,
    command: '/bin/bash',
    args: ['-c', script, file, String(codeBytes), ...language.argv, file, ...(order.args ?? [])],
    workingDir: null,
    timeoutMs,
    stdin: code + (options.stdin ?? ''),
  }
}

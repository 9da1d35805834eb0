/**
 * Runs a tool call in a VM exactly once: it is started under its own id and followed to its end, and another worker
 * continues to follow it if this one dies.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { nodeClient, type ExecRequest, type NodeClient } from '#src/drivers/node.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Masker } from '#src/platform/masking.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import type { GuestEnd, GuestOrder } from './guest-shapes.ts'
import { keepEnds } from './kept-output.ts'

/** A running VM and its node. `startedAt` changes with every boot. */
export type GuestVm = { id: string; startedAt: string | null; envGeneration: number; node: NodeClient }

/**
 * A call, and the VM in which it was started before; null if it was not. `vm` finds the session's VM, running; `masker`
 * gets the masker of its output.
 */
export type GuestCall = {
  id: string
  order: GuestOrder
  begunIn: { vmId: string | null; vmStartedAt: string | null } | null
  vm: () => Promise<GuestVm>
  masker: () => Promise<Masker>
  begin: (vm: GuestVm) => Promise<void>
}

/** The machine in which a call was started is gone; the message says how that is known, for the log. */
export class MachineLost extends Error {}

/**
 * The machine is reachable but does not end a command that exceeded its time limit. A retry would hang in the same way.
 */
class Overdue extends BerthError {
  constructor() {
    super('timeout', 'The machine did not end the command at its limit. It may be overloaded.')
  }
}

const callSilenceMs = 15_000
const againMs = 500
/** How long a VM may be unreachable before its call is given up, ms. */
const unreachableMs = 90_000
/** How long after a command's time limit the guest may take to report its end. */
const graceMs = 30_000
/** A guest that is asked about a process just as it starts does not know it yet. */
const unknownTriesMax = 10

/** The VM as a call needs it. */
export async function guestVm({ db, sealer }: Background, vm: Vm): Promise<GuestVm> {
  const { agentUrl, envGeneration } = await getOne<Pick<Row<'nodes'>, 'agentUrl'> & Pick<Row<'vms'>, 'envGeneration'>>(
    db,
    sql`select n.agent_url, v.env_generation from vms v join nodes n on n.id = v.node_id where v.id = ${vm.id}`,
  )
  return {
    id: vm.id,
    startedAt: vm.startedAt,
    envGeneration,
    node: nodeClient(agentUrl, sealer.derive(nodeTokenPurpose)),
  }
}

/**
 * Runs a call to its end, or follows one that is already running.
 * @throws MachineLost; BerthError when the VM is not available or not reachable; the signal's reason, in which case the
 * process continues to run.
 */
export async function runInGuest(call: GuestCall, signal: AbortSignal): Promise<GuestEnd> {
  let { begunIn } = call
  let lastReachedMs = performance.now()
  for (;;) {
    signal.throwIfAborted()
    try {
      const vm = await call.vm()
      if (!begunIn) await call.begin(vm)
      else if (begunIn.vmId !== vm.id) throw new MachineLost('the session has another VM now')
      else if (begunIn.vmStartedAt !== vm.startedAt) await checkKnown(vm, call.id)
      begunIn = { vmId: vm.id, vmStartedAt: vm.startedAt }
      await vm.node.call(
        'startProcess',
        { ...requestOf(vm, call.order), processId: call.id },
        { silenceMs: callSilenceMs },
      )
      lastReachedMs = performance.now()
      const end = await follow(vm, call, signal).catch((error: unknown) => {
        if (error instanceof BerthError && error.code === 'vm_unreachable') lastReachedMs = performance.now() // it was running until now
        throw error
      })
      if (end) return end
    } catch (error) {
      signal.throwIfAborted()
      const passes =
        error instanceof BerthError &&
        (error.code === 'vm_unreachable' || error.code === 'timeout') &&
        !(error instanceof Overdue)
      if (!passes || performance.now() - lastReachedMs > unreachableMs) throw error
      log.debug({ reason: error.message, vm: begunIn?.vmId }, 'a tool’s VM is unreachable; trying again')
    }
    await wait(againMs, undefined, { signal })
  }
}

/** Kills the processes of these calls, if the VM is reachable. */
export async function killInGuest(vm: GuestVm, ids: readonly string[]): Promise<void> {
  await Promise.all(
    ids.map((processId) =>
      vm.node
        .call('killProcess', { vmId: vm.id, processId, signal: 'KILL' }, { silenceMs: 3_000 })
        .catch((error: Error) => {
          log.warn({ reason: error.message }, 'a tool that was interrupted could not be killed')
        }),
    ),
  )
}

/** Deletes the stored output of ended calls; a failure only costs space in the VM. */
export function forgetInGuest(vm: GuestVm, processIds: readonly string[]): void {
  vm.node
    .call('forgetOutput', { vmId: vm.id, processIds }, { silenceMs: callSilenceMs })
    .catch((error: Error) => log.debug({ reason: error.message }, 'the output of ended tools could not be freed'))
}

/** How the process ended; undefined when the connection broke first. */
async function follow(
  vm: GuestVm,
  { id, order, masker: findMasker }: GuestCall,
  signal: AbortSignal,
): Promise<GuestEnd | undefined> {
  const masker = await findMasker()
  const late = AbortSignal.timeout(order.timeoutMs + graceMs)
  for (let tries = 1; ; tries++) {
    const kept = { stdout: keepEnds(masker), stderr: keepEnds(masker) }
    try {
      for await (const chunk of vm.node.follow(
        { vmId: vm.id, processId: id, stdoutOffset: 0, stderrOffset: 0 },
        AbortSignal.any([signal, late]),
      )) {
        if ('ended' in chunk)
          return {
            exitCode: chunk.exitCode ?? 137,
            timedOut: chunk.status === 'killed' && chunk.exitCode === 124,
            stdout: kept.stdout.text(),
            stderr: kept.stderr.text(),
          }
        kept[chunk.stream].add(chunk.offset, chunk.text)
      }
    } catch (error) {
      if (!(error instanceof BerthError) || error.code !== 'not_found' || tries >= unknownTriesMax) throw error
    }
    signal.throwIfAborted()
    if (late.aborted) throw new Overdue()
    const { status } = await vm.node
      .call('readProcess', { vmId: vm.id, processId: id }, { silenceMs: callSilenceMs })
      .catch((error: unknown) => {
        if (error instanceof BerthError && error.code === 'not_found' && tries < unknownTriesMax)
          return { status: 'unknown' as const }
        throw error
      })
    if (status === 'running') return undefined
    await wait(againMs / 5, undefined, { signal })
  }
}

/**
 * Checks a call whose VM was started again since. After a boot no earlier process is running, and the last seconds of
 * the disk may be missing. The call can be followed only if its process has ended, or still has its control group
 * because the VM was paused or its node unreachable.
 * @throws MachineLost
 */
async function checkKnown(vm: GuestVm, processId: string): Promise<void> {
  const isOver = async (): Promise<boolean> =>
    vm.node.call('readProcess', { vmId: vm.id, processId }, { silenceMs: callSilenceMs }).then(
      ({ status }) => status !== 'running',
      (error: unknown) => {
        if (error instanceof BerthError && error.code === 'not_found') return false
        throw error
      },
    )
  if (await isOver()) return
  const { exitCode } = await vm.node.call(
    'exec',
    requestOf(vm, { argv: ['/usr/bin/test', '-d', `/sys/fs/cgroup/user/${processId}`], timeoutMs: 5_000 }),
    { silenceMs: callSilenceMs },
  )
  if (exitCode !== 0 && !(await isOver())) throw new MachineLost('its VM was started again and does not know the call')
}

function requestOf(
  { id: vmId, envGeneration }: GuestVm,
  { argv: [command = '', ...args], timeoutMs }: GuestOrder,
): ExecRequest {
  return { vmId, envGeneration, command, args, workingDir: null, timeoutMs, stdin: null }
}

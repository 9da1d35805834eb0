/**
 * The VMs of environments: created at the first use as private VMs of the owner, prepared once, stopped when idle,
 * started again at the next use. The slow work is a job of the VM's node: see workers/agents/environments.ts.
 */
import type { Scope } from '#src/platform/access.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { job, onNode } from '#src/platform/jobs.ts'
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { markDeleted, moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { setNetworkPolicy } from '#src/resources/infra/vms/network-policies.ts'
import { insertVm } from '#src/resources/infra/vms/orders.ts'
import { findRunningVmRow, findVmRow, lockVmRow, type NetworkPolicy, type Vm } from '#src/resources/infra/vms/rows.ts'
import { policyOf, type Networking, type VmConfig } from './configs.ts'
import { environmentArchived, findEnvironmentRow, lockEnvironmentRow, type Environment } from './rows.ts'
import { beginPreparing, inFlightTopic, moveEnvironment } from './states.ts'
import { noticeOrLater } from '#src/resources/agents/notices.ts'

/** Starts one environment's VM and prepares it. Runs on the VM's node. */
export const prepareEnvironment = job<{ environmentId: string }>('environments-prepare', {
  retryLimit: 3,
  expireInSeconds: limits.setupSecondsMax + limits.environmentBootSecondsMax,
})

/** A use is recorded at most this often. */
const usedSeconds = 5
/** While waiting, a use checks this often whether it missed a notice. */
const lookAgainMs = 5_000
const batchMax = 100
/** The retry delay while the maximum number of environments is starting. */
const retryAfterSeconds = 5
/** An environment is starting for longer than this only if its node is gone. */
const provisioningSecondsMax = 2 * (limits.setupSecondsMax + limits.environmentBootSecondsMax)

/** What a use needs: the hosts of the agent's tool servers, and a signal to give up. */
export type EnvironmentUse = { mcpHosts?: readonly string[]; signal?: AbortSignal }

/**
 * The environment's VM, running and prepared. Creates or starts it if necessary and waits for it, also for its turn
 * while the organization has the maximum number of environments starting. Every use is recorded, which keeps the VM
 * from being stopped as idle.
 * @throws BerthError not_found; resource_archived; invalid_request for one that has no VM; vm_unreachable with the
 * reason when the VM is not available; as reserveRoom when there is no room to create or start it; the signal's reason
 * when it fires.
 */
export async function ensureEnvironmentVm(services: Background, id: string, use: EnvironmentUse = {}): Promise<Vm> {
  const ready = await findReady(services, id, use)
  if (ready) return ready
  const heard = new AbortController()
  const over = use.signal ? AbortSignal.any([use.signal, heard.signal]) : heard.signal
  const heardOrLater = noticeOrLater(services.pubsub.subscribe('environment', id, over), lookAgainMs)
  try {
    await waitForTurn(services, id, use, over)
    for (;;) {
      const vm = await settled(services.db, id)
      if (vm) return vm
      await heardOrLater()
      use.signal?.throwIfAborted()
    }
  } finally {
    heard.abort()
  }
}

/**
 * Requests the VM, in the caller's transaction, without waiting.
 * @throws BerthError rate_limited while the organization has the maximum number of environments starting, or no room
 * left; as ensureEnvironmentVm.
 */
export async function demandVm(services: Background, tx: Tx, id: string, use: EnvironmentUse): Promise<void> {
  if (await demandInTurn(services, tx, id, use)) return
  throw new BerthError(
    'rate_limited',
    `${inFlightMax(services)} environments of this organization are starting, which is the limit. Try again when one of them is ready.`,
    { retryAfterSeconds },
  )
}

/** Deletes the environment's VM, in the caller's transaction. */
export async function releaseVm(
  services: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  { vmId }: Pick<Environment, 'vmId'>,
): Promise<void> {
  const vm = vmId && (await lockVmRow(tx, vmId))
  if (vm) await markDeleted(services, tx, vm, 'request')
}

/** Applies an environment's new network policy to its VM, also while it is running. */
export async function applyNetworking(
  services: Pick<Background, 'jobs'>,
  tx: Tx,
  vmId: string | null,
  networking: Networking,
): Promise<void> {
  const vm = vmId && (await lockVmRow(tx, vmId))
  if (vm) await setNetworkPolicy(services, tx, vm, policyOf(networking, []))
}

/** Fails environments that have been starting for too long because their node is gone. */
export async function endStrandedEnvironments(services: Background): Promise<void> {
  const stranded = await findAll<Pick<Row<'environments'>, 'id'>>(
    services.db,
    sql`
    select id
    from environments
    where status = 'provisioning' and updated_at < now() - ${provisioningSecondsMax} * interval '1 second'
    order by id limit ${batchMax}`,
  )
  for (const { id } of stranded)
    await transaction(services.db, (tx) =>
      moveEnvironment(tx, id, 'error', 'Its VM’s node did not answer for too long. The next use creates a new VM.'),
    )
}

/** The VM, if it is ready for use; records the use unless one was recorded just before. */
async function findReady(services: Background, id: string, { mcpHosts = [] }: EnvironmentUse): Promise<Vm | undefined> {
  const environment = await findEnvironmentRow(services.db, id)
  if (!environment?.vmId || environment.status !== 'ready' || environment.preparedVmId !== environment.vmId)
    return undefined
  const vm = await findRunningVmRow(services.db, environment.vmId)
  if (!vm || !covers(vm.networkPolicy, environment.config as VmConfig, mcpHosts)) return undefined // an environment with a VM has a VM config
  const noted = await change(
    services.db,
    sql`
      update environments
      set used_at = greatest(used_at, now())
      where id = ${id} and status = 'ready' and vm_id = ${vm.id} and used_at < now() - ${usedSeconds} * interval '1 second'`,
  )
  // The jobs that stop idle VMs, and delete those of runs that are over, check used_at under the row's lock: after writing
  // it, or finding that the VM is another one, check that it is still running.
  const isOld = Date.parse(environment.usedAt) < nowMs() - (usedSeconds / 2) * 1000
  if (noted > 0 || isOld) return findRunningVmRow(services.db, vm.id)
  return vm
}

/** Requests the VM as soon as there is room. There is no queue: whichever use checks first gets the room. */
async function waitForTurn(services: Background, id: string, use: EnvironmentUse, over: AbortSignal): Promise<void> {
  const demand = (): Promise<boolean> => transaction(services.db, (tx) => demandInTurn(services, tx, id, use))
  if (await demand()) return
  const environment = await findEnvironmentRow(services.db, id)
  if (!environment) throw notFound('environment')
  const roomOrLater = noticeOrLater(
    services.pubsub.subscribe(inFlightTopic, environment.organizationId, over),
    lookAgainMs,
  )
  while (!(await demand())) {
    await roomOrLater()
    use.signal?.throwIfAborted()
  }
}

/**
 * Requests the VM, under the lock of the environment's row: creates one when there is none that could run.
 * @returns false, having changed nothing, when there is no room yet.
 */
async function demandInTurn(
  services: Background,
  tx: Tx,
  id: string,
  { mcpHosts = [] }: EnvironmentUse,
): Promise<boolean> {
  const environment = await lockEnvironmentRow(tx, id)
  if (!environment) throw notFound('environment')
  if (environment.status === 'archived') throw environmentArchived()
  const { config } = environment
  if (config.type === 'self_hosted')
    throw new BerthError(
      'invalid_request',
      'This environment is self-hosted: it has no VM here. Answer its tool calls yourself.',
    )
  await change(tx, sql`update environments set used_at = now() where id = ${id}`)
  if (environment.status === 'provisioning') return true
  const held = environment.vmId ? await lockVmRow(tx, environment.vmId) : undefined
  const usable =
    held && environment.status === 'ready' && held.status !== 'deleting' && held.status !== 'deleted' ? held : undefined
  if (usable && !covers(usable.networkPolicy, config, mcpHosts))
    await setNetworkPolicy(services, tx, usable, widened(usable.networkPolicy, config, mcpHosts))
  if (usable?.status === 'running' && environment.preparedVmId === usable.id) return true
  if (!(await isRoomInFlight(services, tx, environment))) return false
  if (held && !usable) await markDeleted(services, tx, held, 'error')
  const vm = usable ?? (await makeVm(services, tx, environment, config, mcpHosts))
  if (isAtRest(vm)) await moveTowards(services, tx, vm, 'running')
  await beginPreparing(tx, id, vm.id)
  await services.jobs.enqueue(tx, onNode(prepareEnvironment, vm.nodeId), { environmentId: id })
  return true
}

/** Whether a VM is at rest and can be started: one that never ran has nothing to start from. */
function isAtRest({ status, startedAt }: Vm): boolean {
  return status === 'stopped' || status === 'paused' || (status === 'error' && startedAt !== null)
}

/**
 * Whether one more environment of the organization may start. Uses of one organization are serialized here, so that the
 * count is exact.
 */
async function isRoomInFlight(services: Background, tx: Tx, { organizationId }: Environment): Promise<boolean> {
  await change(tx, sql`select 1 from organizations where id = ${organizationId} for no key update`)
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from environments where organization_id = ${organizationId} and status = 'provisioning'`,
  )
  return count < inFlightMax(services)
}

function inFlightMax({ config }: Background): number {
  return limits.environmentsInFlightMax * config.rateLimitFactor
}

async function makeVm(
  services: Background,
  tx: Tx,
  environment: Environment,
  config: VmConfig,
  mcpHosts: readonly string[],
): Promise<Vm> {
  const owner: Scope = {
    organizationId: environment.organizationId,
    userId: environment.ownerUserId,
    role: 'member',
    keyId: null,
    vmId: null,
  }
  return insertVm(
    services,
    tx,
    owner,
    newUuid(),
    {
      name: environment.name,
      templateId: config.template_id,
      vcpuCount: config.vcpu,
      memoryMb: config.memory_mb,
      gitRepos: config.git_repos,
      metadata: { environment_id: encodeId('environment', environment.id) },
    },
    { userId: environment.ownerUserId, networkPolicy: policyOf(config.networking, mcpHosts) },
  )
}

/** The VM when it is ready for use, undefined while it is starting. @throws BerthError when it failed. */
async function settled(db: Db, id: string): Promise<Vm | undefined> {
  const environment = await findEnvironmentRow(db, id)
  if (!environment) throw notFound('environment')
  if (environment.status === 'archived') throw environmentArchived()
  if (environment.status === 'error')
    throw new BerthError('vm_unreachable', environment.statusReason ?? 'The environment’s VM could not be started.')
  if (environment.status === 'provisioning' || !environment.vmId) return undefined
  const vm = await findVmRow(db, environment.vmId)
  if (vm?.status !== 'running')
    throw new BerthError(
      'vm_unreachable',
      environment.statusReason ?? 'The environment’s VM ended just now. Try again.',
      { retryAfterSeconds: 3 },
    )
  return vm
}

/** Whether a VM's policy allows every host that the environment and the agent's tool servers need. */
function covers(policy: NetworkPolicy, { networking }: VmConfig, mcpHosts: readonly string[]): boolean {
  if (networking.type === 'unrestricted' || !networking.allow_mcp_servers || policy.type !== 'limited') return true
  return mcpHosts.every((host) => policy.allowedHosts.includes(host.toLowerCase()))
}

/** The policy with another agent's servers added to those of earlier agents, which may still be running. */
function widened(policy: NetworkPolicy, { networking }: VmConfig, mcpHosts: readonly string[]): NetworkPolicy {
  return policyOf(networking, policy.type === 'limited' ? [...policy.allowedHosts, ...mcpHosts] : mcpHosts)
}

/** What workers do for environments. */
export const environmentUpkeep: readonly Upkeep[] = [
  { every: 60, doing: 'ending stranded environments', work: endStrandedEnvironments },
]

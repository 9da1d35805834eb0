/** The worker of one node: starts everything it runs, in the necessary order. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCompute } from '#src/drivers/compute/compute.ts'
import { createEgress } from '#src/drivers/compute/egress.ts'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import type { Compute } from '#src/drivers/compute/machine.ts'
import { templateStatus } from '#src/drivers/compute/templates.ts'
import { laterTemplates } from '#src/drivers/compute/templates/names.ts'
import { missingRequirements } from '#src/drivers/vm-requirements.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { clearDeadWrites } from '#src/resources/infra/uploads/writes.ts'
import { keepFiringSchedules } from './agents/schedules.ts'
import { handleSessionSteps } from './agents/session-steps.ts'
import { handleTriggers } from './agents/triggers.ts'
import { handleAll } from './handlers.ts'
import { handleInvitations } from './identity/invitations.ts'
import { adoptMachines, noticeExit } from './infra/adoption.ts'
import { createGuestEnv } from './infra/guest-env.ts'
import { startHousekeeping } from './infra/housekeeping.ts'
import { handleCertificates } from './infra/certificates.ts'
import { handlePushHooks } from './infra/functions/repositories.ts'
import { openNodeAgent } from './infra/node-agent.ts'
import { reportMachines } from './infra/machine-metrics.ts'
import { holdNode, readNodeId } from './infra/node.ts'
import { openProjectNetworks } from './infra/project-networks.ts'
import { keepMemoryVectors } from './agents/memory-vectors.ts'
import { keepPeers } from './agents/peers.ts'
import { beginTasks } from './agents/tasks.ts'
import { endToolServerSessions } from './agents/tool-server-sessions.ts'
import { deliverWebhooks } from './infra/webhooks.ts'
import { machineSecrets, type Checkouts } from './infra/machine-secrets.ts'
import { createTemplateBuilds } from './infra/vms/templates.ts'
import { createVmUse } from './infra/vms/use.ts'
import type { VmWork } from './infra/vms.ts'

/** A running worker. */
export type Worker = { readonly nodeId: string; readonly compute: Compute | null; stop: () => Promise<void> }

/**
 * Starts the worker; if VMs cannot run here, its heartbeat says so and it runs the rest.
 * @param onLost called when a later worker has the node: then nothing that this one writes about its builds counts any
 * more.
 */
export async function startWorker(services: Services, onLost: () => void = () => undefined): Promise<Worker> {
  const { config } = services
  const nodeId = readNodeId(config.dataDir)
  const stopping = new AbortController()
  mkdirSync(config.runDir, { recursive: true, mode: 0o711 })
  await clearDeadWrites(services)
  const socketPath = join(config.runDir, 'node.sock')
  const missing = config.runsVms
    ? missingRequirements(config.vmUids)
    : { sentence: 'This node runs no VMs: BERTH_VMS is off. Set it to on and start Berth again.' }
  const making = templateStatus(config.cacheDir, 'base').built
    ? null
    : 'VM templates are being built on this node; try again in a few minutes.'
  let unavailable = missing?.sentence ?? making // if they exist, requests for VMs meanwhile wait for them
  let compute: Compute | null = null
  const { workerNumber, report } = await holdNode(
    services,
    {
      id: nodeId,
      agentUrl: `unix:${socketPath}`,
      acceleration: () => compute?.acceleration ?? null,
      unavailableReason: () => unavailable,
      templates: () => (compute && !unavailable ? preparedTemplates(compute) : []),
    },
    stopping.signal,
    onLost,
  )
  const { firing } = await handleAgents(services, nodeId, stopping.signal)
  await handleOutside(services)
  if (missing) {
    log.warn({ reason: missing.sentence }, 'this worker runs no VMs')
    return workWithoutVms(services, nodeId, stopping, firing)
  }
  const work = createVmWork(services, nodeId, workerNumber)
  compute = work.compute
  try {
    await compute.prepare((fraction, sentence) => log.debug({ fraction }, sentence))
  } catch (error) {
    log.error({ err: error }, 'this worker runs no VMs: the templates could not be built')
    unavailable =
      'The VM templates could not be built on this node. Run npm run doctor to see what is missing, then start Berth again.'
    return workWithoutVms(services, nodeId, stopping, firing)
  }
  const settle = await adoptMachines(work)
  const agent = await openNodeAgent({ services, compute, env: work.env, use: work.use, socketPath }) // before anything else, because requests are waiting for it
  await settle()
  reportMachines(compute, config)
  unavailable = null
  await report()
  compute.fillPool()
  const activeBuilds = new Set<string>()
  const { functions } = await handleAll(work, activeBuilds, stopping.signal)
  const stopHousekeeping = startHousekeeping(services, { work, activeBuilds, functions, stopping: stopping.signal })
  log.info({ node: nodeId, acceleration: compute.acceleration }, 'the worker is ready')
  return {
    nodeId,
    compute,
    async stop() {
      stopping.abort()
      stopHousekeeping()
      await firing
      await services.jobs.stop() // handlers finish before their machines' connections go
      await functions.settled()
      await agent.close() // last, because new requests now wait for the next worker
      await work.compute.close()
    },
  }
}

/** What is for others outside: certificates, invitations, webhooks. */
async function handleOutside(services: Services): Promise<void> {
  await handleCertificates(services)
  await handleInvitations(services)
  await handlePushHooks(services)
  deliverWebhooks(services)
}

/** The work of the agents service, which needs no VM until a tool does. @returns when the last schedule is fired. */
async function handleAgents(
  services: Services,
  nodeId: string,
  stopping: AbortSignal,
): Promise<{ firing: Promise<void> }> {
  await handleSessionSteps(services, nodeId)
  await handleTriggers(services)
  beginTasks(services)
  endToolServerSessions(services)
  keepPeers(services)
  keepMemoryVectors(services)
  return { firing: keepFiringSchedules(services, stopping) }
}

/**
 * Starts a worker that runs no VMs. It still does the housekeeping, so that what waits for a machine does not wait
 * forever.
 */
function workWithoutVms(services: Services, nodeId: string, stopping: AbortController, firing: Promise<void>): Worker {
  reportMachines(null, services.config)
  const stopHousekeeping = startHousekeeping(services, null)
  return {
    nodeId,
    compute: null,
    async stop() {
      stopping.abort()
      stopHousekeeping()
      await firing
    },
  }
}

function preparedTemplates(compute: Compute): string[] {
  return ['base', ...laterTemplates.filter((name) => compute.isPrepared(name))]
}

function createVmWork(services: Services, nodeId: string, workerNumber: number): VmWork {
  const { config } = services
  const authority = createAuthority(config.dataDir)
  const checkouts: Checkouts = new Map()
  const egress = createEgress({
    hostPorts: config.vmHostPorts,
    log,
    authority,
    ...machineSecrets(services, checkouts),
  })
  const compute = createCompute({
    cacheDir: config.cacheDir,
    dataDir: config.dataDir,
    runDir: config.runDir,
    poolSize: config.vmPoolSize,
    vmUids: config.vmUids,
    log,
    onEgress: (id, connection) => egress.serve(id, connection),
    onExit: (id, how) => {
      noticeExit(work, id, how).catch((error: Error) =>
        log.error({ err: error, vm: `vm_${id}` }, 'the end of a machine could not be recorded'),
      )
    },
  })
  const work: VmWork = {
    services,
    nodeId,
    workerNumber,
    egress,
    authority,
    checkouts,
    env: createGuestEnv(services, authority),
    networks: openProjectNetworks(services),
    use: createVmUse(services.db),
    compute,
    templates: createTemplateBuilds(compute),
  }
  return work
}

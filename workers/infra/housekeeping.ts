/** What is due by the clock: expired VMs, forgotten records, VMs that stand still between two statuses. */
import { schedule, type ScheduledTask } from 'node-cron'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { onNode } from '#src/platform/jobs.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { endStrandedEnvironments, stopIdleEnvironments } from '#src/resources/agents/environments/vms.ts'
import { stirSessions } from '#src/resources/agents/sessions/claims.ts'
import { forgetProcesses } from '#src/resources/infra/vms/processes.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { markDeleted, reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import { forgetOldArtifacts } from '#src/resources/infra/builds/artifacts.ts'
import { dispatchBuilds, endStrandedBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { turnLogDays } from '#src/resources/infra/build-logs.ts'
import { forgetUnfinishedUploads, forgetUnusedUploads } from '#src/resources/infra/uploads/retention.ts'
import { nodeLostSeconds } from '#src/resources/infra/nodes.ts'
import { endLostProcesses, forgetInferenceProcesses } from '#src/resources/llm/billing/lost-processes.ts'
import { stirBuilds, sweepBuildDisks } from './build-machines.ts'
import type { ActiveBuilds } from './builds.ts'
import type { VmWork } from './vms.ts'

/** A VM that stands between two steady statuses this long is looked at again, should its job have been lost. */
const standstillSeconds = 60
const batchMax = 100

/** What a worker that runs VMs works on. */
export type NodeWork = { work: VmWork; activeBuilds: ActiveBuilds }

/** Starts the worker's clockwork; the returned function stops it. A worker without VMs does only what is everybody's. */
export function startHousekeeping(services: Background, node: NodeWork | null): () => void {
  const tasks = [...tasksOfEverybody(services, node?.work.nodeId ?? null), ...(node ? tasksOfNode(node) : [])]
  return () => tasks.forEach((task) => void task.stop())
}

/** @param own the node of this worker, which is not lost: this worker lives. */
function tasksOfEverybody(services: Background, own: string | null): ScheduledTask[] {
  return [
    every('*/20 * * * * *', 'looking for lost nodes', () => markLostNodes(services, own)),
    every('*/20 * * * * *', 'ending stranded builds', () => endStrandedBuilds(services, own)),
    every('*/5 * * * * *', 'taking up sessions again', () => stirSessions(services)),
    every('*/5 * * * * *', 'stopping idle environments', () => stopIdleEnvironments(services)),
    every('* * * * *', 'ending stranded environments', () => endStrandedEnvironments(services)),
    every(
      '*/10 * * * * *',
      'giving back credits of lost processes',
      async () => void (await endLostProcesses(services.db)),
    ),
    every('17 * * * *', 'forgetting old records', () => forget(services)),
    every('27 * * * *', 'turning the days of build logs', () => turnLogDays(services.db)),
  ]
}

function tasksOfNode({ work, activeBuilds }: NodeWork): ScheduledTask[] {
  const { services, nodeId } = work
  return [
    every('* * * * * *', 'deleting expired VMs', () => expireVms(services, nodeId)),
    every('*/20 * * * * *', 'looking at VMs that stand still', () => stirVms(services, nodeId)),
    every('*/2 * * * * *', 'giving builds their turn', async () => void (await dispatchBuilds(services))),
    every('*/10 * * * * *', 'waking builds that nobody works on', () => stirBuilds(work, activeBuilds)),
    every('37 * * * *', 'removing disks of builds', () => sweepBuildDisks(work)),
  ]
}

function every(cron: string, doing: string, work: () => Promise<void>): ScheduledTask {
  const run = (): Promise<void> =>
    work().catch((error: Error) => log.warn({ reason: error.message }, `${doing} did not work this time`))
  return schedule(cron, run, { noOverlap: true })
}

/** Marks this node's VMs whose time is over for deletion. */
export async function expireVms(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const due = await findAll<Pick<Vm, 'id' | 'nodeId'>>(
      tx,
      sql`
      select id, node_id from vms where expires_at < now() and status not in ('deleting', 'deleted') and node_id = ${nodeId} order by id limit ${batchMax} for no key update skip locked`,
    )
    for (const vm of due) await markDeleted(services, tx, vm, 'timeout')
  })
}

/** Gives the VMs that stand still between two statuses a job again. */
export async function stirVms(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Pick<Vm, 'id'>>(
      tx,
      sql`
      update vms set updated_at = now() where id in (
        select id from vms where status in ('creating', 'stopping', 'starting', 'pausing', 'resuming', 'deleting') and node_id = ${nodeId}
          and updated_at < now() - ${standstillSeconds} * interval '1 second' order by id limit ${batchMax} for no key update skip locked)
      returning id`,
    )
    for (const vm of still) await services.jobs.enqueue(tx, onNode(reconcileVm, nodeId), { vmId: vm.id })
  })
}

/**
 * A node that was silent for 60 s is lost: its running VMs are in error until it is back.
 * @param except the node of whoever asks: it is alive, even when it had no time to say so.
 */
export async function markLostNodes(services: Background, except: string | null = null): Promise<void> {
  const lost = await findAll<Pick<Vm, 'id'>>(
    services.db,
    sql`
    select v.id from vms v join nodes n on n.id = v.node_id
    where v.status = 'running' and n.id is distinct from ${except}::uuid and n.heartbeat_at < now() - ${nodeLostSeconds} * interval '1 second' order by v.id limit ${batchMax}`,
  )
  for (const vm of lost)
    await moveVm(services.db, services, vm.id, 'error', { reason: 'Its node was lost.', usageEnd: 'orphaned' }, [
      'running',
    ])
}

async function forget(services: Background): Promise<void> {
  const { db } = services
  await forgetUnfinishedUploads(services)
  await forgetUnusedUploads(services)
  await forgetOldArtifacts(services)
  await forgetProcesses(db)
  await forgetInferenceProcesses(db)
  await change(
    db,
    sql`delete from idempotency_keys where created_at < now() - ${limits.idempotencyHours} * interval '1 hour'`,
  )
  await change(db, sql`delete from rate_buckets where refilled_at < now() - interval '1 hour'`)
}

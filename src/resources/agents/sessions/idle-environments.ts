/** Stopping the VMs of environments in which no session has worked for a while. */
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { findAll, findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import type { Environment } from '#src/resources/agents/environments/rows.ts'
import { waitsForPeer } from './rows.ts'

const batchMax = 100

/** Stops the VMs of environments that have been idle for their idle time. */
export async function stopIdleEnvironments(services: Background): Promise<void> {
  const idle = await findAll<Pick<Row<'environments'>, 'id'>>(
    services.db,
    sql`
    select e.id from environments e join vms v on v.id = e.vm_id
    where e.status = 'ready'
      and v.status = 'running'
      and e.used_at < now() - (e.config ->> 'idle_timeout_seconds')::int * interval '1 second'
    order by e.id limit ${batchMax}`,
  )
  for (const { id } of idle) {
    await transaction(services.db, async (tx) => {
      const environment = await findOne<Environment>(
        tx,
        sql`
        select *
        from environments
        where id = ${id} and status = 'ready' and used_at < now() - (config ->> 'idle_timeout_seconds')::int * interval '1 second'
        for no key update skip locked`,
      )
      if (!environment?.vmId || (await isEnvironmentInUse(tx, id))) return
      const vm = await lockVmRow(tx, environment.vmId)
      if (vm) await moveTowards(services, tx, vm, 'stopped', 'Its environment was idle.')
    })
  }
}

/** Whether a session is running in this environment, and not waiting for another agent: then it is not stopped as idle. */
async function isEnvironmentInUse(tx: Tx, environmentId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`select 1 from sessions where environment_id = ${environmentId} and status in ('running', 'rescheduling') and not ${waitsForPeer} limit 1`,
    )) !== undefined
  )
}

/** What workers do about environments that no session uses. */
export const idleEnvironmentUpkeep: readonly Upkeep[] = [
  { every: 5, doing: 'stopping idle environments', work: stopIdleEnvironments },
]

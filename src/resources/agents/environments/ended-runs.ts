/**
 * The VMs of sessions that started by themselves, each in a fresh one: deleted when nothing is left to do, whatever
 * became of the worker that ran them. A message that comes later gets another one.
 */
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { findAll, findOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Environment } from './rows.ts'
import { forgetVm } from './states.ts'
import { releaseVm } from './vms.ts'

/** A VM that was used so recently may be in use by a session that is just starting again; more than a use goes unrecorded. */
const restSeconds = 10
const batchMax = 100

/** A session has nothing to do, and waits for nobody: its run is over. */
const isOver = sql<boolean>`
  s.source in ('deployment', 'schedule', 'trigger')
  and s.status = 'idle'
  and s.stop_reason ->> 'type' is distinct from 'requires_action'`

/** Environments with a VM whose session is over. */
const isDone = sql<boolean>`
  e.ephemeral and e.vm_id is not null and e.status in ('ready', 'error') and e.used_at < now() - ${sql.lit(restSeconds)} * interval '1 second'
  and exists (select from sessions s where s.environment_id = e.id and ${isOver})
    and not exists (select from sessions s where s.environment_id = e.id and not ${isOver})`

/** Deletes the VMs of runs that are over. */
export async function endVmsOfRuns(services: Background): Promise<void> {
  const done = await findAll<Pick<Environment, 'id'>>(
    services.db,
    sql`select e.id from environments e where ${isDone} order by e.id limit ${batchMax}`,
  )
  for (const { id } of done) {
    await transaction(services.db, async (tx) => {
      const environment = await findOne<Environment>(
        tx,
        sql`select e.* from environments e where e.id = ${id} and ${isDone} for no key update skip locked`,
      )
      if (!environment) return
      await releaseVm(services, tx, environment)
      await forgetVm(tx, environment.id)
    })
  }
}

/** What workers do for VMs of runs. */
export const runVmUpkeep: readonly Upkeep[] = [
  { every: 5, doing: 'deleting the VMs of runs that are over', work: endVmsOfRuns },
]

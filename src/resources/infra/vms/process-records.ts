/** The records of background processes, and their end. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { change, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import { states, transition, transitionAll } from '#src/platform/states.ts'

/** The statuses of a process's record: the first reported end wins. */
export const processStates = states<'running' | 'exited' | 'killed'>('vm_processes', 'process', {
  running: ['exited', 'killed'],
  exited: [],
  killed: [],
})

/** A process's record. */
export type VmProcess = Row<'vm_processes', { status: 'running' | 'exited' | 'killed' }>

/** Marks a record as ended; the first report wins. */
export async function finishProcess(
  db: Db,
  id: string,
  end: { status: 'exited' | 'killed'; exitCode: number | null },
): Promise<void> {
  await transaction(db, async (tx) => {
    const moved = await transition(
      tx,
      processStates,
      id,
      end.status,
      sql`exit_code = ${end.exitCode}, finished_at = now()`,
    )
    if (moved) publish(tx, 'vm_process', id)
  })
}

/** Ends every running record of a stopped VM, because its processes ended with it. */
export async function endProcessesOf(db: Db, vmId: string): Promise<void> {
  await transitionAll(db, processStates, sql`vm_id = ${vmId}`, 'killed', sql`finished_at = now()`)
}

/** Deletes every record of a deleted VM. */
export async function forgetProcessesOf(tx: Tx, vmId: string): Promise<void> {
  await change(tx, sql`delete from vm_processes where vm_id = ${vmId}`)
}

/** Deletes the records of processes that ended more than 24 hours ago. */
export async function forgetProcesses(db: Db): Promise<number> {
  return change(
    db,
    sql`delete from vm_processes where finished_at < now() - ${limits.processRecordHours} * interval '1 hour'`,
  )
}

/** How long records of processes stay. */
export const processRetention: readonly Retention[] = [
  {
    what: 'Records of processes in a VM',
    until: `${limits.processRecordHours} hours after their end`,
    forget: ({ db }) => forgetProcesses(db),
  },
]

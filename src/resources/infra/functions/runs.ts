/**
 * The program of an instance, for the worker that has it: its progress is stored with its output, so that the node's next
 * worker goes on at the same byte. One worker of the node has it at a time: each claim has a larger fencing token (the
 * worker's number), and writes under a smaller one are refused.
 */
import { functionLimits } from '#src/platform/limits/functions.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { failFunction } from './failures.ts'
import {
  findFunctionRow,
  findVersion,
  lockFunctionRow,
  type FunctionInstance,
  type FunctionVersion,
  type StoredFunction,
} from './rows.ts'
import { moveFunction } from './states.ts'

/** A worker's claim on an instance. */
export type InstanceClaim = { vmId: string; functionId: string; versionNumber: number; workerNumber: number }

/** How far an instance is, and how much of its program's output is stored. */
export type InstanceProgress = {
  /** Whether the binary is in the VM, unpacked, with the variables. */
  isPrepared: boolean
  /** Which start of the program in this VM it is, from 1. */
  attempt: number
  /** How many batches were stored: a batch that is sent again is known by it. */
  batch: number
  /** Of the running program's output, as in the log of a build. */
  takenBytes: number
  maskingState: number
  cut: string
  endsLine: boolean
  keptBytes: number
}

/** A claimed instance, with what it was made from. */
export type ClaimedInstance = {
  instance: FunctionInstance
  claim: InstanceClaim
  progress: InstanceProgress
  one: StoredFunction
  version: FunctionVersion
}

const firstProgress: InstanceProgress = {
  isPrepared: false,
  attempt: 1,
  batch: 0,
  takenBytes: 0,
  maskingState: 0,
  cut: '',
  endsLine: true,
  keptBytes: 0,
}

/** Claims an instance on this worker's node; undefined when it is gone, or a later worker has the node. */
export async function claimInstance(
  db: Db,
  vmId: string,
  { nodeId, workerNumber }: { nodeId: string; workerNumber: number },
): Promise<ClaimedInstance | undefined> {
  const row = await findOne<FunctionInstance & { progress: Partial<InstanceProgress> }>(
    db,
    sql`
    update function_instances set worker_number = ${workerNumber}
    where vm_id = ${vmId} and worker_number <= ${workerNumber} and exists (select from nodes where id = ${nodeId} and worker_number = ${workerNumber})
    returning *`,
  )
  if (!row) return undefined
  const { progress, ...instance } = row
  const [one, version] = [await findFunctionRow(db, row.functionId), await findVersion(db, row.versionId)]
  if (!one || !version) return undefined
  const claim = { vmId, functionId: one.id, versionNumber: version.number, workerNumber }
  return { instance, claim, progress: { ...firstProgress, ...progress }, one, version }
}

/**
 * Locks an instance for the worker that has the claim, and stores its progress.
 * @returns `known` when exactly this was stored before; `lost` when another worker has it, or it is gone.
 */
export async function heldInstance(
  tx: Tx,
  { vmId, workerNumber }: InstanceClaim,
  progress: InstanceProgress,
): Promise<'new' | 'known' | 'lost'> {
  const stored = await findOne<{ batch: number }>(
    tx,
    sql`
    select coalesce((progress ->> 'batch')::int, 0) as batch
    from function_instances
    where vm_id = ${vmId} and worker_number = ${workerNumber}
    for no key update`,
  )
  if (!stored) return 'lost'
  if (stored.batch >= progress.batch) return 'known'
  await change(
    tx,
    sql`update function_instances set progress = ${JSON.stringify(progress)}::jsonb where vm_id = ${vmId} and worker_number = ${workerNumber}`,
  )
  return 'new'
}

/** Records that the program of an instance takes connections: its function runs, if this is its current one. */
export async function noteReady(
  { db }: Pick<Background, 'db'>,
  { vmId, functionId, workerNumber }: InstanceClaim,
): Promise<void> {
  await transaction(db, async (tx) => {
    const one = await lockFunctionRow(tx, functionId)
    const held = await change(
      tx,
      sql`update function_instances set ready_at = coalesce(ready_at, now()) where vm_id = ${vmId} and worker_number = ${workerNumber}`,
    )
    if (held > 0 && one?.vmId === vmId) await moveFunction(tx, functionId, 'running', {}, ['starting'])
  })
}

/**
 * Records that this start of an instance's program has failed, or ended. Recording it again changes nothing.
 * @returns whether its function has failed by that, of which it is the current instance.
 */
export async function noteFailure(
  services: Pick<Background, 'db' | 'jobs'>,
  { vmId, functionId, workerNumber }: InstanceClaim,
  { attempt, reason, nodeId }: { attempt: number; reason: string; nodeId: string },
): Promise<boolean> {
  return transaction(services.db, async (tx) => {
    const one = await lockFunctionRow(tx, functionId)
    const before = await findOne<{ isSteady: boolean }>(
      tx,
      sql`
      select coalesce(ready_at < now() - ${functionLimits.steadySeconds} * interval '1 second', false) as is_steady from function_instances
      where vm_id = ${vmId} and worker_number = ${workerNumber} and failed_attempts < ${attempt} for no key update`,
    )
    if (!before) return false
    await change(
      tx,
      sql`update function_instances set failed_attempts = ${attempt}, ready_at = null where vm_id = ${vmId}`,
    )
    if (one?.vmId !== vmId) return false
    return (await failFunction(services, tx, one, { reason, isSteady: before.isSteady, nodeId })) !== undefined
  })
}

/**
 * Whether the program of an instance is to run now: not while its VM rests, nor when its function sleeps or has failed. One
 * that is no longer its function's finishes what it has begun, and is not started again.
 */
export async function isToRun(db: Db, { vmId, functionId }: InstanceClaim): Promise<boolean> {
  const found = await findOne(
    db,
    sql`
    select 1 from function_instances i join vms v on v.id = i.vm_id join functions f on f.id = i.function_id
    where i.vm_id = ${vmId} and f.id = ${functionId} and v.status = 'running'
      and case when f.vm_id = i.vm_id then f.status in ('starting', 'running') else i.ready_at is not null end`,
  )
  return found !== undefined
}

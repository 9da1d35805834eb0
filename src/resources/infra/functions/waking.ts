/** Starting functions: at a request, when their owner asks for it, and again after a failure. */
import { setTimeout as pause } from 'node:timers/promises'
import { allow, owned } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { markDeleted, moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import { findRetry } from './failures.ts'
import { insertInstance } from './instances.ts'
import { enqueueFunction, functionTopic } from './jobs.ts'
import {
  findFunctionRow,
  functionRows,
  lockFunction,
  lockFunctionRow,
  type ShownFunction,
  type StoredFunction,
} from './rows.ts'
import { moveFunction } from './states.ts'
import { FunctionUnavailable } from './unavailable.ts'

/** Where a function answers: the VM of its instance, and the port there. */
export type FunctionTarget = { vmId: string; port: number }

/** A failure that is over so soon is waited for. */
const shortWaitSeconds = 3
/** While other functions of its organization start, one is tried again after so long. */
const busyMs = 250

/** Too many functions of the organization start right now. */
class StartsBusy extends Error {}

type Seen = { status: StoredFunction['status']; target: FunctionTarget | null }

/**
 * Where a function answers; one that does not run is started, and waited for: `startSeconds`, which the function has.
 * @throws BerthError not_found when there is none; service_unavailable when it did not start, or not within
 * them, or nothing is deployed; as reserveRoom. No sentence says what only its owner may know.
 */
export async function wakeFunction(
  services: Background,
  functionId: string,
  startSeconds: number,
): Promise<FunctionTarget> {
  const untilMs = performance.now() + startSeconds * 1000
  for (;;) {
    const limitSeconds = Math.max(0.1, (untilMs - performance.now()) / 1000)
    try {
      const { target } = await waitUntil<Seen>(services.pubsub, {
        topic: functionTopic,
        id: functionId,
        limitSeconds,
        first: () => begin(services, functionId),
        again: (before) => continueWaking(services, functionId, before),
        isDone: (seen) => seen.target !== null,
      })
      if (target) return target
      throw new FunctionUnavailable('late', `The function did not start within ${startSeconds} s.`, 5)
    } catch (error) {
      if (!(error instanceof StartsBusy)) throw error
      if (performance.now() > untilMs)
        throw new FunctionUnavailable('busy', 'Too many functions of its organization start right now.', 2)
      await pause(busyMs)
    }
  }
}

/** How long whoever asks for a function waits until it runs. Unit: seconds. */
export async function findStartSeconds(db: Db, functionId: string): Promise<number> {
  const found = await findOne<Pick<StoredFunction, 'startSeconds'>>(
    db,
    sql`select start_seconds from functions where id = ${functionId}`,
  )
  return found?.startSeconds ?? functionLimits.startSecondsDefault
}

/** Starts a function and waits for it; one that failed does not wait for its time. @throws BerthError not_found; as wakeFunction. */
export async function startOwnFunction(call: Call, publicId: string): Promise<ShownFunction> {
  const scope = allow(call.caller, 'functions:write')
  const { id, startSeconds } = await transaction(call.db, async (tx) => {
    const one = await lockFunction(tx, scope, publicId)
    if (one.versionId === null) throw nothingDeployed()
    if (one.status === 'error') await moveFunction(tx, one.id, 'stopped', { set: sql`failures = 0, retry_at = null` })
    return one
  })
  try {
    await wakeFunction(call, id, startSeconds)
  } catch (error) {
    const failed = await findFunctionRow(call.db, id)
    if (failed?.status === 'error' && failed.statusReason)
      throw new FunctionUnavailable('failed', failed.statusReason, 5)
    throw error
  }
  return functionRows.read(call.db, publicId, owned(scope))
}

/** Where a function answers that runs; undefined for any other. */
export async function findTarget(db: Db, functionId: string): Promise<FunctionTarget | undefined> {
  return findOne<FunctionTarget>(
    db,
    sql`
    select f.vm_id, r.port from functions f join function_instances i on i.vm_id = f.vm_id join function_versions r on r.id = i.version_id
      join vms v on v.id = f.vm_id where f.id = ${functionId} and f.status = 'running' and v.status = 'running'`,
  )
}

async function begin(services: Background, functionId: string): Promise<Seen> {
  return look(services, functionId, true)
}

/** One that fails while it is waited for is not waited for any longer. */
async function continueWaking(services: Background, functionId: string, before: Seen): Promise<Seen> {
  const seen = await look(services, functionId, before.status !== 'starting')
  if (seen.status === 'error' && before.status === 'starting') throw await whyNot(services, functionId)
  return seen
}

async function look(services: Background, functionId: string, starts: boolean): Promise<Seen> {
  const target = await findTarget(services.db, functionId)
  if (target) return { status: 'running', target }
  const row = await findOne<Pick<StoredFunction, 'status' | 'versionId'>>(
    services.db,
    sql`select status, version_id from functions where id = ${functionId} and status not in ('deleting', 'deleted')`,
  )
  if (!row) throw notFound('function')
  if (row.versionId === null) throw nothingDeployed()
  const { status } = row
  const isOnItsWay = status === 'starting' || status === 'stopping'
  if (isOnItsWay || !starts) return { status, target: null }
  return { status: await startFunction(services, functionId), target: null }
}

/** Starts a function if that is its turn, in a transaction of its own. @returns its status then */
async function startFunction(services: Background, functionId: string): Promise<StoredFunction['status']> {
  return transaction(services.db, async (tx) => {
    const one = await lockFunctionRow(tx, functionId)
    if (!one) throw notFound('function')
    await sql`update functions set active_at = now() where id = ${functionId}`.execute(tx)
    if (one.status === 'error') {
      const { waitSeconds, hasRetry } = await findRetry(tx, functionId)
      if (waitSeconds > shortWaitSeconds) throw failedLately(waitSeconds)
      if (waitSeconds > 0 && hasRetry) return one.status // its job starts it again
    }
    if (one.status !== 'stopped' && one.status !== 'error' && one.status !== 'running') return one.status
    return (await startLocked(services, tx, one))?.status ?? one.status
  })
}

/**
 * Starts a locked function: its instance goes on where it rests, or starts its program again, or a new one is made.
 * @throws BerthError as reserveRoom; StartsBusy.
 */
export async function startLocked(
  services: Background,
  tx: Tx,
  one: StoredFunction,
): Promise<StoredFunction | undefined> {
  const vm = one.vmId === null ? undefined : await lockVmRow(tx, one.vmId)
  if (one.status === 'running' && vm?.status === 'running') return one
  await checkStarting(tx, one)
  if (vm?.status === 'running' || vm?.status === 'paused') {
    const moved = await moveFunction(tx, one.id, 'starting')
    if (vm.status === 'paused') await moveTowards(services, tx, vm, 'running')
    else await enqueueFunction(services.jobs, tx, one.id)
    return moved
  }
  if (vm && vm.status !== 'deleted' && vm.status !== 'deleting') await markDeleted(services, tx, vm, 'request')
  const vmId = await insertInstance(services, tx, one)
  return moveFunction(tx, one.id, 'starting', { set: sql`vm_id = ${vmId}` })
}

/** So that the functions of one organization do not keep those of others waiting. The room is serialized, so this is nearly exact. */
async function checkStarting(tx: Tx, { organizationId }: StoredFunction): Promise<void> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from functions where organization_id = ${organizationId} and status = 'starting'`,
  )
  if (count >= functionLimits.startingMax) throw new StartsBusy('too many functions of the organization start')
}

/** Whether this says that a start has to wait for others of its organization. */
export function isStartsBusy(error: unknown): boolean {
  return error instanceof StartsBusy
}

async function whyNot(services: Background, functionId: string): Promise<FunctionUnavailable> {
  const { waitSeconds } = await transaction(services.db, (tx) => findRetry(tx, functionId))
  return failedLately(waitSeconds)
}

function failedLately(waitSeconds: number): FunctionUnavailable {
  const sentence = 'The function failed to start; its owner sees why in its status.'
  return new FunctionUnavailable('failed', sentence, Math.ceil(waitSeconds) || 1)
}

function nothingDeployed(): FunctionUnavailable {
  return new FunctionUnavailable(
    'empty',
    'Nothing is deployed yet, so the function cannot start. Its owner can deploy a version.',
    60,
  )
}

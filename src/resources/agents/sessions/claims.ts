/**
 * Claims on sessions: one worker at a time works on a session. Each claim has a larger fencing token, and writes under
 * a smaller one are refused, so that a worker that was wrongly presumed dead can do no harm.
 */
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { stepJob } from './jobs.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { streamingTask, waitsForPeer, type Session } from './rows.ts'

/** A worker's claim on a session; `fence` is its fencing token. */
export type Claim = { sessionId: string; fence: number }

/**
 * A claimed session. `wasLost`: an earlier worker had it and did not release it. `tries`: how often it was claimed
 * since a step was completed. `ownerLeft`: its owner no longer belongs to the organization. `taskId`: of the run whose stream
 * tells what it says; null without one.
 */
export type Claimed = {
  claim: Claim
  session: Session
  wasLost: boolean
  tries: number
  ownerLeft: boolean
  taskId: string | null
}

/** Another worker has the session, or it is no longer running: nothing may be written. */
export class ClaimLost extends Error {}

/** The interval of a worker's heartbeats, and the silence after which another worker may claim its sessions. */
export const beatMs = 2_000
const silenceSeconds = 12
/** A running session without a heartbeat for this long gets a new job. */
const stillSeconds = 20
const stillSecondsRescheduling = 90
/** The same for one that waits for other agents: it has nothing to do, and gets its job from whoever answers. */
const stillSecondsWaiting = 600
const batchMax = 500

type ClaimedRow = Session & {
  stepFence: number
  stepTries: number
  wasLost: boolean
  ownerLeft: boolean
  taskId: string | null
}

/** Claims a session; undefined when it has nothing to do, or another worker has it. */
export async function claimSession(tx: Tx, sessionId: string, nodeId: string): Promise<Claimed | undefined> {
  const row = await findOne<ClaimedRow>(
    tx,
    sql`
    with held as (
      select id, step_beat_at is not null as was_lost from sessions
      where id = ${sessionId}
        and status in ('running', 'rescheduling')
        and (step_beat_at is null or step_beat_at < now() - ${silenceSeconds} * interval '1 second')
      for no key update)
    update sessions s set step_fence = step_fence + 1, step_node = ${nodeId}, step_beat_at = now(), step_tries = step_tries + 1
    from held where s.id = held.id returning s.*, held.was_lost,
      not exists (select from memberships m
      where m.organization_id = s.organization_id and m.user_id = s.owner_user_id and m.deactivated_at is null) as owner_left,
      ${streamingTask(sql`s.id`)} as task_id`,
  )
  return (
    row && {
      claim: { sessionId, fence: row.stepFence },
      session: row,
      wasLost: row.wasLost,
      tries: row.stepTries,
      ownerLeft: row.ownerLeft,
      taskId: row.taskId,
    }
  )
}

/**
 * Locks the session until the transaction ends, for writing under this claim.
 * @param release releases the claim: a step is completed.
 * @throws ClaimLost
 */
export async function holdSession(
  tx: Tx,
  { sessionId, fence }: Claim,
  { release }: { release: boolean },
): Promise<Session> {
  const session = await findOne<Session>(
    tx,
    sql`
    update sessions set step_beat_at = ${release ? null : sql`now()`}, step_tries = ${release ? 0 : sql`step_tries`}
    where id = ${sessionId} and step_fence = ${fence} and step_beat_at is not null and status in ('running', 'rescheduling') returning *`,
  )
  if (!session) throw new ClaimLost()
  return session
}

/**
 * Sends a heartbeat, unless the claim was released meanwhile.
 * @returns whether the client has requested a stop.
 * @throws ClaimLost
 */
export async function heartbeat(db: Db, { sessionId, fence }: Claim): Promise<{ isInterrupted: boolean }> {
  const row = await findOne<{ isInterrupted: boolean }>(
    db,
    sql`
    update sessions
    set step_beat_at = now()
    where id = ${sessionId} and step_fence = ${fence} and step_beat_at is not null and status in ('running', 'rescheduling')
    returning exists (select from session_events where session_id = ${sessionId} and type = 'user.interrupt' and processed_at is null) as is_interrupted`,
  )
  if (!row) throw new ClaimLost()
  return row
}

/** Releases the claim, so that the next worker need not wait. */
export async function releaseClaim(db: Db, { sessionId, fence }: Claim): Promise<void> {
  await change(db, sql`update sessions set step_beat_at = null where id = ${sessionId} and step_fence = ${fence}`)
}

/**
 * When a worker starts: releases the claims of its predecessor on this node, so that those sessions continue
 * immediately.
 */
export async function takeOverSessions(services: Pick<Background, 'db' | 'jobs'>, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const left = await findAll<Pick<Row<'sessions'>, 'id'>>(
      tx,
      sql`
      update sessions
      set step_beat_at = now() - interval '1 hour'
      where step_node = ${nodeId} and step_beat_at is not null and status in ('running', 'rescheduling')
      returning id`,
    )
    for (const { id } of left) await services.jobs.enqueue(tx, stepJob, { sessionId: id })
  })
}

/** Enqueues a new job for sessions whose worker is silent or whose job was lost. */
export async function requeueStalledSessions(services: Pick<Background, 'db' | 'jobs'>): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Pick<Row<'sessions'>, 'id'>>(
      tx,
      sql`
      update sessions set updated_at = now() where id in (
        select id from sessions where status in ('running', 'rescheduling') and (
          step_beat_at < now() - ${silenceSeconds} * interval '1 second'
          or step_beat_at is null
            and updated_at < now() - (case status when 'running' then ${stillSeconds} else ${stillSecondsRescheduling} end)::int * interval '1 second'
            and (updated_at < now() - ${stillSecondsWaiting} * interval '1 second'
              or not ${waitsForPeer}))
        order by id limit ${batchMax} for no key update skip locked)
      returning id`,
    )
    for (const { id } of still) await services.jobs.enqueue(tx, stepJob, { sessionId: id })
  })
}

/** What workers do for sessions. */
export const sessionUpkeep: readonly Upkeep[] = [
  { every: 5, doing: 'requeueing stalled sessions', work: requeueStalledSessions },
]

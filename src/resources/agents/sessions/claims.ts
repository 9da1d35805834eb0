/**
 * Who works on a session: one worker at a time. Each that takes it up gets a larger number, and what is written under a
 * smaller one is refused, so that a worker that was thought dead and was not can do no harm.
 */
import { stepJob } from './jobs.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Session } from './rows.ts'

/** A worker's right to go on with a session. */
export type Claim = { sessionId: string; fence: number }

/** A session that was taken up. `wasLost`: a worker before had it and did not give it back. `tries`: how often since a step was done. `ownerLeft`: its owner does not belong to the organization any more. */
export type Claimed = { claim: Claim; session: Session; wasLost: boolean; tries: number; ownerLeft: boolean }

/** Somebody else has the session, or it is not at work any more: nothing may be written. */
export class ClaimLost extends Error {}

/** How often a worker says that it lives, and after which silence another may take its sessions up; ms and seconds. */
export const beatMs = 2_000
const silenceSeconds = 12
/** A session that is at work, and of which nothing was heard for so long, is given a job again. */
const stillSeconds = 20
const stillSecondsRescheduling = 90
const batchMax = 500

type ClaimedRow = Session & { stepFence: number; stepTries: number; wasLost: boolean; ownerLeft: boolean }

/** Takes a session up; undefined when it has nothing to do, or somebody has it. */
export async function claimSession(tx: Tx, sessionId: string, nodeId: string): Promise<Claimed | undefined> {
  const row = await findOne<ClaimedRow>(
    tx,
    sql`
    with held as (
      select id, step_beat_at is not null as was_lost from sessions
      where id = ${sessionId} and status in ('running', 'rescheduling') and (step_beat_at is null or step_beat_at < now() - ${silenceSeconds} * interval '1 second')
      for no key update)
    update sessions s set step_fence = step_fence + 1, step_node = ${nodeId}, step_beat_at = now(), step_tries = step_tries + 1
    from held where s.id = held.id returning s.*, held.was_lost,
      not exists (select from memberships m where m.organization_id = s.organization_id and m.user_id = s.owner_user_id and m.deactivated_at is null) as owner_left`,
  )
  return (
    row && {
      claim: { sessionId, fence: row.stepFence },
      session: row,
      wasLost: row.wasLost,
      tries: row.stepTries,
      ownerLeft: row.ownerLeft,
    }
  )
}

/**
 * Holds the session until the transaction ends, for writing under this claim.
 * @param release gives the session back: a step is done.
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

/** Says that the worker lives, unless it has given the session back meanwhile. @returns whether the client asked to stop meanwhile. @throws ClaimLost */
export async function beat(db: Db, { sessionId, fence }: Claim): Promise<{ isInterrupted: boolean }> {
  const row = await findOne<{ isInterrupted: boolean }>(
    db,
    sql`
    update sessions set step_beat_at = now() where id = ${sessionId} and step_fence = ${fence} and step_beat_at is not null and status in ('running', 'rescheduling')
    returning exists (select from session_events where session_id = ${sessionId} and type = 'user.interrupt' and processed_at is null) as is_interrupted`,
  )
  if (!row) throw new ClaimLost()
  return row
}

/** Gives the session back as it is, so that the next worker need not wait. */
export async function releaseClaim(db: Db, { sessionId, fence }: Claim): Promise<void> {
  await change(db, sql`update sessions set step_beat_at = null where id = ${sessionId} and step_fence = ${fence}`)
}

/** A worker starts: what the one before it on this node had is free, and goes on at once. */
export async function takeOverSessions(services: Pick<Background, 'db' | 'jobs'>, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const left = await findAll<Pick<Row<'sessions'>, 'id'>>(
      tx,
      sql`
      update sessions set step_beat_at = now() - interval '1 hour' where step_node = ${nodeId} and step_beat_at is not null and status in ('running', 'rescheduling') returning id`,
    )
    for (const { id } of left) await services.jobs.enqueue(tx, stepJob, { sessionId: id })
  })
}

/** Gives sessions a job again whose worker is silent, or whose job was lost. */
export async function stirSessions(services: Pick<Background, 'db' | 'jobs'>): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Pick<Row<'sessions'>, 'id'>>(
      tx,
      sql`
      update sessions set updated_at = now() where id in (
        select id from sessions where status in ('running', 'rescheduling') and (
          step_beat_at < now() - ${silenceSeconds} * interval '1 second'
          or step_beat_at is null and updated_at < now() - (case status when 'running' then ${stillSeconds} else ${stillSecondsRescheduling} end)::int * interval '1 second')
        order by id limit ${batchMax} for no key update skip locked)
      returning id`,
    )
    for (const { id } of still) await services.jobs.enqueue(tx, stepJob, { sessionId: id })
  })
}

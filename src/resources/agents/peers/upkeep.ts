/**
 * What follows from the state of an exchange for the session that asked: it takes the answer in by a step of its own, and
 * whoever asks no more cancels its exchanges. Nothing here is lost with a notice, because everything is also looked for.
 */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { change, findAll, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { resultTypes } from '#src/resources/agents/sessions/event-types.ts'
import { stepJob } from '#src/resources/agents/sessions/jobs.ts'
import { stopEach } from '#src/resources/agents/tasks.ts'
import { deleteTasks, type Task } from '#src/resources/agents/tasks/rows.ts'
import type { PeerExchange } from './rows.ts'

/** The call of an exchange has its result, so the requester waits no more: it was interrupted, or its turn was given up. */
const isAnswered = sql`
  exists (select from session_events answer
  where answer.session_id = e.requester_session_id and answer.answers = e.id and answer.type = any(${resultTypes}::text[]))`
const isOver = sql`not exists (select from sessions s where s.id = e.requester_session_id and s.status <> 'terminated')`

const isDueAgain = sql`(told_at is null or told_at < now() - ${peerLimits.notifyAgainSeconds} * interval '1 second')`

/** Cancels what a session has asked and waits for no more. What a turn that began meanwhile asks goes on. */
export async function cancelExchangesOf(services: Background, sessionId: string): Promise<void> {
  const open = await findAll<Pick<Task, 'id' | 'sessionId'>>(
    services.db,
    sql`
      select id, responder_session_id as session_id
      from peer_exchanges e
      where requester_session_id = ${sessionId} and finished_at is null and (${isAnswered} or ${isOver})`,
  )
  await stopEach(services, open)
}

/** Gives the requester of an exchange that has ended a step, in which it takes the end in. With any id of one that has not ended nothing happens. */
export async function notifyRequester(services: Background, id: string): Promise<void> {
  await enqueueSteps(services, [id])
}

/**
 * Everything that a notice would have led to: exchanges of requesters that wait no more are cancelled, and those that still
 * wait for the end of one get a step.
 */
export async function lookAfterExchanges(services: Background): Promise<void> {
  const left = await findAll<Pick<Task, 'id' | 'sessionId'>>(
    services.db,
    sql`
      select id, responder_session_id as session_id
      from peer_exchanges e
      where finished_at is null and (${isAnswered} or ${isOver})
      order by random()
      limit ${peerLimits.atOnce}`,
  )
  await stopEach(services, left)
  await change(
    services.db,
    sql`update peer_exchanges e set delivered_at = now() where finished_at is not null and delivered_at is null and (${isAnswered} or ${isOver})`,
  )
  const ended = await findAll<Pick<PeerExchange, 'id'>>(
    services.db,
    sql`
    select e.id from peer_exchanges e join sessions s on s.id = e.requester_session_id
    where e.finished_at is not null and e.delivered_at is null and s.status = 'running' and ${isDueAgain} limit ${peerLimits.atOnce}`,
  )
  await enqueueSteps(
    services,
    ended.map(({ id }) => id),
  )
}

/** One worker of those that look at once does it: the others find that the requester was told. */
async function enqueueSteps({ db, jobs }: Pick<Background, 'db' | 'jobs'>, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await transaction(db, async (tx) => {
    const notified = await findAll<Pick<PeerExchange, 'requesterSessionId'>>(
      tx,
      sql`
      update peer_exchanges set told_at = now() where id in (
        select id from peer_exchanges where id = any(${ids}::uuid[]) and finished_at is not null and delivered_at is null
          and ${isDueAgain}
        order by id for no key update skip locked)
      returning requester_session_id`,
    )
    for (const sessionId of new Set(notified.map((one) => one.requesterSessionId)))
      await jobs.enqueue(tx, stepJob, { sessionId })
  })
}

/** Deletes exchanges that ended long ago. For housekeeping. */
export async function forgetExchanges(db: Db): Promise<void> {
  await transaction(db, async (tx) => {
    const old = await findAll<Pick<PeerExchange, 'id'>>(
      tx,
      sql`delete from peer_exchanges where delivered_at < now() - ${peerLimits.recordDays} * interval '1 day' returning id`,
    )
    await deleteTasks(tx, sql`id = any(${old.map(({ id }) => id)}::uuid[])`)
  })
}

/** How long exchanges stay. */
export const peerRetention: readonly Retention[] = [
  {
    what: 'Peer exchanges',
    until: `${peerLimits.recordDays} days after their end`,
    forget: ({ db }) => forgetExchanges(db),
  },
]

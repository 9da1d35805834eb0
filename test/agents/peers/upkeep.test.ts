/** What is looked after without a notice: answers that wait, requesters that are gone, exchanges that are old. No worker runs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { change, findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import {
  cancelExchangesOf,
  forgetExchanges,
  lookAfterExchanges,
  notifyRequester,
} from '#src/resources/agents/peers/upkeep.ts'
import { claimSession, requeueStalledSessions } from '#src/resources/agents/sessions/claims.ts'
import { checkAtWork } from '#src/resources/agents/sessions/rows.ts'
import { breakOff } from '#src/resources/agents/turns/breaking-off.ts'
import { cancelExpiredTasks, tryNextTask } from '#src/resources/agents/tasks.ts'
import { runStep } from '#workers/agents/session-steps.ts'
import { results, types } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'
import { ask, peerWorld, type Exchange, type PeerWorld } from './world.ts'

let berth: Berth
let own: PeerWorld
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  own = peerWorld(berth, await berth.token('alice', 'acme', 'member'))
})
afterAll(() => berth?.stop())

const node = newUuid()
const uuid = (id: string): string => decodeId('session', id) ?? ''
const step = (id: string): Promise<void> => runStep(berth.services, node, uuid(id), new AbortController().signal)
const jobsOf = async (id: string): Promise<number> =>
  (
    await getOne<{ count: number }>(
      berth.services.db,
      sql`select count(*) from pgboss.job where name = 'sessions-step' and data ->> 'sessionId' = ${uuid(id)}`,
    )
  ).count

/** A session that waits for another one, which has not begun. */
async function waiting(): Promise<{ asker: string; asked: string; exchange: Exchange }> {
  const asked = await own.idle()
  const asker = await own.begin(await own.asking(), `${ask(asked, '!say answer')}\n!say done`)
  await step(asker)
  await step(asker)
  return { asker, asked, exchange: await own.inState(asker, 'submitted') }
}

test('a session that waits has no worker, gets no step every few seconds, and one that it gets changes nothing', async () => {
  const { db } = berth.services
  const { asker } = await waiting()
  const log = await own.log(asker)
  const jobs = await jobsOf(asker)
  await step(asker)
  expect(await own.log(asker)).toEqual(log)
  const { organizationId } = await getOne<{ organizationId: string }>(
    db,
    sql`select organization_id from sessions where id = ${uuid(asker)}`,
  )
  await checkAtWork({ rateLimitFactor: 1 / limits.sessionsAtWorkMax }, db, organizationId) // it keeps nobody from starting
  await change(db, sql`update sessions set updated_at = now() - interval '5 minutes' where id = ${uuid(asker)}`)
  await requeueStalledSessions(berth.services)
  expect(await jobsOf(asker)).toBe(jobs)
  await change(db, sql`update sessions set updated_at = now() - interval '11 minutes' where id = ${uuid(asker)}`)
  await requeueStalledSessions(berth.services)
  expect(await jobsOf(asker)).toBe(jobs + 1)
  expect(await transaction(db, (tx) => claimSession(tx, uuid(asker), node))).toMatchObject({ wasLost: false, tries: 1 })
})

test('an answer is told to its requester once, by whichever worker is first, and again while it is not taken in', async () => {
  const { asker, asked, exchange } = await waiting()
  const id = decodeId('peerExchange', exchange.id) ?? ''
  const jobs = await jobsOf(asker)
  await notifyRequester(berth.services, id)
  expect(await jobsOf(asker)).toBe(jobs) // nothing to tell yet
  await tryNextTask(berth.services, uuid(asked))
  await step(asked)
  await Promise.all([1, 2, 3].map(() => notifyRequester(berth.services, id)))
  await lookAfterExchanges(berth.services)
  expect(await jobsOf(asker)).toBe(jobs + 1)
  await change(berth.services.db, sql`update peer_exchanges set told_at = now() - interval '1 minute' where id = ${id}`)
  await lookAfterExchanges(berth.services)
  expect(await jobsOf(asker)).toBe(jobs + 2)
  await step(asker)
  await step(asker)
  expect(results(await own.rested(asker))).toEqual([{ text: 'answer', isError: false }])
  await change(berth.services.db, sql`update peer_exchanges set told_at = now() - interval '1 minute' where id = ${id}`)
  const before = await jobsOf(asker)
  await lookAfterExchanges(berth.services)
  await notifyRequester(berth.services, id)
  expect(await jobsOf(asker)).toBe(before)

  const { recordDays } = peerLimits
  const age = (days: number) =>
    sql`update peer_exchanges set delivered_at = now() - ${days} * interval '1 day' where id = ${id}`
  await change(berth.services.db, age(recordDays - 1))
  await forgetExchanges(berth.services.db)
  expect((await own.exchange(exchange.id)).status).toBe(200)
  await change(berth.services.db, age(recordDays + 1))
  await forgetExchanges(berth.services.db)
  expect((await own.exchange(exchange.id)).status).toBe(404)
  const { left } = await getOne<{ left: number }>(
    berth.services.db,
    sql`select (select count(*) from session_tasks where id = ${id}) + (select count(*) from peer_exchange_events where exchange_id = ${id}) as left`,
  )
  expect(left).toBe(0)
})

test('an exchange is cancelled after a day, and when its requester was stopped by Berth itself', async () => {
  const { asker, exchange } = await waiting()
  await change(
    berth.services.db,
    sql`update session_tasks set expires_at = now() - interval '1 second' where id = ${decodeId('peerExchange', exchange.id)}`,
  )
  await cancelExpiredTasks(berth.services)
  expect((await own.exchange(exchange.id)).body.state).toBe('cancelled')
  await step(asker)
  await step(asker)
  expect(results(await own.rested(asker))).toEqual([
    { isError: true, text: expect.stringContaining('a day had passed') },
  ])

  const stopped = await waiting()
  await transaction(berth.services.db, (tx) =>
    breakOff(tx, uuid(stopped.asker), 'environment_failed_error', 'It is gone'),
  )
  expect((await own.exchange(stopped.exchange.id)).body.state).toBe('submitted')
  await lookAfterExchanges(berth.services)
  expect((await own.exchange(stopped.exchange.id)).body.state).toBe('cancelled')
  await tryNextTask(berth.services, uuid(stopped.asked))
  expect(types(await own.log(stopped.asked))).toEqual([])
})

test('work that is over is cancelled also while the organization has no room for more', async () => {
  const asked = await own.idle([
    { type: 'custom', name: 'weather', description: 'Tells it.', input_schema: { type: 'object' } },
  ])
  const asker = await own.begin(await own.asking(), `${ask(asked, '!tool weather {}')}\n!say done`)
  for (let at = 0; at < 2; at++) await step(asker)
  await tryNextTask(berth.services, uuid(asked))
  for (let at = 0; at < 2; at++) await step(asked)
  const exchange = await own.inState(asker, 'input_required')
  const other = await waiting()
  const ids = [exchange, other.exchange].map(({ id }) => decodeId('peerExchange', id) ?? '')
  await change(
    berth.services.db,
    sql`update session_tasks set expires_at = now() - interval '1 second' where id = any(${ids}::uuid[])`,
  )
  await cancelExpiredTasks({ ...berth.services, config: { ...berth.services.config, rateLimitFactor: 0 } })
  for (const { id } of [exchange, other.exchange]) expect((await own.exchange(id)).body.state).toBe('cancelled')
  await step(asked)
  expect(types(await own.log(asked)).slice(-2)).toEqual(['session.usage', 'session.status_idle'])
})

test('a task that cannot be cancelled keeps no other from it', async () => {
  const [first, second] = [await waiting(), await waiting()]
  const ids = [first, second].map(({ exchange }) => decodeId('peerExchange', exchange.id) ?? '')
  await change(
    berth.services.db,
    sql`update session_tasks set expires_at = now() - interval '1 second' where id = any(${ids}::uuid[])`,
  )
  const { db } = berth.services
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(db)
  await sql`create trigger refuse before update on session_tasks for each row when (old.id = ${sql.lit(ids[0])}::uuid) execute function refuse()`.execute(
    db,
  )
  try {
    await cancelExpiredTasks(berth.services)
  } finally {
    await sql`drop function refuse cascade`.execute(db)
  }
  expect((await own.exchange(first.exchange.id)).body.state).toBe('submitted')
  expect((await own.exchange(second.exchange.id)).body.state).toBe('cancelled')
})

test('the end of a turn cancels nothing that a newer one waits for', async () => {
  const { asker, exchange } = await waiting()
  await cancelExchangesOf(berth.services, uuid(asker)) // by a worker that stalled after it had ended the turn before
  expect((await own.exchange(exchange.id)).body.state).toBe('submitted')
})

test.for(['session', 'agent'])(
  'whoever asks a %s holds no session while it waits for what is locked before sessions',
  async (named) => {
    const { db } = berth.services
    const asked = named === 'session' ? await own.idle() : await own.agent()
    const asker = await own.begin(await own.asking(), `${ask(asked, '!say answer')}\n!say done`)
    await step(asker)
    const asking = Promise.withResolvers<void>()
    await transaction(db, async (tx) => {
      await change(
        tx,
        sql`update memberships m set role = role from sessions s where s.id = ${uuid(asker)} and m.user_id = s.owner_user_id and m.organization_id = s.organization_id`,
      )
      step(asker).then(asking.resolve, asking.reject)
      const waits = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from memberships%for share%'`
      await until('it waits for the membership', async () => (await findOne(db, waits)) !== undefined)
      await findOne(tx, sql`select 1 from sessions where id = ${uuid(asker)} for no key update nowait`)
    })
    await asking.promise
    await own.inState(asker, 'submitted')
  },
)

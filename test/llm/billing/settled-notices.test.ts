/** Those who follow an organization's requests hear of every one that is settled, however slow the ledger is. */
import { afterEach, test, vi } from 'vitest'
import { findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { requestsTopic } from '#src/resources/llm/billing.ts'
import { until } from '../../support/until.ts'
import { order, output } from './inference-orders.ts'
import { startWorld } from './inference-world.ts'

const sweepMs = 100

afterEach(() => void vi.useRealTimers())

test('a request that is settled after the sweep is notified, and not before the ledger has it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }) // so that the sweep comes when it hurts
  const world = await startWorld()
  try {
    const { db, pubsub } = world.first.services
    const payer = await world.organization(1)
    const ask = () => world.first.inference.open(order(payer, 100))
    const requests = [await ask(), await ask(), await ask()]
    let seen = 0
    const leaving = new AbortController()
    pubsub.hear(requestsTopic, payer.organizationId, leaving.signal, () => {
      void getOne<{ count: number }>(
        db,
        sql`select count(*) from inference_requests where organization_id = ${payer.organizationId} and status <> 'open'`,
      ).then(({ count }) => (seen = Math.max(seen, count)))
    })
    let isMarked = false
    pubsub.hear('a-marker', payer.organizationId, leaving.signal, () => (isMarked = true))
    let ends: Promise<unknown> = Promise.resolve()
    await transaction(db, async (tx) => {
      await sql`select 1 from inference_accounts where organization_id = ${payer.organizationId} for update`.execute(tx)
      const first = requests[0]!.finish('completed', 'up', output(1))
      await until('the first batch waits for the lock', async () =>
        Boolean(
          await findOne(
            db,
            sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          ),
        ),
      )
      ends = Promise.all([first, ...requests.slice(1).map((one) => one.finish('completed', 'up', output(1)))])
      vi.advanceTimersByTime(sweepMs)
      publish(db, 'a-marker', payer.organizationId) // behind what the sweep may have said
      await until('the marker was heard', () => isMarked)
    })
    await ends
    vi.advanceTimersByTime(sweepMs)
    await until('all three were heard of', () => seen === 3, 5_000)
    leaving.abort()
  } finally {
    vi.useRealTimers()
    await world.stop()
  }
})

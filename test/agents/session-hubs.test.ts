/** The one reader that all followers of a session share: how previews and the log are told in one order. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql, transaction } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import type { Emission } from '#src/resources/agents/session-emissions.ts'
import { followEmissions } from '#src/resources/agents/session-hubs.ts'
import { appendEvents, previewTopic, sessionTopic } from '#src/resources/agents/session-log.ts'
import { addToPreview, startPreview } from '#src/resources/agents/session-previews.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import { until } from '../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

/** Follows a session's log and previews, whose notices come when the test says so. */
async function follow(session: string): Promise<{ ring: (topic: string) => void; types: (count: number) => Promise<unknown[]>; close: () => Promise<unknown> }> {
  const bells = new Map<string, () => void>()
  const subscribe = async function* (topic: string, _id: string, signal: AbortSignal): AsyncIterableIterator<void> {
    signal.addEventListener('abort', () => bells.get(topic)?.())
    while (!signal.aborted) {
      await new Promise<void>((resolve) => bells.set(topic, resolve))
      if (!signal.aborted) yield
    }
  }
  const pubsub: Pubsub = { ...berth.services.pubsub, subscribe }
  const emissions: AsyncIterator<Emission> = followEmissions({ db: berth.services.db, pubsub }, session, 0, () => true)
  const types = async (count: number): Promise<unknown[]> => {
    const seen: unknown[] = []
    while (seen.length < count) seen.push((await emissions.next()).value.event.type)
    return seen
  }
  await append(berth.services.db, session, { type: 'agent.thinking' })
  expect(await types(1)).toEqual(['agent.thinking'])
  await until('it listens', () => bells.size === 2)
  return { types, ring: (topic) => bells.get(topic)?.(), close: () => emissions.return?.() ?? Promise.resolve() }
}

test('a preview does not overtake what was logged before it, whose notice is still on its way', async () => {
  const { db } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const { ring, types, close } = await follow(session)
  for (let round = 0; round < 2; round++) { // in the first the hub may still be reading for the one who joined
    await append(db, session, { type: 'user.message' })
    await startPreview(db, session, 'agent.message')
    ring(previewTopic)
    expect(await types(2)).toEqual(['user.message', 'event_start'])
  }
  await close()
})

test('no piece of a preview comes behind its event, when that is logged while the pieces are read', async () => {
  const { db } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const { ring, types, close } = await follow(session)
  const eventId = await startPreview(db, session, 'agent.message')
  await addToPreview(db, session, eventId, 'hello')
  await transaction(db, async (tx) => {
    await sql`lock table sessions in access exclusive mode`.execute(tx) // the log is read behind it, previews are not
    ring(previewTopic)
    await until('the log is being read', async () => (await sql`select 1 from pg_locks where not granted and relation = 'sessions'::regclass`.execute(db)).rows.length > 0)
    await appendEvents(tx, session, [{ type: 'agent.message', id: eventId }])
  })
  expect(await types(1)).toEqual(['agent.message'])
  await append(db, session, { type: 'session.status_idle' })
  ring(sessionTopic)
  expect(await types(1)).toEqual(['session.status_idle'])
  await close()
})

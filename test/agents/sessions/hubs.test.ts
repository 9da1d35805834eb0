/** The one reader that all followers of a session share: previews and the log in one order, and events that are told without being read. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { noticePayloadBytesMax, type Pubsub } from '#src/platform/pubsub.ts'
import type { Emission } from '#src/resources/agents/sessions/emissions.ts'
import { followEmissions } from '#src/resources/agents/sessions/hubs.ts'
import { appendEvents, previewTopic, sessionTopic } from '#src/resources/agents/sessions/log.ts'
import { addToPreview, startPreview } from '#src/resources/agents/sessions/previews.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { append, makeSessionRow, take } from '../../support/sessions.ts'
import { until } from '../../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

/** Follows a session's log and previews, whose notices come, and say, what the test has them say. */
async function follow(session: string): Promise<{
  ring: (topic: string, said?: string) => void
  types: (count: number) => Promise<unknown[]>
  close: () => Promise<unknown>
}> {
  const bells = new Map<string, (said: string | null) => void>()
  const pubsub: Pubsub = { ...berth.services.pubsub, hear: (topic, _, __, onNotice) => bells.set(topic, onNotice) }
  const emissions: AsyncIterator<Emission, undefined> = followEmissions(
    { db: berth.services.db, pubsub },
    session,
    0,
    () => true,
  )
  const types = async (count: number): Promise<unknown[]> => {
    const seen: unknown[] = []
    while (seen.length < count) seen.push((await emissions.next()).value?.event.type)
    return seen
  }
  await append(berth.services.db, session, { type: 'agent.thinking' })
  expect(await types(1)).toEqual(['agent.thinking'])
  await until('it listens', () => bells.size === 2)
  return {
    types,
    ring: (topic, said) => bells.get(topic)?.(said ?? null),
    close: () => emissions.return?.() ?? Promise.resolve(),
  }
}

test('a preview does not overtake an event that was logged before it, whose notice has not arrived', async () => {
  const { db } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const { ring, types, close } = await follow(session)
  for (let round = 0; round < 2; round++) {
    // in the first the hub may still be reading for the one who joined
    await append(db, session, { type: 'user.message' })
    await startPreview(db, session, 'agent.message')
    ring(previewTopic)
    expect(await types(2)).toEqual(['user.message', 'event_start'])
  }
  await close()
})

test('no piece of a preview comes after its event when that is logged while the pieces are read', async () => {
  const { db } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const { ring, types, close } = await follow(session)
  const eventId = await startPreview(db, session, 'agent.message')
  await addToPreview(db, session, eventId, 'hello')
  await transaction(db, async (tx) => {
    await sql`lock table sessions in access exclusive mode`.execute(tx) // the log is read behind it, previews are not
    ring(previewTopic)
    await until(
      'the log is being read',
      async () =>
        (await sql`select 1 from pg_locks where not granted and relation = 'sessions'::regclass`.execute(db)).rows
          .length > 0,
    )
    await appendEvents(tx, session, [{ type: 'agent.message', id: eventId }])
  })
  expect(await types(1)).toEqual(['agent.message'])
  await append(db, session, { type: 'session.status_idle' })
  ring(sessionTopic)
  expect(await types(1)).toEqual(['session.status_idle'])
  await close()
})

test('an event in a notice is emitted once, without reading, if it is the next; otherwise the log is read', async () => {
  const { db } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const { ring, types, close } = await follow(session)
  const say = (position: number, type: string): void =>
    ring(sessionTopic, JSON.stringify([position, newUuid(), type, {}, 2, null, '2026-11-22 12:00:00+00']))
  say(2, 'said.only') // stands in no table
  say(2, 'said.again')
  say(1, 'said.before')
  expect(await types(1)).toEqual(['said.only'])
  await append(db, session, { type: 'agent.thinking' }, { type: 'span.first' }, { type: 'span.second' })
  say(4, 'said.too-far')
  expect(await types(2)).toEqual(['span.first', 'span.second'])
  say(5, 'session.status_idle')
  expect(await types(1)).toEqual(['session.status_idle'])
  await close()
})

test('live events are the same as those in the log later', async () => {
  const { db, pubsub } = berth.services
  const session = await makeSessionRow(db, await berth.token())
  const said: boolean[] = []
  const watched: Pubsub = {
    ...pubsub,
    hear: (topic, id, signal, onNotice) =>
      pubsub.hear(topic, id, signal, (what) => (said.push(what !== null), onNotice(what))),
  }
  const collect = async (
    emissions: AsyncIterable<Emission>,
    count: number,
    seen: () => void = () => undefined,
  ): Promise<unknown[]> => {
    const all: unknown[] = []
    for await (const emission of emissions) {
      seen()
      if (all.push(JSON.parse(JSON.stringify(emission))) === count) break // as callers read it: the order of keys says nothing
    }
    return all
  }
  let first: () => void = () => undefined
  const joined = new Promise<void>((resolve) => (first = resolve))
  await append(db, session, { type: 'agent.thinking' })
  const live = collect(followEmissions({ db, pubsub: watched }, session, 0), 8, first)
  await joined
  const [queued] = await append(
    db,
    session,
    {
      type: 'user.message',
      data: {
        zebra: [1, -0.5, ...Array.from({ length: 40 }, () => 1e300)],
        a: 'ü\n"\u2028"',
        deep: { b: null, aa: true },
      },
    },
    { type: 'user.interrupt', queued: false },
  )
  await take(db, session, queued?.id ?? '')
  await append(db, session, { type: 'agent.message', data: { text: 'x'.repeat(noticePayloadBytesMax - 300) } })
  await append(
    db,
    session,
    { type: 'agent.message', data: { text: 'x'.repeat(noticePayloadBytesMax) } },
    { type: 'agent.message' },
  )
  await append(db, session, { type: 'session.status_idle' })
  expect(await live).toEqual(await collect(followEmissions({ db, pubsub }, session, 0), 8))
  expect(said.filter(Boolean).length).toBeGreaterThanOrEqual(4)
  expect(said.filter((one) => !one).length).toBeGreaterThanOrEqual(1) // the one that is too long; 1e300 is stored as it was written
})

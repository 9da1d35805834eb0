/** Notices: heard by everyone who listens, once the transaction that sent them is over, and told about when some may be missing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, findOne, noticesSent, openDatabase, sql, transaction, type Database } from '#src/platform/postgres.ts'
import { inSavepoint } from '#src/platform/postgres/savepoints.ts'
import { openPubsub, publish, noticePayloadBytesMax, type Pubsub } from '#src/platform/pubsub.ts'
import { keptMax } from '#src/platform/postgres/notices.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { pollUntil } from '#src/start/wait.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

let made: TestDatabase
let database: Database
let pubsub: Pubsub
beforeAll(async () => {
  setLogLevel('error')
  made = await createDatabase()
  database = openDatabase(made.url, { connections: 5, applicationName: 'test' })
  pubsub = openPubsub(made.url)
  const gaps: null[] = []
  pubsub.listen('beginning', () => gaps.push(null))
  expect(await soon(() => gaps.length === 2)).toBe(true) // as it listens, and for what died before it was heard of
})
afterAll(async () => {
  await pubsub.close()
  await database.close()
  await made.drop()
})

const soon = (question: () => boolean): Promise<boolean> => pollUntil(question, { limitMs: 10_000, everyMs: 5 })

/** Counts what is heard of an id. */
function count(topic: string, id: string): { heard: number; stop: () => void; ended: Promise<void> } {
  const stopping = new AbortController()
  const counter = { heard: 0, stop: () => stopping.abort(), ended: Promise.resolve() }
  const notices = pubsub.subscribe(topic, id, stopping.signal)
  counter.ended = (async () => {
    for await (const _ of notices) counter.heard++
  })()
  return counter
}

test('a notice is heard after its transaction, by those who wait for its topic and id only', async () => {
  const [mine, other, elsewhere] = [count('vm', 'a'), count('vm', 'b'), count('thing', 'a')]
  const marker = count('vm', 'marker')
  await transaction(database.db, async (tx) => {
    publish(tx, 'vm', 'a')
    publish(database.db, 'vm', 'marker')
    expect(await soon(() => marker.heard === 1)).toBe(true) // what is sent meanwhile is heard
    expect(mine.heard).toBe(0)
  })
  expect(await soon(() => mine.heard === 1)).toBe(true)
  expect([other.heard, elsewhere.heard]).toEqual([0, 0])
  for (const one of [mine, other, elsewhere, marker]) one.stop()
  await Promise.all([mine.ended, other.ended, elsewhere.ended])
})

test('a notice of a transaction that is rolled back is never heard', async () => {
  const mine = count('vm', 'rolled-back')
  const after = count('vm', 'after')
  await expect(
    transaction(database.db, async (tx) => {
      publish(tx, 'vm', 'rolled-back')
      throw new Error('back')
    }),
  ).rejects.toThrow('back')
  publish(database.db, 'vm', 'after')
  expect(await soon(() => after.heard === 1)).toBe(true) // notices come in order: the other would have come first
  expect(mine.heard).toBe(0)
  mine.stop()
  after.stop()
})

test('a burst while the reader is busy is delivered as one notice, and never lost', async () => {
  const stopping = new AbortController()
  const notices = pubsub.subscribe('vm', 'burst', stopping.signal)
  const marker = count('vm', 'marker')
  for (let sent = 0; sent < 50; sent++) publish(database.db, 'vm', 'burst')
  publish(database.db, 'vm', 'marker')
  expect(await soon(() => marker.heard === 1)).toBe(true)
  expect((await notices.next()).done).toBe(false)
  const next = notices.next()
  stopping.abort()
  expect((await next).done).toBe(true) // nothing was left of the fifty
  marker.stop()
})

test('a reader that leaves, by its signal or by ending the loop, is removed', async () => {
  const stopping = new AbortController()
  for (let turn = 0; turn < 3; turn++) {
    const notices = pubsub.subscribe('vm', 'left', stopping.signal)
    publish(database.db, 'vm', 'left')
    for await (const _ of notices) break
  }
  stopping.abort()
  expect((await pubsub.subscribe('vm', 'left', stopping.signal).next()).done).toBe(true)
})

test('a notice may carry data for those who listen to its id; data that is too long is left out', async () => {
  const heard: (string | null)[] = []
  const [stopping, counted] = [new AbortController(), count('vm', 'says')]
  pubsub.hear('vm', 'says', stopping.signal, (said) => heard.push(said))
  pubsub.hear('vm', 'says-not', stopping.signal, () => heard.push('of another'))
  for (const text of ['two words', 'ü'.repeat(noticePayloadBytesMax / 2), 'ü'.repeat(noticePayloadBytesMax)])
    publish(database.db, 'vm', 'says', text)
  expect(await soon(() => heard.length === 3)).toBe(true)
  expect(heard).toEqual(['two words', 'ü'.repeat(noticePayloadBytesMax / 2), null])
  expect(counted.heard).toBeGreaterThan(0)
  stopping.abort()
  counted.stop()
  publish(database.db, 'vm', 'says')
  const after = count('vm', 'after-says')
  publish(database.db, 'vm', 'after-says')
  expect(await soon(() => after.heard === 1)).toBe(true)
  expect(heard).toHaveLength(3)
  after.stop()
})

test('after the connection was cut it is reopened, and every subscriber looks again, once more when a process that died meanwhile would be silent', async () => {
  const mine = count('vm', 'cut')
  const gaps: (string | null)[] = []
  pubsub.listen('listened', (id) => gaps.push(id))
  publish(database.db, 'listened', 'x')
  expect(await soon(() => gaps.length === 1)).toBe(true)
  await database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'berth-listen' and datname = current_database()",
  )
  expect(await soon(() => gaps.length === 2)).toBe(true)
  expect(await soon(() => pubsub.connected)).toBe(true)
  expect([gaps, mine.heard]).toEqual([['x', null], 1])
  publish(database.db, 'vm', 'cut')
  expect(await soon(() => mine.heard === 2)).toBe(true)
  expect(await soon(() => gaps.length === 3)).toBe(true)
  expect([gaps, await soon(() => mine.heard === 3)]).toEqual([['x', null, null], true])
  mine.stop()
})

test('what its own process sends is heard without Postgres, and once; what others send comes by Postgres', async () => {
  const own = openDatabase(made.url, { connections: 1, applicationName: 'own' })
  const ears = openPubsub(made.url, own.db)
  const heard: (string | null)[] = []
  ears.hear('vm', 'near', new AbortController().signal, (said) => heard.push(said))
  publish(own.db, 'vm', 'near', 'before it listens')
  expect(await soon(() => heard[0] === 'before it listens')).toBe(true)
  expect(await soon(() => ears.connected)).toBe(true)
  publish(own.db, 'vm', 'near', 'own')
  await noticesSent(own.db)
  publish(database.db, 'vm', 'near', 'of another')
  expect(await soon(() => heard.includes('of another'))).toBe(true)
  expect(heard).toEqual(['before it listens', null, 'own', 'of another'])
  await ears.close()
  await own.close()
})

test('what was published before a database is closed is sent', async () => {
  const mine = count('vm', 'last')
  const closing = openDatabase(made.url, { connections: 1, applicationName: 'closing' })
  publish(closing.db, 'vm', 'last')
  await closing.close()
  expect(await soon(() => mine.heard === 1)).toBe(true)
  mine.stop()
})

test('when a process falls silent without having ended, everybody looks again, once', async () => {
  const gaps: (string | null)[] = []
  pubsub.listen('of-silence', (id) => gaps.push(id))
  const say = (text: string) => database.pool.query('select pg_notify($1, $2)', ['berth', text])
  await say('alive one-that-dies')
  publish(database.db, 'of-silence', 'x')
  expect(await soon(() => gaps.length === 2)).toBe(true)
  publish(database.db, 'of-silence', 'y')
  expect(await soon(() => gaps.length === 3)).toBe(true)
  expect(gaps).toEqual(['x', null, 'y'])
})

test('a part of a transaction that is taken back sends nothing, and the rest does', async () => {
  const [before, within, after] = [count('vm', 'before'), count('vm', 'within'), count('vm', 'after-it')]
  await transaction(database.db, async (tx) => {
    publish(tx, 'vm', 'before')
    await inSavepoint(
      tx,
      () => false,
      async () => publish(tx, 'vm', 'within'),
    )
    publish(tx, 'vm', 'after-it')
  })
  expect(await soon(() => after.heard === 1)).toBe(true)
  expect([before.heard, within.heard]).toEqual([1, 0])
  for (const one of [before, within, after]) one.stop()
})

test('a commit whose answer is lost is notified all the same, without what the notice says', async () => {
  const heard: (string | null)[] = []
  const stopping = new AbortController()
  pubsub.hear('vm', 'unanswered', stopping.signal, (said) => heard.push(said))
  const cut = openDatabase(made.url, { connections: 1, applicationName: 'cut' })
  cut.pool.on('connect', (client: { query: (...words: unknown[]) => unknown }) => {
    const query = client.query.bind(client)
    client.query = (statement: unknown, done: unknown): unknown => {
      const isCommit = (statement as { text?: string }).text === 'commit'
      const lost = (): void =>
        (done as (error: Error) => void)(Object.assign(new Error('the answer is lost'), { code: 'ECONNRESET' }))
      return query(statement, isCommit ? lost : done)
    }
  })
  await expect(
    transaction(cut.db, async (tx) => {
      await change(tx, sql`create table committed (id int)`)
      publish(tx, 'vm', 'unanswered', 'what may not be true')
    }),
  ).rejects.toThrow('the answer is lost')
  expect(await soon(() => heard.length === 1)).toBe(true)
  expect(heard).toEqual([null])
  expect(await findOne(database.db, sql`select to_regclass('committed') as made`)).toEqual({ made: 'committed' })
  stopping.abort()
  await cut.close()
})

test('a transaction that outlives the close of its database is notified before it says that it ended', async () => {
  const mine = count('vm', 'late')
  const closing = openDatabase(made.url, { connections: 1, applicationName: 'closing-late' })
  const [isBegun, isDue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const working = transaction(closing.db, async (tx) => {
    await change(tx, sql`select 1`)
    publish(tx, 'vm', 'late')
    isBegun.resolve()
    await isDue.promise
  })
  await isBegun.promise
  const closed = closing.close()
  isDue.resolve()
  await Promise.all([working, closed])
  expect(await soon(() => mine.heard === 1)).toBe(true)
  const { rowCount } = await database.pool.query(
    "select from pg_stat_activity where application_name = 'closing-late-notices'",
  )
  expect(rowCount).toBe(0)
  mine.stop()
})

test('more notices than are kept are dropped, and everybody looks again', async () => {
  const heard: (string | null)[] = []
  pubsub.listen('many', (id) => heard.push(id))
  await transaction(database.db, async (tx) => {
    for (let sent = 0; sent <= keptMax; sent++) publish(tx, 'many', String(sent))
  })
  publish(database.db, 'many', 'after')
  expect(await soon(() => heard.at(-1) === 'after')).toBe(true)
  expect(heard).toEqual([null, 'after'])
})

test('closed while it connects, it leaves no connection behind', async () => {
  const closing = openPubsub(made.url)
  await closing.close()
  await pubsub.close()
  expect(
    await pollUntil(
      async () =>
        (
          await database.pool.query(
            "select from pg_stat_activity where application_name = 'berth-listen' and datname = current_database()",
          )
        ).rowCount === 0,
      { limitMs: 5_000, everyMs: 20 },
    ),
  ).toBe(true)
  expect(closing.connected).toBe(false)
})

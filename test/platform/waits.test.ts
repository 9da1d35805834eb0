/** Waiting for what others do with a row: looked at when a notice says so, for a limited time. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase, type Database } from '#src/platform/postgres.ts'
import { openPubsub, publish, type Pubsub } from '#src/platform/pubsub.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let made: TestDatabase
let database: Database
let pubsub: Pubsub
beforeAll(async () => {
  made = await createDatabase()
  database = openDatabase(made.url, { connections: 5, applicationName: 'test' })
  pubsub = openPubsub(made.url)
  await until('notices are heard', () => pubsub.connected)
})
afterAll(async () => {
  await pubsub.close()
  await database.close()
  await made.drop()
})

const never = async (): Promise<never> => {
  throw new Error('it was looked at again')
}

test('what is done at the first look is not waited for', async () => {
  const wait = { topic: 'vm', id: 'a', limitSeconds: 600, first: async () => 'done', again: never, isDone: () => true }
  expect(await waitUntil(pubsub, wait)).toBe('done')
})

test('what others do during the first look is not missed, and each look gets what the one before saw', async () => {
  const seen = await waitUntil<number>(pubsub, {
    topic: 'vm',
    id: 'b',
    limitSeconds: 600,
    async first() {
      publish(database.db, 'vm', 'b')
      return 1
    },
    async again(before) {
      publish(database.db, 'vm', 'b')
      return before + 1
    },
    isDone: (looks) => looks === 3,
  })
  expect(seen).toBe(3)
})

test('when the time is over, what was seen last is the answer', async () => {
  const wait = { topic: 'vm', id: 'c', limitSeconds: 0.2, again: never, isDone: () => false }
  expect(await waitUntil(pubsub, { ...wait, first: async () => 'still creating' })).toBe('still creating')
})

test('a first look that fails ends it', async () => {
  await expect(
    waitUntil(pubsub, { topic: 'vm', id: 'd', limitSeconds: 600, first: never, again: never, isDone: () => true }),
  ).rejects.toThrow('it was looked at again')
})

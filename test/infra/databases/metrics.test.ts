/** Metrics of databases: stored by the node, read and followed by whoever may read the database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findUnmeasured, findWatched, storeMetrics } from '#src/resources/infra/databases/metrics.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const measured = (connections: number) => ({
  connections,
  sizeBytes: 3_000_000_000, // more than 32 bits
  transactions: 5,
  rolledBack: 1,
  rowsRead: 10,
  rowsWritten: 4,
  blocksHit: 7,
  blocksRead: 2,
  deadlocks: 0,
})

test('the last measurement comes first, then each new one; a stranger sees none', async () => {
  const { db } = berth.services
  const { id } = await makeDatabase(berth, token, node)
  const query = `{ database(id: "${id}") { metrics { connections sizeBytes } } }`
  expect((await berth.ask(query, { token })).body.data).toEqual({ database: { metrics: null } })
  await storeMetrics(db, databaseUuid(id), measured(1))
  expect((await berth.ask(query, { token })).body.data).toEqual({
    database: { metrics: { connections: 1, sizeBytes: 3_000_000_000 } },
  })
  const follow = (as: string): Promise<Response> =>
    fetch(
      `${berth.url}/graphql?query=${encodeURIComponent(`subscription { databaseMetricsChanged(id: "${id}") { ... on DatabaseMetrics { connections database { id } } } }`)}`,
      { headers: { accept: 'text/event-stream', authorization: `Bearer ${as}` } },
    )
  expect(await (await follow(await berth.token('eve', 'evil'))).text()).toContain('NOT_FOUND')
  const answer = await follow(token)
  let text = ''
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (text.includes('"connections":1') && !text.includes('"connections":2'))
      await storeMetrics(db, databaseUuid(id), measured(2))
    if (text.includes('"connections":2')) break
  }
  expect(text).toContain(`{"connections":2,"database":{"id":"${id}"}}`)
})

test('a node measures its own databases that are awake, a minute after the last time, and sooner for who watches', async () => {
  const { db } = berth.services
  const [awake, asleep, changing] = [
    databaseUuid((await makeDatabase(berth, token, node)).id),
    databaseUuid((await makeDatabase(berth, token, node, { vmStatus: 'paused' })).id),
    databaseUuid((await makeDatabase(berth, token, node, { status: 'updating' })).id),
  ]
  const due = async (of = node): Promise<string[]> => (await findUnmeasured(db, of)).map(({ id }) => id)
  expect(await due()).toContain(awake)
  for (const one of [asleep, changing]) expect(await due()).not.toContain(one)
  expect(await due(await makeSilentNode(db))).toEqual([])
  await storeMetrics(db, awake, measured(0))
  expect(await due()).not.toContain(awake)
  expect(await findWatched(db, node, awake)).toBeUndefined() // it was measured just now
  const { pool } = berth.services.database
  await pool.query("update database_metrics set measured_at = now() - interval '5 seconds'")
  expect((await findWatched(db, node, awake))?.id).toBe(awake)
  expect(await due()).not.toContain(awake)
  await pool.query("update database_metrics set measured_at = now() - interval '61 seconds'")
  expect(await due()).toContain(awake)
})

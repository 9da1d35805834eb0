/** The one reader that all followers of a log share in a process: it ends with the last of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { joinLog } from '#src/resources/infra/builds/log-hubs.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { submitRunning, uuidOf } from '../../support/builds.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
  await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

test('a reader that starts while the previous one ends is itself ended', async () => {
  const id = uuidOf(await submitRunning(berth, await berth.token()))
  const { db, pubsub } = berth.services
  const readers: AbortSignal[] = []
  const watched: Pubsub = {
    ...pubsub,
    hear: (topic, about, signal, onNotice) => (readers.push(signal), pubsub.hear(topic, about, signal, onNotice)),
  }
  const follow = () => joinLog({ db, pubsub: watched }, id, new AbortController().signal)
  const first = await follow()
  first.leave()
  const second = await follow() // before the first reader's end has come to its own end
  await until('the first reader has ended', () => readers[0]?.aborted === true)
  second.leave()
  expect(readers.map(({ aborted }) => aborted)).toEqual([true, true])
})

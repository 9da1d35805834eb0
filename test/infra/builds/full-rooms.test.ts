/** The log of a build whose organization has no room for logs: the build goes on, and its log says once what is left out. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import { createBuildLogWriter } from '#workers/infra/builds/log-writers.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { submitRunning, takeUp, uuidOf, type Entry } from '../../support/builds.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { clearRoom, fillRoom, nearRooms } from '../../platform/rooms/full-rooms.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', ...nearRooms } })
  token = await berth.token()
  await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

test('lines are left out while the room is full, the log says so once each time, and the build ends as usual', async () => {
  const job = await submitRunning(berth, token)
  const writer = await createBuildLogWriter(
    berth.services,
    await takeUp(berth.services.db, uuidOf(job)),
    () => undefined,
  )
  const print = async (line: string): Promise<void> => {
    writer.say(line)
    await writer.flush()
  }
  await print('one')
  await fillRoom(berth, token, 'logs')
  await print('two')
  await print('three')
  await clearRoom(berth, token, 'logs')
  await print('four')
  await fillRoom(berth, token, 'logs')
  await print('five')
  await finishBuild(berth.services, uuidOf(job), { status: 'succeeded', exitCode: 0 })
  const { body } = await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${job.id}/logs`, { token })
  const left = expect.stringMatching(/^\n\[… .*logs.*100 MB.*BERTH_ORG_LOGS_MB.*left out …\]\n$/)
  const outputs = body.logs.filter(({ done }) => !done).map(({ output }) => output)
  expect(outputs).toEqual(['one\n', left, 'four\n', left])
})

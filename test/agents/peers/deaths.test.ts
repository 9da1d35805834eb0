/**
 * Workers that die while agents ask one another: at any statement of the step that asks, of what brings the answer back, and
 * of the step that takes it in. The next one brings both sessions to the end that they would have come to.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { change, sql } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { lookAfterExchanges } from '#src/resources/agents/peers/upkeep.ts'
import { tryNextTask } from '#src/resources/agents/tasks.ts'
import { runStep } from '#workers/agents/session-steps.ts'
import { textOf, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { closeMortals, mortalWorker, type Life } from '../mortal-worker.ts'
import { ask, peerWorld } from './world.ts'

const roundsMax = 40
const togetherMax = 20

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  setLogLevel('silent') // the dying have much to say
})
afterAll(async () => {
  await closeMortals()
  await berth?.stop()
})

type Ended = { asker: Event[]; asked: Event[]; states: string[]; life: Life }

/**
 * Brings both sessions to their end by a worker that dies after so many statements, and by the next one: each does in turn
 * all that a worker does. Nothing comes by a notice.
 */
async function runToEnd(number: number, statements: number): Promise<Ended> {
  const worker = mortalWorker(berth.services, statements)
  const { life } = worker
  const own = peerWorld(berth, await berth.token(`alice-${number}`, `mortal-${number}`))
  const asked = await own.idle()
  const asker = await own.begin(
    await own.asking(),
    `${ask(asked, '!say answer')}\n!tool+ recall {"query": "x"}\n!say done`,
  )
  const uuids = [asker, asked].map((id) => decodeId('session', id) ?? '')
  const never = new AbortController().signal
  const nodes = [newUuid(), newUuid()] as const
  const all = async (services: Services, node: string): Promise<void> => {
    for (const uuid of uuids) await runStep(services, node, uuid, never)
    await tryNextTask(services, uuids[1] ?? '')
    for (const uuid of uuids) await runStep(services, node, uuid, never)
    await lookAfterExchanges(services)
  }
  for (let round = 0; round < roundsMax; round++) {
    if ((await own.get(asker)).status === 'idle' && (await own.get(asked)).status === 'idle') {
      const log = await own.log(asker)
      return {
        asker: log,
        asked: await own.log(asked),
        states: (await own.exchanges(log)).map(({ state }) => state),
        life,
      }
    }
    if (life.sent > life.statements) {
      await change(
        berth.services.db,
        sql`update sessions set step_beat_at = now() - interval '1 minute' where id = any(${uuids}::uuid[]) and step_beat_at is not null`,
      )
      await all(berth.services, nodes[1])
    } else {
      const running = all(worker, nodes[0]).catch((error: unknown) => {
        if (life.sent <= life.statements) throw error // it did not die
      })
      await Promise.race([running, life.over.promise]) // what a dead one still tries comes to nothing
    }
  }
  throw new Error('the sessions did not come to rest')
}

const ofType = (log: readonly Event[], type: string): Event[] => log.filter((event) => event.type === type)

function expectTheEnd({ asker, asked, states }: Ended): void {
  expect(states).toEqual(['completed'])
  expect(ofType(asked, 'user.message')).toHaveLength(1)
  expect(ofType(asked, 'agent.message').map(textOf)).toEqual(['answer'])
  const uses = ofType(asker, 'agent.tool_use')
  expect(uses.map(({ name }) => name)).toEqual(['ask_peer', 'recall'])
  expect(ofType(asker, 'agent.tool_result')).toHaveLength(2)
  const answers = new Map(ofType(asker, 'agent.tool_result').map((result) => [result['tool_use_id'], textOf(result)]))
  expect(uses.map(({ id }) => answers.get(id))).toEqual(['answer', 'Nothing was kept about this.'])
  expect(ofType(asker, 'agent.message').map(textOf)).toEqual(['done'])
  expect(asker.at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { type: 'end_turn' } })
  expect(ofType(asker, 'session.status_idle')).toHaveLength(1)
}

test('whichever statement a worker died at, one question leads to one answer, and to one result', async () => {
  const whole = await runToEnd(0, Infinity)
  expectTheEnd(whole)
  const deaths = Array.from({ length: whole.life.sent }, (_, at) => at)
  let died = 0
  while (deaths.length > 0) {
    const ends = await Promise.all(deaths.splice(0, togetherMax).map((at) => runToEnd(at + 1, at)))
    for (const end of ends) {
      if (end.life.sent > end.life.statements) died++
      expectTheEnd(end)
    }
    await closeMortals() // each has two connections
  }
  expect(died).toBeGreaterThan(0.7 * whole.life.sent) // what is written by the clock may not come
}, 180_000)

/**
 * Workers that die at any of their statements while members of a group answer each other: every reply is said once, and
 * nobody who was asked is forgotten.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { tryNextTask } from '#src/resources/agents/tasks.ts'
import { runStep } from '#workers/agents/session-steps.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { closeMortals, mortalWorker, type Life } from '../mortal-worker.ts'
import { areWhole, kindsOf, readRun, textsOf } from './run-streams.ts'
import { groupWorld, textsIn, type GroupWorld, type Snapshot } from './world.ts'

const stepsMax = 40
const togetherMax = 30
/** Of the statements, at every fourth one a worker dies. */
const every = 4

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  setLogLevel('silent') // the dying have much to say
})
afterAll(async () => {
  await closeMortals()
  await berth?.stop()
})

/**
 * A conversation that a worker begins, which dies after so many statements, and that the next one ends. Its organization is
 * its own, so that what a dead process has in hand of one's money keeps no other waiting.
 */
async function talk(
  number: number,
  statements: number,
): Promise<{ snapshot: Snapshot; life: Life; world: GroupWorld }> {
  const world = await groupWorld(berth, await berth.token(`alice-${number}`, `mortal-${number}`))
  const alpha = await world.session('Alpha', { system: '!say Now you, @beta' })
  const beta = await world.session('Beta', { system: '!say And back, @alpha' })
  const group = await world.of([alpha, beta])
  await world.say(group.id, '@alpha begin')
  const worker = mortalWorker(berth.services, statements)
  const { life } = worker
  const [first, next] = [newUuid(), newUuid()]
  const never = new AbortController().signal
  for (let step = 0; step < stepsMax; step++) {
    const snapshot = await world.snapshot(group.id)
    if (snapshot.runs.every(({ finished_at: at }) => at !== null)) return { snapshot, life, world }
    for (const id of [alpha, beta].map((one) => decodeId('session', one) ?? '')) {
      const isDead = life.sent > life.statements
      if (isDead)
        await change(
          berth.services.db,
          sql`update sessions set step_beat_at = now() - interval '1 minute' where id = ${id} and step_beat_at is not null`,
        )
      const services = isDead ? berth.services : worker
      const work = async (): Promise<void> => {
        await tryNextTask(services, id)
        await runStep(services, isDead ? next : first, id, never)
      }
      const working = work().catch((error: unknown) => {
        if (isDead || life.sent <= life.statements) throw error // it did not die
      })
      await (isDead ? working : Promise.race([working, life.over.promise]))
    }
  }
  throw new Error('the conversation did not end')
}

function expectTheEnd({ transcript, runs, group }: Snapshot): void {
  expect(textsIn({ transcript }).slice(1, 3)).toEqual(['alpha: Now you, @beta', 'beta: And back, @alpha'])
  expect(transcript).toHaveLength(4) // alpha has no more script, and repeats what it heard
  expect(transcript.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4])
  expect(new Set(transcript.slice(1).map(({ run_id: id }) => id)).size).toBe(3)
  expect(runs.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect(group.next_sequence).toBe(5)
}

/** Their streams tell the same, from the first chunk to the last, however often a request was made. */
async function expectStreams(world: GroupWorld, { group, runs }: Snapshot): Promise<void> {
  for (const { run_id: id, reply } of runs) {
    const reader = await readRun(berth, world.token, { path: `/groups/${group.id}/runs/${id}` })
    const frames = await reader.rest()
    expect([areWhole(frames), reader.isDone]).toEqual([true, true])
    const kinds = kindsOf(frames)
    const count = (kind: string): number => kinds.filter((one) => one === kind).length
    expect([kinds[0], kinds.at(-1), count('start'), count('finish')]).toEqual(['start', 'finish', 1, 1])
    expect([count('start-step'), count('text-start')]).toEqual([count('finish-step'), count('text-end')])
    expect(textsOf(frames).at(-1)?.trim()).toBe(reply?.text)
  }
}

test('a conversation whose worker dies comes to the same end wherever it died, and nothing is said twice', async () => {
  const whole = await talk(0, Infinity)
  expectTheEnd(whole.snapshot)
  const deaths = Array.from({ length: Math.ceil(whole.life.sent / every) }, (_, at) => at * every)
  let died = 0
  while (deaths.length > 0) {
    const together = deaths.splice(0, togetherMax)
    const ends = await Promise.all(together.map((at) => talk(at + 1, at)))
    for (const { snapshot, life, world } of ends) {
      if (life.sent > life.statements) died++
      expectTheEnd(snapshot)
      await expectStreams(world, snapshot)
      const { data } = await world.ok<{ data: { type: string }[] }>(
        'GET',
        `sessions/${snapshot.group.member_ids[1]}/events?types[]=user.message`,
        200,
      )
      expect(data).toHaveLength(1) // it was asked once
    }
  }
  expect(died).toBeGreaterThan((0.5 * whole.life.sent) / every) // the books and heartbeats are written by the clock: not all come each time
}, 120_000)

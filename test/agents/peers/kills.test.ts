/** A worker that is killed while agents answer one another, and between an answer and its delivery. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getOne, sql } from '#src/platform/postgres.ts'
import { textOf, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { ask, askToo, peerWorld } from './world.ts'

const askers = 12
const kills = 2

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth?.stop())

async function startWorker(): Promise<Command> {
  return startCommand(['workers/main.ts'], {
    BERTH_VMS: 'off',
    BERTH_DATA_DIR: berth.dataDir,
    DATABASE_URL: berth.services.database.url,
    PORT: String(await freePort()),
    BERTH_LOG_LEVEL: 'error',
  })
}

async function kill({ child, ended }: Command): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

const count = async (query: ReturnType<typeof sql>): Promise<number> =>
  (await getOne<{ count: number }>(berth.services.db, sql<{ count: number }>`select count(*) from ${query}`)).count
const ofType = (log: readonly Event[], type: string): Event[] => log.filter((event) => event.type === type)

test('each question is answered once, and each answer delivered once, although the worker is killed again and again', async () => {
  const own = peerWorld(berth, await berth.token('alice', 'acme', 'member'))
  const agent = await own.asking()
  const parties = await Promise.all(
    Array.from({ length: askers }, async (_, at) => {
      const asked = [await own.begin(agent, null), await own.begin(agent, null)] as const
      const lines = `${ask(asked[0], `!pace ${30 + 5 * at}\n!say one ${at}`)}\n${askToo(asked[1], `!pace 20\n!say two ${at}`)}`
      return { asked, asker: await own.begin(agent, `${lines}\n!say done ${at}`) }
    }),
  )
  const answering = sql`peer_exchanges where status = 'working'`
  const undelivered = sql`
    peer_exchanges e join sessions s on s.id = e.requester_session_id where e.status = 'completed' and s.status = 'running'
      and not exists (select from session_events r where r.session_id = s.id and r.answers = e.id)`
  let worker = await startWorker()
  let seen = 0
  try {
    for (const moment of [answering, undelivered])
      for (let killed = 0; killed < kills; killed++) {
        await until('the moment has come', async () => (await count(moment)) > 0, 60_000, 1)
        await kill(worker)
        if ((await count(moment)) > 0) seen++
        worker = await startWorker()
      }
    await until('all sessions rest', async () => (await count(sql`sessions where status <> 'idle'`)) === 0, 90_000)
  } finally {
    await kill(worker)
  }
  expect(seen).toBeGreaterThan(1)
  for (const [at, { asker, asked }] of parties.entries()) {
    const log = await own.log(asker)
    const uses = ofType(log, 'agent.tool_use')
    const answers = ofType(log, 'agent.tool_result')
    expect(answers).toHaveLength(2)
    expect(uses.map(({ id }) => textOf(answers.find((answer) => answer['tool_use_id'] === id)))).toEqual([
      `one ${at}`,
      `two ${at}`,
    ])
    expect(ofType(log, 'agent.message').map(textOf)).toEqual([`done ${at}`])
    expect((await own.exchanges(log)).map(({ state }) => state)).toEqual(['completed', 'completed'])
    for (const one of asked) {
      const theirs = await own.log(one)
      expect(ofType(theirs, 'user.message')).toHaveLength(1)
      expect(ofType(theirs, 'agent.message')).toHaveLength(1)
    }
  }
}, 240_000)

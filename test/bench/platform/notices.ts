/** Notices: commits a second of writers whose every commit notifies somebody, and how soon that is heard. */
import { change, openDatabase, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { openPubsub, publish } from '#src/platform/pubsub.ts'
import { until } from '../../support/until.ts'
import type { Benchmark, Effort, Findings } from '../benchmark.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from '../rounds.ts'
import { inWorld, type World } from '../world.ts'

const writerCounts = [1, 20]
const topic = 'bench'
const goalRatio = 4

/** What a transaction does for its notice. */
const ways: readonly { name: string; notify: (tx: Tx, id: string) => Promise<unknown> | void }[] = [
  {
    name: 'NOTIFY in the transaction',
    notify: (tx, id) => change(tx, sql`select pg_notify('berth', ${`${topic} ${id}`})`),
  },
  { name: 'after the commit (ours)', notify: (tx, id) => publish(tx, topic, id) },
  { name: 'none', notify: () => undefined },
]
type Way = (typeof ways)[number]
type Measured = { commitsPerSecond: number; heardMs: number }

/** Commits with notices. */
export const notices: Benchmark = {
  name: 'notices',
  title: 'Notices',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      await change(world.database.db, sql`create table bench_notices (id text, body text)`)
      const rows: string[][] = []
      let ratio = NaN
      for (const writers of writerCounts) {
        const measured = await measureWriters(world, writers, effort)
        const [inside = [], after = []] = measured.map((rounds) => rounds.map((one) => one.commitsPerSecond))
        ratio = ratioOf(after, inside)
        for (const [at, { name }] of ways.entries()) {
          const rounds = measured[at] ?? []
          const commits = rounds.map((one) => one.commitsPerSecond)
          rows.push([
            String(writers),
            name,
            shown(median(commits)),
            shownRatio(ratioOf(commits, inside)),
            shown(median(rounds.map((one) => one.heardMs))),
          ])
        }
        say(`${writers} writers: ${shownRatio(ratio)}`)
      }
      return {
        how: `Transactions of one insert of 200 bytes each, on a durable Postgres of its own; ${effort.rounds} rounds of ${effort.secondsPerRound} s of each way, in rotated order. Heard: from the beginning of a transaction until a listener in the same process has its notice, p50.`,
        tables: [
          { title: 'Commits with notices', columns: ['writers', 'notice', 'commits/s', 'ratio', 'heard p50 ms'], rows },
        ],
        goals: [
          {
            what: `commits of ${writerCounts.at(-1)} writers, beside NOTIFY in the transaction`,
            wanted: `≥ ${goalRatio.toFixed(1)}×`,
            measured: shownRatio(ratio),
            met: ratio >= goalRatio,
          },
        ],
      }
    }),
}

async function measureWriters(world: World, writers: number, effort: Effort): Promise<Measured[][]> {
  const database = openDatabase(world.databaseUrl, { connections: writers, applicationName: 'bench-writers' })
  const pubsub = openPubsub(world.databaseUrl)
  try {
    await until('notices are heard', () => pubsub.connected)
    const begunAtMs = new Map<string, number>()
    const heardMs: number[] = []
    pubsub.listen(topic, (id) => {
      const begunMs = begunAtMs.get(id ?? '')
      if (begunMs !== undefined) heardMs.push(performance.now() - begunMs)
    })
    let made = 0
    const measure = async (way: Way): Promise<Measured> => {
      heardMs.length = 0
      const endsAtMs = performance.now() + effort.secondsPerRound * 1000
      const before = made
      const write = async (): Promise<void> => {
        while (performance.now() < endsAtMs) {
          const id = String(++made)
          begunAtMs.set(id, performance.now())
          await commit(database.db, id, way)
        }
      }
      await Promise.all(Array.from({ length: writers }, write))
      if (way.name !== 'none') await until('the last are heard', () => heardMs.length >= made - before)
      begunAtMs.clear()
      return { commitsPerSecond: (made - before) / effort.secondsPerRound, heardMs: median(heardMs) }
    }
    return await inRounds(effort.rounds, ways, measure)
  } finally {
    await pubsub.close()
    await database.close()
  }
}

function commit(db: Db, id: string, { notify }: Way): Promise<void> {
  return transaction(db, async (tx) => {
    await change(tx, sql`insert into bench_notices values (${id}, repeat('x', 200))`)
    await notify(tx, id)
  })
}

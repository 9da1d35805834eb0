/** Strangers in a database: its owner, and another tenant of the same edge, beside a crowd that tries whatever strangers may try. */
import { execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from '#src/platform/postgres.ts'
import { openDatabasesWorld, type DatabasesWorld } from '../../edge/databases-world.ts'
import type { Benchmark, Findings } from '../benchmark.ts'
import { quantile, shown, shownRatio } from '../rounds.ts'
import type { Login, Seen, Task } from './strangers-client.ts'

const program = fileURLToPath(new URL('strangers-client.ts', import.meta.url))
const clients = 200
/** Each waits so long between two things, as somebody does who is far away. */
const pauseMs = 500
const outputMax = 64 * 1024 * 1024 // bytes

/** What is measured after the other: nobody else; the same crowd that only asks for a row; and one that tries everything. */
const crowds = ['nobody', 'asks for a row', 'tries everything'] as const
type Crowd = (typeof crowds)[number]
type Phase = { crowd: Crowd; owner: Seen; neighbour: Seen; rounds: number; failed: number }

/** The crowd. */
export const strangers: Benchmark = {
  name: 'strangers',
  title: 'Strangers in a database',
  async measure({ quick }, say) {
    const world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '1000000' }, { neighbour: true, alone: true })
    try {
      await prepare(world)
      const phases: Phase[] = []
      for (const crowd of crowds) {
        phases.push(await measureBeside(world, crowd, quick ? 5 : 60))
        say(`${crowd}: p99 ${shown(quantile(phases.at(-1)?.owner.latencies ?? [], 0.99))} ms`)
      }
      return findingsOf(phases)
    } finally {
      await world.close()
    }
  },
}

const loginsOf = ({ known, foreign }: DatabasesWorld): [owner: Login, neighbour: Login] => {
  const [owner, neighbour] = [known, foreign].map(({ row, host, token }) => ({
    host,
    user: row.pgUser,
    password: token,
  }))
  if (!owner || !neighbour) throw new Error('there are two')
  return [owner, neighbour]
}

async function prepare(world: DatabasesWorld): Promise<void> {
  await world.change(world.known, sql`client_mode_enabled = true`)
  for (const { host, user, password } of loginsOf(world)) {
    const owner = await world.client({ host, user, password })
    await owner.query(`create table shared (word text); insert into shared values ('for all');
      grant usage on schema public to anon, authenticated; grant select on shared to anon, authenticated`)
    await owner.end()
  }
}

async function measureBeside(world: DatabasesWorld, crowd: Crowd, seconds: number): Promise<Phase> {
  const { port } = world.proxy
  const owners = loginsOf(world)
  const [database] = owners
  const isHarmless = crowd === 'asks for a row'
  const running = crowd === 'nobody' ? null : begin({ does: 'crowd', port, database, clients, pauseMs, isHarmless })
  if (running) await pause(pauseMs * 20) // until all of them are there
  const measured = begin({ does: 'measure', port, owners, seconds })
  const [owner, neighbour] = JSON.parse(await measured.output) as Seen[] // as it prints it
  running?.process.stdin?.end()
  const { rounds, failed } = JSON.parse((await running?.output) ?? '{"rounds":0,"failed":0}') as Phase // the same
  if (!owner || !neighbour) throw new Error('an owner was not measured')
  return { crowd, owner, neighbour, rounds, failed }
}

function begin(task: Task): { process: ChildProcess; output: Promise<string> } {
  const started = execFile(process.execPath, [program, JSON.stringify(task)], { maxBuffer: outputMax })
  let output = ''
  started.stdout?.on('data', (piece: string) => (output += piece))
  started.stderr?.pipe(process.stderr)
  return {
    process: started,
    output: once(started, 'close').then(([code]) => {
      if (code !== 0) throw new Error(`the clients ended with ${code}`)
      return output
    }),
  }
}

function findingsOf(phases: readonly Phase[]): Findings {
  const [quiet, asking] = phases
  const p99 = (phase: Phase | undefined, who: 'owner' | 'neighbour'): number =>
    quantile(phase?.[who].latencies ?? [], 0.99)
  const rows = phases.flatMap((phase) =>
    (['owner', 'neighbour'] as const).map((who) => {
      const { latencies, failed, processes } = phase[who]
      return [
        phase.crowd,
        who === 'owner' ? 'the owner' : 'another tenant',
        String(latencies.length),
        shown(quantile(latencies, 0.5)),
        shown(p99(phase, who)),
        shownRatio(p99(phase, who) / p99(quiet, who)),
        shownRatio(p99(phase, who) / p99(asking, who)),
        String(failed),
        String(new Set(processes).size === 1 ? 0 : 1),
      ]
    }),
  )
  const last = phases.at(-1)
  return {
    how: `${clients} clients of \`anon\` in a process of their own, each ${pauseMs} ms between two things: alter, grant and drop what they can and cannot, of their role and of the database, log in again, and try a wrong password as the owner. Meanwhile the owner of that database, and that of another organization’s on the same edge, ask for a row every 5 ms, on one connection each, with TLS. The crowd that only asks sends as many statements and logins. Two Postgres 15 on loopback; the edge in the process that measures. ${last?.rounds ?? 0} rounds of the crowd, of which ${last?.failed ?? 0} were not let in.`,
    tables: [
      {
        title: 'Beside a crowd',
        columns: [
          'the crowd',
          'who',
          'statements',
          'p50 ms',
          'p99 ms',
          'to nobody',
          'to a crowd that asks',
          'failed',
          'connections lost',
        ],
        rows,
      },
    ],
    goals: (['owner', 'neighbour'] as const).flatMap((who) => {
      const ratio = p99(last, who) / p99(quiet, who)
      const named = who === 'owner' ? 'the owner’s' : 'another tenant’s'
      const isKept = last !== undefined && last[who].failed === 0 && new Set(last[who].processes).size === 1
      return [
        {
          what: `${named} p99 beside the crowd, of without`,
          wanted: '≤ 2.00×',
          measured: shownRatio(ratio),
          met: ratio <= 2,
        },
        {
          what: `${named} connection and statements are kept`,
          wanted: 'all',
          measured: isKept ? 'all' : 'not all',
          met: isKept,
        },
      ]
    }),
  }
}

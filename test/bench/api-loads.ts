/** Load on the API: the same request to Berth and to its peers, in turns, with Berth's memory meanwhile. */
import { setInterval as every } from 'node:timers'
import type { Effort, Goal, Table } from './benchmark.ts'
import { cpuMsOf, residentMemoryMb } from './processes.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from './rounds.ts'
import { runWrk, type Load } from './wrk.ts'

const connections = 32
const memoryLookMs = 200

/** A process that answers. */
export type Server = { name: string; url: string; pid: number; headers: Record<string, string> }

/** The request to one server; several bodies take turns. */
export type Question = { server: Server; path: string; bodies?: readonly string[] }

/** One load: ours first. `against` names the server whose rate is 1. */
export type ApiLoad = {
  what: string
  questions: readonly Question[]
  against: string
  wanted: number
  /** The part of an answer that must be the same for all servers. @throws for a wrong answer. */
  sameOf: (body: string) => unknown
}

type Measured = Load & { cpuUs: number; memoryMb: number }

/** Measures one load: its table, and its goal. A server that answers differently from Berth is not comparable: that is an error. */
export async function measureLoad(
  { what, questions, against, wanted, sameOf }: ApiLoad,
  effort: Effort,
): Promise<{ table: Table; goal: Goal }> {
  const answers = await Promise.all(questions.map((question) => ask(question)))
  const same = answers.map((answer) => JSON.stringify(sameOf(answer)))
  if (!same.every((one) => one === same[0]))
    throw new Error(`${what}: not answered alike: ${same.map((one) => one.slice(0, 300)).join(' | ')}`)
  for (const question of questions) await load(question, Math.max(2, effort.secondsPerRound))
  const measured = await inRounds(effort.rounds, questions, (question) => load(question, effort.secondsPerRound))
  const rates = measured.map((rounds) => rounds.map((one) => one.requestsPerSecond))
  const peer = questions.findIndex(({ server }) => server.name === against)
  const ratio = ratioOf(rates[0] ?? [], rates[peer] ?? [])
  return {
    table: {
      title: what,
      columns: [
        'server',
        'requests/s',
        `ratio to ${against}`,
        'p50 ms',
        'p99 ms',
        'its CPU µs/request',
        'its memory MB',
        'failed',
      ],
      rows: questions.map(({ server }, at) => {
        const mine = measured[at] ?? []
        return [
          server.name,
          shown(median(rates[at] ?? [])),
          shownRatio(ratioOf(rates[at] ?? [], rates[peer] ?? [])),
          shown(median(mine.map((one) => one.p50Ms))),
          shown(median(mine.map((one) => one.p99Ms))),
          shown(median(mine.map((one) => one.cpuUs))),
          shown(Math.max(...mine.map((one) => one.memoryMb))),
          String(mine.reduce((sum, one) => sum + one.failed, 0)),
        ]
      }),
    },
    goal: {
      what: `${what}, of ${against}`,
      wanted: `≥ ${shownRatio(wanted)}`,
      measured: shownRatio(ratio),
      met: ratio >= wanted,
    },
  }
}

async function load({ server: { url, headers, pid }, path, bodies }: Question, seconds: number): Promise<Measured> {
  const cpuMsBefore = cpuMsOf(pid)
  let memoryMb = residentMemoryMb(pid)
  const looking = every(() => (memoryMb = Math.max(memoryMb, residentMemoryMb(pid))), memoryLookMs)
  try {
    const measured = await runWrk(url + path, {
      seconds,
      connections,
      headers: { ...headers, ...jsonOf(bodies) },
      bodies,
    })
    return {
      ...measured,
      memoryMb,
      cpuUs: ((cpuMsOf(pid) - cpuMsBefore) * 1000) / (measured.requestsPerSecond * seconds),
    }
  } finally {
    clearInterval(looking)
  }
}

/** The answer to the first request; every request is distinct, so that each change is made only once. */
async function ask({ server: { url, headers }, path, bodies }: Question): Promise<string> {
  const answer = await fetch(url + path, {
    headers: { ...headers, ...jsonOf(bodies) },
    ...(bodies?.[0] === undefined ? {} : { method: 'POST', body: bodies[0] }),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url}${path} answers ${answer.status}: ${text.slice(0, 300)}`)
  return text
}

function jsonOf(bodies: readonly string[] | undefined): Record<string, string> {
  return bodies ? { 'content-type': 'application/json', accept: 'application/json' } : {}
}

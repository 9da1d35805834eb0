/** Webhooks: how long their sender waits for the answer at a steady pace, and how soon a session has started. */
import { sign } from '@octokit/webhooks-methods'
import recorded from '@octokit/webhooks-examples' with { type: 'json' }
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import { freePort } from '../../support/ports.ts'
import type { Benchmark, Findings } from '../benchmark.ts'
import { inRounds, median, quantile, ratioOf, shown, shownRatio } from '../rounds.ts'
import { inWorld, startProcess, type World } from '../world.ts'

const secret = 'webhook-secret-of-the-benchmark'
const perSecond = 100
const connections = 20
const startsPerRound = 20
const lookMs = 2
const startLimitMs = 30_000
const wantedAnswerMs = 500
const wantedStartMs = 150
/** Of the events of a repository this part starts something: 120 a minute is as much as an organization may start. */
const startingEvery = 50

type Payload = { action?: string; repository: { full_name: string }; pull_request: { base: { ref: string } } }
type Receiver = { name: string; pool: Pool; path: string }
type Hook = { id: string; body: string; signature: string }

/** The receiver beside the smallest one, and the way from an event to a session. */
export const triggers: Benchmark = {
  name: 'triggers',
  title: 'Triggers',
  measure: ({ quick, rounds, secondsPerRound }, say) =>
    inWorld(
      {
        BERTH_VMS: 'off',
        GITHUB_WEBHOOK_SECRET: secret,
        GITHUB_WEBHOOK_ORGANIZATIONS: 'acme',
      },
      async (world): Promise<Findings> => {
        await startProcess(world, 'web')
        await world.start(['workers/main.ts'], /this worker runs no VMs/)
        const event = pullRequest()
        await makeTrigger(world, event.repository.full_name)
        const smallest = await startSmallest(world)
        const receivers = [smallest, receiver('Berth', world.url, '/agents/v1/hooks/github')]
        const seconds = quick ? secondsPerRound : secondsPerRound * 2
        const all = await inRounds(rounds + 1, receivers, (one) => atPace(one, event, seconds))
        const [floor = [], ours = []] = all.map((of) => of.slice(1)) // the first compiles what is run
        const starts: number[] = []
        for (let count = 0; count < startsPerRound * (quick ? 1 : rounds); count++)
          starts.push(await timeToSession(world.database.db, receivers[1] as Receiver, event)) // made above
        await Promise.all(receivers.map(({ pool }) => pool.close()))
        const answer = quantile(ours.flat(), 0.99)
        const started = median(starts)
        say(`answered: p99 ${shown(answer)} ms; a session started: p50 ${shown(started)} ms`)
        return findings({ floor, ours, starts, bytes: JSON.stringify(event).length, rounds, seconds })
      },
    ),
}

type Found = { floor: number[][]; ours: number[][]; starts: number[]; bytes: number; rounds: number; seconds: number }

function findings({ floor, ours, starts, bytes, rounds, seconds }: Found): Findings {
  const line = (name: string, times: number[], ratio: string): string[] => [
    name,
    shown(median(times)),
    shown(quantile(times, 0.99)),
    shown(Math.max(...times)),
    ratio,
  ]
  const [answer, started] = [quantile(ours.flat(), 0.99), median(starts)]
  const ratio = shownRatio(ratioOf(ours.map(median), floor.map(median)))
  return {
    how: `A pull request as GitHub delivered it (${Math.round(bytes / 1024)} KiB), ${perSecond} a second on ${connections} connections, whether or not the ones before are answered; the time runs from the moment at which it was due. ${rounds} rounds of ${seconds} s in rotated order; one web process, one worker, a Postgres that waits for its disk. Each delivery fires a trigger: one in ${startingEvery} starts a session, as many as an organization may start, and its filters skip the others; all of that happens meanwhile, on the same cores. The floor checks the signature, parses, and commits one row. Then, with nothing else to do, the time from sending an event until its session is committed, one after the other, seen by a statement every ${lookMs} ms.`,
    tables: [
      {
        title: 'A webhook is acknowledged',
        columns: ['', 'p50 ms', 'p99 ms', 'longest ms', 'p50 of the floor'],
        rows: [line('the smallest receiver', floor.flat(), ''), line('Berth', ours.flat(), ratio)],
      },
      {
        title: 'An event has started its session',
        columns: ['', 'p50 ms', 'p99 ms', 'longest ms'],
        rows: [line('', starts, '').slice(0, 4)],
      },
    ],
    goals: [
      {
        what: `a webhook is acknowledged at ${perSecond} a second, p99`,
        wanted: `≤ ${wantedAnswerMs} ms`,
        measured: `${shown(answer)} ms`,
        met: answer <= wantedAnswerMs,
      },
      {
        what: 'from an event to its session, p50',
        wanted: `≤ ${wantedStartMs} ms`,
        measured: `${shown(started)} ms`,
        met: started <= wantedStartMs,
      },
    ],
  }
}

function pullRequest(): Payload {
  const all = recorded as unknown as { name: string; examples: Payload[] }[] // its types are of an ES module, and it is JSON
  const found = all.find(({ name }) => name === 'pull_request')?.examples.find(({ action }) => action === 'opened')
  if (!found) throw new Error('no pull request that was opened is recorded')
  return found
}

const receiver = (name: string, url: string, path: string): Receiver => ({
  name,
  path,
  pool: new Pool(url, { connections, pipelining: 1 }),
})

async function startSmallest(world: World): Promise<Receiver> {
  const port = await freePort()
  await world.start(['test/bench/agents/hook-smallest.ts', String(port), secret, world.databaseUrl], /receiver listens/)
  return receiver('the smallest receiver', `http://127.0.0.1:${port}`, '/')
}

/** A trigger for pull requests to `main` of this repository, of whoever wrote them. */
async function makeTrigger(world: World, repo: string): Promise<void> {
  const token = await world.token()
  const post = async (path: string, body: unknown): Promise<{ id: string }> => {
    const answer = await fetch(`${world.url}/agents/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { id: string }
  }
  const { id: agent } = await post('/agents', { name: 'reviewer', model: 'berth/demo' })
  const filters = { branches: ['main'], author_associations: ['OWNER', 'CONTRIBUTOR', 'NONE'], allow_forks: true }
  await post('/triggers', { agent, repo, events: ['pull_request.opened'], filters })
}

async function hookOf(event: Payload, branch: string): Promise<Hook> {
  const { pull_request: pull } = event
  const body = JSON.stringify({ ...event, pull_request: { ...pull, base: { ...pull.base, ref: branch } } })
  return { id: randomUUID(), body, signature: await sign(secret, body) }
}

async function send({ pool, path }: Receiver, { id, body, signature }: Hook): Promise<void> {
  const answer = await pool.request({
    method: 'POST',
    path,
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'pull_request',
      'x-github-delivery': id,
      'x-hub-signature-256': signature,
    },
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 202) throw new Error(`a webhook was answered ${answer.statusCode}: ${text}`)
}

/** Sends at the pace for so many seconds; the time of each from when it was due, ms. */
async function atPace(to: Receiver, event: Payload, seconds: number): Promise<number[]> {
  const hooks = await Promise.all(
    Array.from({ length: seconds * perSecond }, (_, at) => hookOf(event, at % startingEvery === 0 ? 'main' : 'next')),
  )
  const beginMs = performance.now()
  return Promise.all(
    hooks.map(async (hook, at) => {
      const dueMs = beginMs + (at * 1000) / perSecond
      await pause(Math.max(0, dueMs - performance.now()))
      await send(to, hook)
      return performance.now() - dueMs
    }),
  )
}

async function timeToSession(db: Db, to: Receiver, event: Payload): Promise<number> {
  const hook = await hookOf(event, 'main')
  const beginMs = performance.now()
  await send(to, hook)
  for (;;) {
    const fire = await findOne<{ status: string }>(
      db,
      sql`select status from trigger_fires where delivery = ${hook.id} and status <> 'pending'`,
    )
    if (fire?.status === 'started') return performance.now() - beginMs
    if (fire || performance.now() - beginMs > startLimitMs) throw new Error(`a fire is ${fire?.status ?? 'undecided'}`)
    await pause(lookMs)
  }
}

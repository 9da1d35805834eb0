/** The replies of groups' runs: from a message to the first word on its run's stream, and many of them at once, over reconnects. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get, type ClientRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { issueToken } from '#src/identity/issuer.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { makeAgent } from '../../support/agents-service.ts'
import type { Berth } from '../../support/berth.ts'
import { makeGroup, type TestGroup, type TestRun } from '../../agents/groups/run-streams.ts'
import type { Benchmark, Findings } from '../benchmark.ts'
import { median, quantile, shown } from '../rounds.ts'
import { inWorld, startProcess, type World } from '../world.ts'
import { startWordUpstream, type WordUpstream } from './word-upstream.ts'

const messagesPerRound = 20
const modelMs = 50
const people = 4
const runsAtOnce = 200
const wordsPerSecond = 5
const reconnectEveryMs = 2000
const wantedFirstMs = 60

const models = (url: string): string => `
upstreams:
  words: { kind: openai-compatible, base_url: "${url}/v1" }
models:
  bench/words: { display_name: Words, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: words, model: words }] }
`

/** From a message to the first word, and two hundred runs in one web process. */
export const runStreams: Benchmark = {
  name: 'run-streams',
  title: 'Replies of groups',
  async measure({ quick, rounds }, say) {
    const upstream = await startWordUpstream({ beforeMs: modelMs, words: 3, betweenMs: 20 })
    const folder = mkdtempSync(join(tmpdir(), 'berth-words-'))
    const file = join(folder, 'models.yaml')
    writeFileSync(file, models(upstream.url))
    try {
      return await inWorld({ BERTH_VMS: 'off', BERTH_MODELS_FILE: file }, async (world): Promise<Findings> => {
        await startProcess(world, 'web')
        await world.start(['workers/main.ts'], /this worker runs no VMs/)
        const first = await measureFirst(world, upstream, messagesPerRound * rounds)
        say(`first word: p50 ${shown(median(first.all))} ms above the model’s own`)
        upstream.pace = {
          beforeMs: modelMs,
          words: wordsPerSecond * (quick ? 5 : 10),
          betweenMs: 1000 / wordsPerSecond,
        }
        const many = await measureMany(world, upstream, quick ? 40 : runsAtOnce, quick ? 1 : Math.ceil(rounds / 2))
        say(
          `${many.runs} runs: p50 ${shown(median(many.times))} ms, p99 ${shown(quantile(many.times, 0.99))} ms; lost ${many.lost}, repeated ${many.repeated}`,
        )
        return findings(first, many, upstream.pace.words)
      })
    } finally {
      upstream.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

type First = { all: number[]; before: number[]; after: number[] }
type Many = { runs: number; times: number[]; lost: number; repeated: number; reconnects: number; again: number }

function findings(first: First, many: Many, words: number): Findings {
  const line = (name: string, all: number[]): string[] => [name, shown(median(all)), shown(quantile(all, 0.99))]
  const p50 = median(first.all)
  return {
    how: `One web process, one worker, a Postgres that waits for its disk, and a provider that sends its first word ${modelMs} ms after a request. First word: one message after another to a group of two, its run’s stream opened when the message is answered (${first.all.length} messages); measured from sending the message to the first word on the stream, less the ${modelMs} ms of the provider. Many: ${many.runs} runs of ${people} people, each with ${words} words, ${wordsPerSecond} a second, and a reader that is cut off every ${reconnectEveryMs / 1000} s and resumes after its last chunk (${many.reconnects} times; ${many.again} answers were asked for again); measured for each word from its provider to its reader. Provider and readers share one process, whose own work is in the numbers.`,
    tables: [
      {
        title: 'From a message to the first word of the reply, above the model’s own time',
        columns: ['', 'p50 ms', 'p99 ms'],
        rows: [
          line('all', first.all),
          line('until the model is asked', first.before),
          line('from the model to the stream', first.after),
        ],
      },
      {
        title: `${many.runs} replies at once, ${wordsPerSecond} words a second in each`,
        columns: ['', 'p50 ms', 'p99 ms', 'lost', 'repeated'],
        rows: [[...line('from the model to the stream', many.times), String(many.lost), String(many.repeated)]],
      },
    ],
    goals: [
      {
        what: 'a message to the first word, above the model’s own, p50',
        wanted: `≤ ${wantedFirstMs} ms`,
        measured: `${shown(p50)} ms`,
        met: p50 <= wantedFirstMs,
      },
      {
        what: 'words lost or repeated over reconnects',
        wanted: '0',
        measured: String(many.lost + many.repeated),
        met: many.lost + many.repeated === 0,
      },
    ],
  }
}

async function measureFirst(world: World, upstream: WordUpstream, count: number): Promise<First> {
  const token = await tokenOf(world, 'first')
  const group = await groupOf(world, token)
  const found: First = { all: [], before: [], after: [] }
  for (let message = 0; message <= count; message++) {
    const sentMs = performance.now()
    const run = await group.say('Say something.')
    let firstMs = 0
    const reader = await readWords(world.url, token, run, 0, (_, words) => {
      if (words.length > 0) firstMs ||= performance.now()
    })
    await reader.ended
    const { arrivedMs, firstMs: textMs } = upstream.last
    if (message === 0) continue // the first compiles what is run
    found.before.push(arrivedMs - sentMs)
    found.after.push(firstMs - textMs)
    found.all.push(arrivedMs - sentMs + (firstMs - textMs))
  }
  return found
}

async function measureMany(world: World, upstream: WordUpstream, runs: number, rounds: number): Promise<Many> {
  const groups: { token: string; group: TestGroup }[] = []
  for (let person = 0; person < people; person++) {
    const token = await tokenOf(world, `person-${person}`)
    for (let made = 0; made < runs / people; made++) groups.push({ token, group: await groupOf(world, token) })
  }
  const found: Many = { runs, times: [], lost: 0, repeated: 0, reconnects: 0, again: 0 }
  for (let round = 0; round < rounds; round++)
    await Promise.all(
      groups.map(async ({ token, group }, at) => {
        await pause((at * reconnectEveryMs) / groups.length)
        const run = await group.say('Count.')
        found.lost += upstream.pace.words - (await follow(world, token, run, found))
      }),
    )
  return found
}

/** Follows a run to its end, cut off again and again; counts what is missing and what comes twice. @returns the number of its last word */
async function follow(world: World, token: string, run: TestRun, found: Many): Promise<number> {
  let [last, next] = [0, 0]
  let text: string | undefined
  for (;;) {
    const reader = await readWords(world.url, token, run, last, (number, words, id) => {
      if (number <= last) found.repeated++
      if (number > last + 1) found.lost += number - last - 1
      last = number
      if (id !== undefined && text !== undefined && id !== text) [next, found.again] = [0, found.again + 1] // the worker asked again
      text = id ?? text
      for (const word of words) {
        const [index, textMs] = word.split('@').map(Number)
        if (index !== next) found[(index ?? 0) < next ? 'repeated' : 'lost']++
        next = (index ?? 0) + 1
        found.times.push(performance.now() - (textMs ?? 0))
      }
    })
    const isOver = await Promise.race([reader.ended, pause(reconnectEveryMs).then(() => false)])
    if (isOver) return next
    reader.request.destroy()
    found.reconnects++
  }
}

type Reader = { request: ClientRequest; ended: Promise<boolean> }

/** Reads a stream; tells each chunk's number and its words. `ended`: whether it said that it is complete. */
async function readWords(
  url: string,
  token: string,
  { path }: TestRun,
  after: number,
  heard: (number: number, words: string[], textId?: string) => void,
): Promise<Reader> {
  const request = get(`${url}/agents/v1${path}/stream?after=${after}`, {
    headers: { authorization: `Bearer ${token}` },
    agent: false,
  })
  request.on('error', () => undefined) // ended by us
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode === 204) return { request, ended: Promise.resolve(true) }
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let rest = ''
  response.setEncoding('utf8').on('error', () => resolve(false))
  response.on('close', () => resolve(false))
  response.on('data', (text: string) => {
    rest += text
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const frame = rest.slice(0, end)
      rest = rest.slice(end + 2)
      if (frame === 'data: [DONE]') resolve(true)
      const [, number, data = ''] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? []
      if (number === undefined) continue
      const chunk = JSON.parse(data) as { type: string; id?: string; delta?: string }
      if (chunk.type === 'text-delta') heard(Number(number), chunk.delta?.match(/\d+@[\d.]+/g) ?? [], chunk.id)
      else heard(Number(number), [])
    }
  })
  return { request, ended: promise }
}

/** A group whose first member has the model of the benchmark. */
async function groupOf({ url }: World, token: string): Promise<TestGroup> {
  const call: Berth['call'] = async (method, path, { token: as, body } = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: (text ? JSON.parse(text) : null) as never } // the caller says what it expects
  }
  return makeGroup({ call }, token, {
    agent: await makeAgent({ call }, token, { name: 'words', model: 'bench/words' }),
  })
}

async function tokenOf({ database: { db }, config, dataDir }: World, user: string): Promise<string> {
  const { token } = await issueToken(
    { db, sealer: loadSealer(config.secretKey, dataDir), config },
    { user, organization: user, role: 'owner', ttlSeconds: 3600, newNames: { make: true } },
  )
  return token
}

/** The formats of the inference gateway beside its chat completions: one process, one upstream, one ledger. */
import { join } from 'node:path'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { grantCredits } from '#src/resources/llm/billing.ts'
import { idsOf } from '../../support/makers.ts'
import type { Benchmark, Findings, Goal } from '../benchmark.ts'
import { chatBody, chatUrl, readStreams, type Gateway } from '../chat-readers.ts'
import { checkAnswer, inModelsWorld } from '../chats.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from '../rounds.ts'
import { startProcess, type World } from '../world.ts'
import { runWrk } from '../wrk.ts'

const connections = 32
const grantedUsd = 10_000
const wanted = 0.9
const flood = { atOnce: 8, chunks: 100, waitMs: 0 }
const streamsEach = 60

/** The formats, chat completions first. */
const formats: readonly { name: string; format?: NonNullable<Gateway['format']> }[] = [
  { name: '/v1/chat/completions' },
  {
    name: '/v1/messages',
    format: { path: '/v1/messages', conversation: 'messages', more: { max_tokens: 1000 } },
  },
  {
    name: '/v1/responses',
    format: {
      path: '/v1/responses',
      conversation: 'input',
      more: {},
      repeatsFrom: 'event: response.output_text.done',
    },
  },
]

/** Answers and streams of each format. */
export const chatFormats: Benchmark = {
  name: 'chat-formats',
  title: 'Formats of the inference gateway',
  measure: (effort, say) =>
    inModelsWorld(async (world, upstreamPort): Promise<Findings> => {
      const ways = await startFormats(world, upstreamPort)
      for (const way of ways) await checkAnswer(way)
      const answers = await inRounds(effort.rounds, ways, async (way) => {
        const headers = { ...way.headers, 'content-type': 'application/json' }
        const bodies = [chatBody(way, 'mock-20-5', false)]
        const load = await runWrk(chatUrl(way), { seconds: effort.secondsPerRound, connections, headers, bodies })
        return load.requestsPerSecond
      })
      say('answers: done')
      const total = effort.quick ? streamsEach / 5 : streamsEach
      const chunks = await inRounds(effort.rounds, ways, async (way) => {
        const seen = await readStreams(way, { ...flood, total })
        if (seen.lost > 0) throw new Error(`${way.name} lost chunks of ${seen.lost} streams`)
        return seen.chunksPerSecond
      })
      const [baseAnswers = [], baseChunks = []] = [answers[0], chunks[0]]
      const goals = ways
        .slice(1)
        .flatMap(({ name }, at): Goal[] => [
          goalOf(`requests/s of ${name}, of chat completions’`, ratioOf(answers[at + 1] ?? [], baseAnswers)),
          goalOf(`chunks/s of ${name}, of chat completions’`, ratioOf(chunks[at + 1] ?? [], baseChunks)),
        ])
      for (const { what, measured } of goals) say(`${what}: ${measured}`)
      return {
        how: `One upstream in Node that speaks chat completions and one web process of ours, which translates between it and each format; ${connections} connections of wrk for answers, ${flood.atOnce} streams of ${flood.chunks} chunks at once; ${effort.rounds} rounds in rotated order.`,
        tables: [
          {
            title: 'Answers and streams',
            columns: ['format', 'requests/s', 'ratio', 'chunks/s', 'ratio'],
            rows: ways.map(({ name }, at) => [
              name,
              shown(median(answers[at] ?? [])),
              shownRatio(ratioOf(answers[at] ?? [], baseAnswers)),
              shown(median(chunks[at] ?? [])),
              shownRatio(ratioOf(chunks[at] ?? [], baseChunks)),
            ]),
          },
        ],
        goals,
      }
    }),
}

async function startFormats(world: World, upstreamPort: number): Promise<Gateway[]> {
  await world.start(['test/bench/chat-upstream.ts', String(upstreamPort)], /the upstream listens/)
  const { organizationId, userId } = idsOf(await world.token())
  await grantCredits(world.database.db, { organizationId, usd: grantedUsd, note: 'bench' })
  const { key } = await makeApiKey(world.database.db, {
    organizationId,
    createdBy: userId,
    name: 'bench',
    prefix: world.config.apiKeyPrefix,
  })
  const web = await startProcess(world, 'web', { BERTH_MODELS_FILE: join(world.dataDir, 'models.yaml') })
  return formats.map(({ name, format }) => ({
    name,
    url: `${world.url}/llm`,
    headers: { authorization: `Bearer ${key}` },
    model: (mock) => `mock/${mock}`,
    pids: [web.child.pid ?? 0],
    ...(format ? { format } : {}),
  }))
}

function goalOf(what: string, ratio: number): Goal {
  return { what, wanted: `≥ ${shownRatio(wanted)}`, measured: shownRatio(ratio), met: ratio >= wanted }
}

/** Recall: what an agent's tool finds in as many memories as an organization may have, beside the plainest search there is. */
import { decodeJwt } from 'jose'
import { demoVectors } from '#src/drivers/models/demo-embeddings.ts'
import { newUuid } from '#src/platform/ids.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { createMasker } from '#src/platform/masking.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import { openServices, type Background } from '#src/platform/services.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { bytesOfVector, signsOf } from '#src/resources/agents/memories/ranks.ts'
import { memoryCategories } from '#src/resources/agents/memories/rows.ts'
import { runMemoryTool, type RememberingSession } from '#src/resources/agents/memories/tools.ts'
import { idsOf } from '../../support/makers.ts'
import { makeSessionRow } from '../../support/sessions.ts'
import type { Benchmark, Findings } from '../benchmark.ts'
import { inRounds, median, quantile, ratioOf, shown, shownRatio } from '../rounds.ts'
import { inWorld, startProcess, type World } from '../world.ts'

const wordsPerMemory = 40
const callsPerRound = 50
const oldPart = 0.08 // of the memories, the oldest: they have a word that no other has
const wantedMs = 20

const syllables = 'ka ri to me su no la ve di po ga shi ben tor wal ist ung cha fre qui'.split(' ')
const vocabulary = syllables.length ** 3

/** What agents ask for, as ranks of words: 0 is the most frequent word, and half of the memories have it. */
const questions: Readonly<Record<string, readonly number[]>> = {
  'two rare words': [4000, 7000],
  'six words, frequent and rare': [25, 60, 700, 2000, 5000, 7900],
  'a sentence of ten words': [20, 21, 22, 28, 40, 90, 300, 900, 3000, 6000],
  'a frequent word': [20],
  'a beginning of many words': [0],
  'words that no memory has': [vocabulary + 1, vocabulary + 2],
  'a word of old memories only': [vocabulary],
}

/** One way to search. */
type Candidate = { name: string; ask: (query: string) => Promise<unknown> }

/** The tool, the list over REST, and a bare statement with the same index. */
export const memories: Benchmark = {
  name: 'memories',
  title: 'Memories',
  measure: ({ quick, rounds }, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const token = await world.token()
      await startProcess(world, 'web')
      const { db } = world.database
      const count = quick ? 2000 : memoryLimits.perOrganizationMax
      const opened = await openServices(world.config, world.database.url, 'web')
      const withModel = (memoryModel: string | null): Background => ({
        ...opened,
        config: { ...world.config, memoryModel },
      })
      const [byWords, byMeaning] = [withModel(null), withModel(modelName)]
      const session = await fill(byMeaning, token, count)
      const candidates = [
        bareSearch(db, session),
        recall(byWords, session),
        search(world, token),
        recall(byMeaning, session),
      ]
      const rows: string[][] = []
      const byMeaningRows: string[][] = []
      const goals: Findings['goals'][number][] = []
      for (const [question, ranks] of Object.entries(questions)) {
        const query = ranks.map(wordOf).join(' ')
        const all = await inRounds(rounds + 1, candidates, ({ ask }) => timesOf(() => ask(query)))
        const [floor = [], ours = [], listed = [], meant = []] = all.map((of) => of.slice(1)) // the first reads everything from the disk
        const p50 = median(ours.flat())
        const ratio = ratioOf(ours.map(median), floor.map(median))
        const figures = [floor, ours, listed].flatMap((of) => [median(of.flat()), quantile(of.flat(), 0.99)])
        rows.push([question, ...figures.map(shown), shownRatio(ratio)])
        const meantP50 = median(meant.flat())
        byMeaningRows.push([question, shown(meantP50), shown(quantile(meant.flat(), 0.99))])
        for (const [how, ms] of [
          ['', p50],
          [' by meaning too', meantP50],
        ] as const)
          goals.push({
            what: `recall of ${question}${how}, p50`,
            wanted: `≤ ${wantedMs} ms`,
            measured: `${shown(ms)} ms`,
            met: ms <= wantedMs,
          })
        say(
          `${question}: ${shown(p50)} ms, ${shownRatio(ratio)} of the bare statement; ${shown(meantP50)} ms by meaning too`,
        )
      }
      await opened.close()
      return {
        how: `${count.toLocaleString('en-US')} memories of one organization, all of which the person who asks may read: ${Math.min(count / 10, memoryLimits.perPersonMax).toLocaleString('en-US')} are their own, the others are shared. ${wordsPerMemory} words each, of a vocabulary of ${vocabulary.toLocaleString('en-US')} made of syllables, in which the rank of a word decides how frequent it is, as in a language; a search finds beginnings of words, too. Recall is the whole tool call: the settings of the person, the search, and the secrets of a session masked in what is found. The list is GET /agents/v1/memories?search= over HTTP, which goes through the shared ones only. The floor is the statement that one would write first, with the same index and access condition: any of the words, ordered by ts_rank, ten rows. Recall by meaning too is the same tool with BERTH_MEMORY_MODEL, where each memory has a vector of 512 numbers: it asks the built-in model for a vector, which takes a tenth of a millisecond, and the ledger to write that down, finds the nearest, and makes one order of both. ${callsPerRound} calls one after the other in each of ${rounds} rounds in rotated order.`,
        tables: [
          {
            title: 'One call',
            columns: [
              '',
              'bare p50 ms',
              'p99 ms',
              'recall p50 ms',
              'p99 ms',
              'list p50 ms',
              'p99 ms',
              'recall of bare',
            ],
            rows,
          },
          {
            title: 'One recall by meaning too',
            columns: ['', 'p50 ms', 'p99 ms'],
            rows: byMeaningRows,
          },
        ],
        goals,
      }
    }),
}

async function timesOf(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let call = 0; call < callsPerRound; call++) {
    const startedAt = performance.now()
    await work()
    times.push(performance.now() - startedAt)
  }
  return times
}

/** The tool, as a step of a session runs it. */
function recall(services: Background, session: RememberingSession): Candidate {
  const masker = createMasker(['a-secret-of-the-session', 'and-another-one'])
  const { signal } = new AbortController()
  return {
    name: services.config.memoryModel === null ? 'recall' : 'recall by meaning too',
    ask: (query) =>
      runMemoryTool(services, session, { id: newUuid(), name: 'recall', input: { query } }, masker, signal),
  }
}

function search({ url }: World, token: string): Candidate {
  const organization = String(decodeJwt(token)['org_id'])
  return {
    name: 'list',
    ask: async (query) => {
      const parameters = new URLSearchParams({ search: query, organization_id: organization, limit: '10' })
      const answer = await fetch(`${url}/agents/v1/memories?${parameters}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      if (answer.status !== 200) throw new Error(`the list answered ${answer.status}: ${await answer.text()}`)
      return answer.json()
    },
  }
}

function bareSearch(db: Db, { organizationId, ownerUserId }: RememberingSession): Candidate {
  return {
    name: 'bare',
    ask: (query) =>
      findAll(
        db,
        sql`
        select id, body from memories, to_tsquery('simple', ${query
          .split(' ')
          .map((word) => `${word}:*`)
          .join(' | ')}) query
        where organization_id = ${organizationId} and (owner_user_id is null or owner_user_id = ${ownerUserId}) and words @@ query
        order by ts_rank(words, query) desc, id desc limit 10`,
      ),
  }
}

/** Memories in batches, as many of the person's own as one may have, and the rest shared. */
async function fill(services: Background, token: string, count: number): Promise<RememberingSession> {
  const { db } = services
  const { organizationId, userId } = idsOf(token)
  const own = Math.min(memoryLimits.perPersonMax, count / 10)
  const random = randomNumbers()
  const word = (): string => wordOf(Math.floor(vocabulary ** random()) - 1)
  let left = count
  for (const [owner, most] of [
    [userId, own],
    [null, count - own],
  ] as const) {
    const spaceId = newUuid()
    await sql`insert into memory_spaces (id, organization_id, owner_user_id, memory_count) values (${spaceId}, ${organizationId}, ${owner}, ${most})`.execute(
      db,
    )
    for (let made = 0; made < most; made += 1000) {
      const bodies = Array.from({ length: Math.min(1000, most - made) }, () =>
        [
          ...Array.from({ length: wordsPerMemory }, word),
          ...(left-- > (1 - oldPart) * count ? [wordOf(vocabulary)] : []),
        ].join(' '),
      )
      const ids = bodies.map(() => newUuid())
      await sql`
        insert into memories (id, space_id, organization_id, owner_user_id, body, category, idempotency_key, request_digest, actor_type, actor_id, author_user_id)
        select id, ${spaceId}, ${organizationId}, ${owner}, body, category, id::text, 'x', 'user', ${userId}, ${userId}
        from unnest(${ids}::uuid[], ${bodies}::text[], ${bodies.map((_, at) => categories[at % categories.length])}::text[]) as made (id, body, category)`.execute(
        db,
      )
      await addVectors(services, spaceId, ids, bodies)
    }
  }
  for (const table of ['memories', 'memory_vectors']) await sql`vacuum analyze ${sql.table(table)}`.execute(db)
  return getOne<RememberingSession>(db, sql`select * from sessions where id = ${await makeSessionRow(db, token)}`)
}

const modelName = 'berth/demo-embeddings'

/** The vectors of memories, as a worker makes them. */
async function addVectors(
  { db, config }: Background,
  spaceId: string,
  ids: readonly string[],
  bodies: readonly string[],
): Promise<void> {
  const model = memoryModel(config)
  if (!model) throw new Error('there is no model for memories')
  const vectors = await demoVectors(bodies, model.dimensions, new AbortController().signal)
  await sql`
    insert into memory_vectors (memory_id, space_id, made_by, revision, signs, vector)
    select id, ${spaceId}, ${model.madeBy}, 1, signs::bit varying, vector
    from unnest(${ids}::uuid[], ${vectors.map(signsOf)}::text[], ${vectors.map(bytesOfVector)}::bytea[]) as made (id, signs, vector)`.execute(
    db,
  )
}

const categories = Object.keys(memoryCategories)

/** The word of a rank: as many syllables as the rank has digits, so that frequent words are short, and begin many others. */
function wordOf(rank: number): string {
  const rest = Math.floor(rank / syllables.length)
  return `${rest > 0 ? wordOf(rest - 1) : ''}${syllables[rank % syllables.length]}`
}

/** The same numbers from 0 to 1 in each run. */
function randomNumbers(): () => number {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

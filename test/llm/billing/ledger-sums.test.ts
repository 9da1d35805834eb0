/** A thousand requests of every kind, with callers and upstreams that cut and web processes that are killed: the ledger has what the upstream counted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { endLostProcesses, grantCredits } from '#src/resources/llm/billing.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { idsOf } from '../../support/makers.ts'
import { startMockUpstream, type MockUpstream } from '../../support/mock-upstream.ts'
import { freePort } from '../../support/ports.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { readBooks } from './inference-world.ts'

const formats = ['openai-compatible', 'anthropic', 'openai'] as const
const atOnce = 25
const kills = 3
const streamsKilled = 10
const mixed = 1000 - kills * streamsKilled

let database: TestDatabase
let services: Services & { close: () => Promise<void> }
let mock: MockUpstream
let dataDir: string
let settings: Record<string, string>
let web: Command
let url: string
let key: string
let organizationId: string

beforeAll(async () => {
  database = await createDatabase()
  mock = await startMockUpstream()
  dataDir = mkdtempSync(join(tmpdir(), 'berth-sums-'))
  const upstreams = formats.map(
    (kind) => `  ${kind}-mock: { kind: ${kind}, base_url: "${mock.url}/v1", api_key_env: BERTH_TEST_MOCK_KEY }`,
  )
  const ways = ['mock-plain', 'mock-words-30', 'mock-cut', 'mock-hang-later', 'mock-500', 'mock-400', 'mock-error']
  const models = formats.flatMap((kind) =>
    ways.map(
      (way) =>
        `  ${kind}/${way}: { display_name: Mock, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 1000, capabilities: [tools], pricing: { input: "3", output: "15" }, upstreams: [${kind}-mock] }`,
    ),
  )
  writeFileSync(join(dataDir, 'models.yaml'), `upstreams:\n${upstreams.join('\n')}\nmodels:\n${models.join('\n')}\n`)
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  settings = {
    PORT: String(port),
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    BERTH_LOG_LEVEL: 'error',
    BERTH_MODELS_FILE: join(dataDir, 'models.yaml'),
    BERTH_TEST_MOCK_KEY: 'sk-mock',
    BERTH_RATE_LIMIT_FACTOR: '1000',
  }
  services = await openServices(
    readConfig({ BERTH_DATA_DIR: dataDir, BERTH_LOG_LEVEL: 'error' }),
    database.url,
    'worker',
  )
  const { token } = await issueToken(services, {
    user: 'alice',
    organization: 'acme',
    role: 'owner',
    ttlSeconds: 3600,
    newNames: { make: true },
  })
  const ids = idsOf(token)
  organizationId = ids.organizationId
  await grantCredits(services.db, { organizationId, usd: 1000 })
  key = (
    await makeApiKey(services.db, {
      organizationId,
      createdBy: ids.userId,
      name: 'sums',
      prefix: services.config.apiKeyPrefix,
    })
  ).key
  await startWeb()
})
afterAll(async () => {
  web.child.kill('SIGKILL')
  await web.ended
  await services.close()
  await mock.close()
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function startWeb(): Promise<void> {
  web = startCommand(['src/gateway/main.ts'], { ...settings, BERTH_LOG_LEVEL: 'info' })
  await web.line(/the web process listens/)
}

/** Asks, and reads to the end, or to the given word and then leaves. */
async function ask(
  model: string,
  number: number,
  { stream, leaveAt = null }: { stream: boolean; leaveAt?: string | null },
): Promise<void> {
  const answer = await fetch(`${url}/llm/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      max_tokens: 500,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: `This is question ${number}, ${'please '.repeat(number % 7)}answer it.` },
      ],
    }),
  })
  let text = ''
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString()
    if (leaveAt !== null && text.includes(leaveAt)) return // which ends the connection
  }
}

/** One of every kind in turn. The last words of what the mock says before it hangs are those of the question. */
function mixedRequest(number: number): Promise<void> {
  const format = formats[number % formats.length]
  const kind = Math.floor(number / formats.length) % 8
  if (kind === 0) return ask(`${format}/mock-plain`, number, { stream: false })
  if (kind === 1) return ask(`${format}/mock-plain`, number, { stream: true })
  if (kind === 2) return ask(`${format}/mock-words-30`, number, { stream: true })
  if (kind === 3) return ask(`${format}/mock-cut`, number, { stream: true })
  if (kind === 4) return ask(`${format}/mock-hang-later`, number, { stream: true, leaveAt: '"it."' })
  if (kind === 5) return ask(`${format}/mock-500`, number, { stream: true })
  if (kind === 6) return ask(`${format}/mock-400`, number, { stream: false })
  return ask(`${format}/mock-error`, number, { stream: true })
}

/** Streams that have said all they will say and are still open when the process is killed. */
async function killDuringStreams(round: number): Promise<void> {
  const before = mock.requests.length
  const asking = Array.from({ length: streamsKilled }, (_, at) =>
    ask(`${formats[at % formats.length]}/mock-hang-later`, round * 100 + at, { stream: true }).then(
      () => 'ended',
      () => 'cut',
    ),
  )
  await until('all streams are open', () => mock.requests.length === before + streamsKilled)
  const wanted = (): number => mock.requests.slice(before).reduce((sum, request) => sum + request.outputTokens, 0)
  await until('what was said so far is written down', async () => {
    const { output } = await getOne<{ output: number }>(
      services.db,
      sql`select coalesce(sum(output_tokens), 0) as output from inference_requests where status = 'open'`,
    )
    return output > 0 && output === wanted()
  })
  web.child.kill('SIGKILL')
  await web.ended
  expect(await Promise.all(asking)).toEqual(asking.map(() => 'cut'))
  // Thirty seconds of silence, without waiting for them.
  await sql`update inference_processes set seen_at = seen_at - interval '1 minute'`.execute(services.db)
  await endLostProcesses(services.db)
  await startWeb()
}

test('the sums of the ledger are what the upstream counted, and the money adds up', { timeout: 180_000 }, async () => {
  let next = 0
  const worker = async (until: number): Promise<void> => {
    while (next < until) await mixedRequest(next++)
  }
  for (let round = 0; round < kills; round++) {
    const share = Math.floor((mixed * (round + 1)) / kills)
    await Promise.all(Array.from({ length: atOnce }, () => worker(share)))
    await killDuringStreams(round)
  }
  expect(next).toBe(mixed)
  await until('nothing is open any more', async () => (await readBooks(services.db, organizationId)).open === 0)

  const counted = new Map<string, { input: number; output: number }>()
  for (const request of mock.requests) {
    if (request.outputTokens === 0) continue // it refused: nothing was said, nothing is owed
    const of = counted.get(`${request.format} ${request.model}`) ?? { input: 0, output: 0 }
    counted.set(`${request.format} ${request.model}`, {
      input: of.input + request.inputTokens,
      output: of.output + request.outputTokens,
    })
  }
  const rows = await findAll<{ model: string; input: number; output: number; cost: number }>(
    services.db,
    sql`
    select model, sum(input_tokens) as input, sum(output_tokens) as output, sum(cost_nano_usd) as cost from inference_requests where input_tokens > 0 group by model order by model`,
  )
  const wire = { 'openai-compatible': 'chat', anthropic: 'messages', openai: 'responses' } as const
  for (const { model, input, output, cost } of rows) {
    const [format = '', name = ''] = model.split('/')
    const told = [...counted].find(
      ([of]) => of.startsWith(wire[format as keyof typeof wire]) && of.endsWith(` ${name}`),
    ) // the models are made of these formats
    expect({ model, input, output }).toEqual({ model, ...told?.[1] })
    expect(cost).toBe(input * 3_000 + output * 15_000)
  }
  expect(rows.length).toBe(counted.size)

  const outcomes = await findAll<{ status: string; count: number }>(
    services.db,
    sql`select status, count(*) as count from inference_requests group by status order by status`,
  )
  expect(outcomes.map(({ status }) => status)).toEqual([
    'completed',
    'cut_by_client',
    'cut_by_upstream',
    'failed',
    'lost',
  ])
  expect(outcomes.reduce((sum, { count }) => sum + count, 0)).toBe(mixed + kills * streamsKilled)
  expect(outcomes.find(({ status }) => status === 'lost')?.count).toBe(kills * streamsKilled)
  const books = await readBooks(services.db, organizationId)
  expect(books.balance + books.leases + books.spent).toBe(books.granted)
  expect(books.days).toBe(books.spent)
})

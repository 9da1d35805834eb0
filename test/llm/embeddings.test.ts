/** `POST /v1/embeddings`: who may, what is refused, what it costs, and what happens when providers fail. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { grantCredits } from '#src/resources/llm/billing.ts'
import { embed } from '#src/resources/llm/embeddings.ts'
import { readModel } from '#src/resources/llm/models/named.ts'
import { idsOf, makeKey } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { problemsOf, type Schema } from '../contract/json-schema.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

type Answer = { data: { index: number; embedding: number[] }[]; usage: { prompt_tokens: number } }
const path = '/v1/embeddings'
const ask = (body: unknown, options?: Parameters<ChatWorld['post']>[2]): Promise<Response> =>
  world.post(path, body, options)
const told = async (answer: Response): Promise<string> => {
  const { error } = (await answer.json()) as { error: Record<string, string> }
  return `${answer.status} ${error['type']} ${error['code']} ${error['service_id']}: ${error['message']}`
}
const plain = { model: 'test/vectors', input: 'Hello there' }

/** The newest row of the organization in the ledger. */
async function ledgerRow(token = world.owner): Promise<Record<string, unknown>> {
  const org = encodeId('organization', idsOf(token).organizationId)
  const { body } = await world.berth.ask(
    `{ inferenceRequests(organizationId: "${org}", first: 1) { nodes { modelId route status upstream inputTokens outputTokens costUsd keyId } } }`,
    { token },
  )
  return (body.data as { inferenceRequests: { nodes: Record<string, unknown>[] } }).inferenceRequests.nodes[0] ?? {}
}

describe('an answer', () => {
  test('is as it is described, with the headers that say who gave it', async () => {
    const { body: document } = await world.berth.call<Schema>('GET', '/llm/openapi.json')
    const { post } = (document as unknown as { paths: Record<string, { post: Described }> }).paths[path]!
    const check = (value: unknown, schema: Schema | undefined): string[] =>
      problemsOf(value, schema ?? {}, document, { closed: true })
    const taken = post.requestBody.content['application/json']?.schema
    for (const body of [plain, { ...plain, input: [[1, 2]], encoding_format: 'base64', dimensions: 4, user: 'u' }]) {
      expect(check(body, taken)).toEqual([])
      const answer = await ask(body)
      expect(check(await answer.json(), post.responses['200']?.content['application/json']?.schema)).toEqual([])
      expect([answer.headers.get('x-berth-upstream'), answer.headers.get('x-berth-attempts')]).toEqual(['local', '1'])
      expect(answer.headers.get('ratelimit-limit')).toBe('600')
    }
    for (const wrong of [{}, { ...plain, input: [] }, { ...plain, input: '' }, { ...plain, encoding_format: 'int8' }])
      expect(check(wrong, taken), JSON.stringify(wrong)).not.toEqual([])
    for (const status of ['400', '401', '402', '403', '409', '413', '429', '502', '503', '504'])
      expect(post.responses).toHaveProperty(status)
  })

  test('for more than an upstream answers at once is put together of several, and is charged once', async () => {
    const answer = await ask({
      model: 'test/large-vectors',
      input: Array.from({ length: 70 }, (_, at) => `text ${at}`),
      encoding_format: 'base64', // numbers as text take a second to write and read
    })
    const { data, usage } = (await answer.json()) as Answer
    expect(data.map(({ index }) => index)).toEqual([...data.keys()])
    expect(new Set(data.map(({ embedding }) => Buffer.from(String(embedding), 'base64').length / 4))).toEqual(
      new Set([16_384]),
    )
    expect(world.mock.requests.map(({ body }) => (body['input'] as string[]).length)).toEqual([32, 32, 6])
    expect(usage.prompt_tokens).toBe(world.mock.requests.reduce((sum, { inputTokens }) => sum + inputTokens, 0))
    expect(await ledgerRow()).toMatchObject({
      modelId: 'test/large-vectors',
      route: 'EMBEDDINGS',
      status: 'COMPLETED',
      inputTokens: usage.prompt_tokens,
      outputTokens: 0,
    })
  })

  test('is repeated under its Idempotency-Key, and not charged again', async () => {
    const headers = { 'idempotency-key': 'embed-once' }
    const [first, second] = [await ask(plain, { headers }), await ask(plain, { headers })]
    expect(await second.json()).toEqual(await first.json())
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(world.mock.requests).toHaveLength(1)
    expect(await told(await ask({ ...plain, input: 'other' }, { headers }))).toContain('409 ')
  })

  test('comes from the next upstream when one fails, and says so', async () => {
    world.mock.script({ status: 500, body: '{}' }, { status: 500, body: '{}' })
    const answer = await ask({ ...plain, model: 'test/doubled-vectors' })
    expect([answer.status, answer.headers.get('x-berth-upstream'), answer.headers.get('x-berth-failed')]).toEqual([
      200,
      'spare',
      'local upstream_error, local upstream_error',
    ])
  })
})

describe('a caller', () => {
  test('needs a key with the scope for chats, or a role', async () => {
    expect(await told(await ask(plain, { token: null }))).toContain('401 authentication_error key_missing gateway')
    expect(await told(await ask(plain, { token: `${world.key}x` }))).toContain('401 authentication_error key_invalid')
    const viewer = await world.berth.token('victor', 'acme', 'viewer')
    expect(await told(await ask(plain, { token: viewer }))).toContain('403 permission_error missing_scope gateway')
    expect((await ask(plain, { token: world.owner })).status).toBe(200)
    expect((await ask(plain, { token: null, headers: { 'x-api-key': world.key } })).status).toBe(200)
  })

  test('pays for the tokens that the provider counted, within credits and the key’s budget', async () => {
    const owner = await world.berth.token('rita', 'rich', 'owner')
    const { key, keyId } = await makeKey(world.berth, owner)
    const { organizationId } = idsOf(owner)
    const dear = { model: 'test/dear-vectors', input: 'x'.repeat(400) }
    expect(await told(await ask(dear, { token: key }))).toContain('402 billing_error insufficient_credits gateway')
    await grantCredits(world.berth.services.db, { organizationId, usd: 1 })
    expect((await ask(dear, { token: key })).status).toBe(200)
    expect(await ledgerRow(owner)).toMatchObject({ inputTokens: 100, costUsd: '0.000200000', keyId })
    const { errors } = (
      await world.berth.ask(
        `mutation { setApiKeyBudget(input: { organizationId: "${encodeId('organization', organizationId)}", keyId: "${keyId}", monthlyUsd: "0.0003" }) { credits { keyBudgets { keyId } } } }`,
        { token: owner },
      )
    ).body
    expect(errors).toBeUndefined()
    await until('the budget is known', async () =>
      (await told(await ask(dear, { token: key }))).includes('402 billing_error budget_exceeded gateway'),
    )
  })

  test('that leaves ends the request at the provider', async () => {
    world.mock.script({ before: 'never' })
    const leaving = new AbortController()
    const asking = ask(plain, { signal: leaving.signal })
    const asked = await world.mock.request(0)
    leaving.abort()
    await expect(asking).rejects.toThrow()
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })
})

describe('a request is refused', () => {
  const many = Array.from({ length: 2049 }, () => 'x')
  test.each<[unknown, string]>([
    [[], 'invalid_parameter gateway: The body must be'],
    [{ input: 'x' }, 'invalid_parameter gateway: model is required'],
    [{ ...plain, model: 'none' }, 'unsupported_model gateway: There is no such model here'],
    [{ ...plain, model: 'berth/demo' }, 'unsupported_model gateway: berth/demo chats and makes no embeddings'],
    [{ model: plain.model }, 'invalid_parameter gateway: input is required'],
    [{ ...plain, input: null }, 'invalid_parameter gateway: input is required'],
    [{ ...plain, input: {} }, 'invalid_parameter gateway: input is required'],
    [{ ...plain, input: '' }, 'invalid_parameter gateway: input is empty'],
    [{ ...plain, input: [] }, 'invalid_parameter gateway: input is empty'],
    [{ ...plain, input: ['x', ''] }, 'invalid_parameter gateway: input[1] is empty'],
    [{ ...plain, input: ['x', 5] }, 'invalid_parameter gateway: input[1] must be a text'],
    [{ ...plain, input: [[1], 'x'] }, 'invalid_parameter gateway: input[1] must be a text or a list of tokens'],
    [{ ...plain, input: [[]] }, 'invalid_parameter gateway: input[0] is empty'],
    [{ ...plain, input: [1, -1] }, 'invalid_parameter gateway: input must be a list of tokens'],
    [{ ...plain, input: [[1.5]] }, 'invalid_parameter gateway: input[0] must be a list of tokens'],
    [{ ...plain, input: [null] }, 'invalid_parameter gateway: input[0] must be a text or a list'],
    [{ ...plain, input: many }, 'invalid_parameter gateway: input has more than 2048 items'],
    [
      { ...plain, input: Array.from({ length: 101 }, () => 1) },
      'context_length_exceeded gateway: input has 101 tokens',
    ],
    [{ model: 'test/large-vectors', input: many.slice(0, 513) }, 'invalid_parameter gateway: input has 513 items'],
    [{ ...plain, dimensions: 0 }, 'invalid_parameter gateway: dimensions must be a whole number'],
    [{ ...plain, dimensions: 3 }, 'invalid_parameter gateway: dimensions must be 4, or left out'],
    [{ model: 'test/packed', input: 'x', dimensions: 9 }, 'invalid_parameter gateway: dimensions must be at most 8'],
    [{ ...plain, encoding_format: 'int8' }, 'invalid_parameter gateway: encoding_format must be'],
    [{ ...plain, user: 5 }, 'invalid_parameter gateway: user must be a string'],
    [{ ...plain, dimension: 4 }, 'invalid_parameter gateway: Unknown field dimension. Did you mean dimensions?'],
    [{ ...plain, stream: true }, 'invalid_parameter gateway: Unknown field stream. Leave it out'],
  ])('%j', async (body, sentence) => {
    expect(await told(await ask(body))).toContain(`400 invalid_request_error ${sentence}`)
    expect(world.mock.requests).toEqual([])
  })

  test('when a model for embeddings is to chat', async () => {
    const messages = [{ role: 'user', content: 'x' }]
    for (const [chat, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/chat', { messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'x' }] }] }],
    ] as const)
      expect(await told(await world.post(chat, { model: 'test/vectors', ...body }))).toContain(
        '400 invalid_request_error unsupported_model gateway: test/vectors makes embeddings and does not chat',
      )
    expect(
      await world.berth.call('POST', '/agents/v1/agents', {
        token: world.owner,
        body: { name: 'x', model: 'test/vectors' },
      }),
    ).toMatchObject({ status: 400, body: { error: { code: 'unknown_model' } } })
  })
})

describe('a provider that', () => {
  test('fails is charged nothing', async () => {
    world.mock.script({ status: 500, body: '{}' }, { status: 500, body: '{}' })
    expect(await told(await ask(plain))).toContain('502 api_error upstream_error local: The upstream local')
    expect(await ledgerRow()).toMatchObject({ status: 'FAILED', inputTokens: 0, costUsd: '0.000000000' })
  })

  test('refuses the request is quoted, and one that is overloaded or slow is told apart', async () => {
    world.mock.script({ status: 400, body: JSON.stringify({ error: { message: 'too many words' } }) })
    expect(await told(await ask(plain))).toContain('400 invalid_request_error invalid_parameter local: ')
    world.mock.script({ status: 503, body: '{}' }, { status: 503, body: '{}' })
    expect(await told(await ask(plain))).toContain('503 overloaded_error upstream_overloaded local')
  })

  test('counts nothing is billed by an estimate', async () => {
    world.mock.script({ usage: 'none' })
    const { usage } = (await (await ask({ ...plain, input: 'x'.repeat(40) })).json()) as Answer
    expect(usage.prompt_tokens).toBe(10)
  })

  test('breaks off between two parts is paid for what it gave', async () => {
    world.mock.script({}, { status: 400, body: '{}' })
    const answer = await ask({ model: 'test/large-vectors', input: Array.from({ length: 33 }, () => 'abcd') })
    expect(answer.status).toBe(400)
    expect(await ledgerRow()).toMatchObject({ status: 'CUT_BY_UPSTREAM', inputTokens: 32 })
  })
})

test('GraphQL makes embeddings of texts, for those who may chat', async () => {
  const ask = (input: string, token: string) =>
    world.berth.ask(
      `mutation { createEmbeddings(input: { ${input} }) { embeddings { modelId model { kind dimensions } inputTokens upstream vectors } } }`,
      { token },
    )
  const { body } = await ask('model: "test/vectors", texts: ["one", "two two"]', world.key)
  const { embeddings } = (body.data as { createEmbeddings: { embeddings: { vectors: string[] } } }).createEmbeddings
  expect(embeddings).toMatchObject({
    modelId: 'test/vectors',
    model: { kind: 'EMBEDDINGS', dimensions: 4 },
    inputTokens: 3,
    upstream: 'local',
  })
  expect(embeddings.vectors.map((vector) => Buffer.from(vector, 'base64').readFloatLE(4))).toEqual([1, 2])
  expect(await ledgerRow()).toMatchObject({ modelId: 'test/vectors', route: 'GRAPHQL', inputTokens: 3 })
  const refused: [string, string, string][] = [
    ['model: "berth/demo", texts: ["x"]', world.key, 'UNSUPPORTED_MODEL'],
    ['model: "test/vectors", texts: []', world.key, 'INVALID_PARAMETER'],
    [`model: "test/vectors", texts: ${JSON.stringify(Array(257).fill('x'))}`, world.key, 'INVALID_PARAMETER'],
    ['model: "test/vectors", texts: ["x"], dimensions: 3', world.key, 'INVALID_PARAMETER'],
    [
      'model: "test/vectors", texts: ["x"]',
      await world.berth.token('victor', 'acme', 'viewer'),
      'NOT_PERMITTED_FOR_ROLE',
    ],
  ]
  for (const [input, token, code] of refused)
    expect((await ask(input, token)).body.errors?.[0]?.extensions.code).toBe(code)
})

test('another part of Berth makes embeddings of texts on an organization’s account', async () => {
  const { services } = world.berth
  const { organizationId, userId } = idsOf(world.owner)
  const { vectors } = await embed(
    services,
    {
      payer: { organizationId, userId, keyId: null },
      model: readModel(services.config, 'berth/demo-embeddings', 'embeddings'),
      inputs: ['one', 'two'],
      dimensions: 64,
      user: null,
      route: 'agent',
    },
    new AbortController().signal,
  )
  expect(vectors.map(({ length }) => length)).toEqual([64, 64])
  const { requests } = await getOne<{ requests: number }>(
    services.db,
    sql`select count(*)::integer as requests from inference_requests where route = 'agent' and model = 'berth/demo-embeddings'`,
  )
  expect(requests).toBe(1)
})

type Described = {
  requestBody: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content: Record<string, { schema: Schema }> }>
}

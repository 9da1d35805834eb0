/** The list of models, as both SDKs read it, and that no key of a provider comes out anywhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { startCommand, type Command } from '../support/command.ts'
import { makeKey } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'

const canary = 'sk-canary-77aa01'
const folder = mkdtempSync(join(tmpdir(), 'berth-models-'))
const models = join(folder, 'models.yaml')
writeFileSync(
  models,
  `upstreams: { dead: { kind: openai, base_url: "http://127.0.0.1:1/v1", api_key_env: DEAD_KEY } }
models:
  dead/free: { context_window: 5000, upstreams: [dead] }
  dead/model: { context_window: 5000, reasoning: { levels: [low, high], default: low }, pricing: { input: "2.50", output: "10" }, upstreams: [dead] }`,
)

let berth: Berth
let key: string
let owner: string
beforeAll(async () => {
  berth = await startBerth({
    settings: { BERTH_MODELS_FILE: models, DEAD_KEY: canary, ANTHROPIC_API_KEY: `${canary}-2` },
  })
  owner = await berth.token('alice', 'acme', 'owner')
  key = (await makeKey(berth, owner)).key
})
afterAll(async () => {
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
})

const deadModel = {
  id: 'dead/model',
  object: 'model',
  type: 'model',
  kind: 'chat',
  created: 0,
  created_at: '1970-01-01T00:00:00.000Z',
  owned_by: 'dead',
  display_name: 'model',
  context_window: 5000,
  max_input_tokens: 5000,
  max_tokens: 5000,
  dimensions: null,
  flexible_dimensions: false,
  reasoning_levels: ['low', 'high'],
  default_reasoning_level: 'low',
  reasoning_replay: 'encrypted_content',
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
  allowed_fallback_models: [],
  capabilities: expect.objectContaining({
    tools: true,
    vision: false,
    pdf: false,
    streaming: true,
    structured_outputs: { supported: false },
    effort: {
      supported: true,
      low: { supported: true },
      medium: { supported: false },
      high: { supported: true },
      xhigh: { supported: false },
      max: { supported: false },
    },
  }) as object,
  pricing: { input: '2.5', output: '10', cache_read: '2.5', cache_write: '2.5' },
  status: 'available',
}

describe('GET /llm/v1/models', () => {
  test('lists what is set up, in the documented shape', async () => {
    const { status, body } = await berth.call<{ data: { id: string }[] }>('GET', '/llm/v1/models', { token: key })
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'list', has_more: false, first_id: 'berth/demo', last_id: 'dead/model' })
    expect(body.data.at(-1)).toEqual(deadModel)
    expect(body.data.map(({ id }) => id).filter((id) => id.startsWith('openai/'))).toEqual([])
    expect(body.data.some(({ id }) => id.startsWith('anthropic/'))).toBe(true)
  })

  test('is what the OpenAI and the Anthropic client read, one model too', async () => {
    const openai = new OpenAI({ apiKey: key, baseURL: `${berth.url}/llm/v1` })
    const listed: string[] = []
    for await (const model of openai.models.list()) listed.push(model.id)
    expect(listed).toContain('dead/model')
    expect(await openai.models.retrieve('dead/model')).toEqual(deadModel)
    for (const id of ['dead/model', 'dead%2Fmodel', 'model'])
      expect((await berth.call('GET', `/llm/v1/models/${id}`, { token: key })).body, id).toEqual(deadModel) // not every client encodes the slash
    const anthropic = new Anthropic({ apiKey: key, baseURL: `${berth.url}/llm` })
    const named: string[] = []
    for await (const model of anthropic.models.list()) named.push(`${model.id} ${model.display_name}`)
    expect(named).toContain('dead/model model')
    await expect(openai.models.retrieve('dead/absent')).rejects.toMatchObject({ status: 404 })
  })

  test('is the same in GraphQL, for people and keys', async () => {
    for (const token of [owner, key]) {
      const { body } = await berth.ask(
        '{ models { totalCount nodes { id speed pricing { inputUsdPerMillion } } pageInfo { hasNextPage } } model(id: "demo") { id displayName } node(id: "dead/model") { ... on Model { reasoningLevels } } }',
        { token },
      )
      const { models } = body.data as { models: { totalCount: number; nodes: unknown[] } }
      expect(models.totalCount).toBe(models.nodes.length)
      expect(body.data).toMatchObject({
        models: {
          pageInfo: { hasNextPage: false },
          nodes: expect.arrayContaining([
            { id: 'dead/model', speed: 'STANDARD', pricing: { inputUsdPerMillion: '2.5' } },
          ]) as unknown[],
        },
        model: { id: 'berth/demo' },
        node: { reasoningLevels: ['LOW', 'HIGH'] },
      })
    }
    expect((await berth.ask('{ model(id: "gpt-9") { id } }', { token: owner })).body.errors?.[0]?.extensions.code).toBe(
      'NOT_FOUND',
    )
  })

  test('pages both ways in GraphQL, filtered by life cycle, and refuses an invalid cursor', async () => {
    type Models = { models: { nodes: { id: string }[]; pageInfo: Record<string, unknown> } }
    const page = async (args: string): Promise<Models['models']> =>
      (
        (
          await berth.ask(
            `{ models(${args}) { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
            { token: key },
          )
        ).body.data as Models
      ).models
    const all = (await page('first: 100')).nodes
    const first = await page('first: 2')
    expect(first).toMatchObject({ nodes: all.slice(0, 2), pageInfo: { hasNextPage: true, hasPreviousPage: false } })
    expect((await page(`first: 1, after: "${all[1]?.id}"`)).nodes).toEqual(all.slice(2, 3))
    expect(await page('last: 2')).toMatchObject({ nodes: all.slice(-2), pageInfo: { hasPreviousPage: true } })
    expect((await page('first: 5, filter: { lifecycle: [RETIRED] }')).nodes).toEqual([])
    const { errors } = (await berth.ask('{ models(after: "nobody/nothing") { nodes { id } } }', { token: key })).body
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', field: 'after' })
  })

  test('with nonsense for an id answers not found', async () => {
    for (const id of ['%00', '..%2f..', 'x'.repeat(300), 'a%2fb%2fc', '%F0%9F%A6%8A', "'", '__proto__'])
      expect((await berth.call('GET', `/llm/v1/models/${id}`, { token: key })).status, id).toBeOneOf([400, 404, 414])
  })
})

test('a provider’s key is shown nowhere: not in the list, in an error, in GraphQL, or in the log at its most verbose level', async () => {
  const port = await freePort()
  const web: Command = startCommand(['src/gateway/main.ts'], {
    DATABASE_URL: berth.services.database.url,
    PORT: String(port),
    BERTH_PUBLIC_URL: berth.services.config.publicUrl,
    BERTH_DATA_DIR: berth.dataDir,
    BERTH_LOG_LEVEL: 'trace',
    BERTH_METRICS_PORT: String(await freePort()),
    BERTH_MODELS_FILE: models,
    DEAD_KEY: canary,
  })
  const metrics = JSON.parse(await web.line(/the web process listens/)) as { metricsPort: number }
  const texts: string[] = []
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    texts.push(JSON.stringify([...answer.headers]) + (await answer.text()))
  }
  await ask('GET', '/llm/v1/models')
  await ask('GET', '/llm/openapi.json')
  for (const stream of [true, false])
    await ask('POST', '/llm/v1/chat/completions', {
      model: 'dead/free',
      stream,
      messages: [{ role: 'user', content: 'hi' }],
    })
  await ask('POST', '/llm/v1/chat', {
    model: 'dead/free',
    messages: [{ id: 'a', role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
  })
  await ask('POST', '/graphql', {
    query:
      'mutation { createChatCompletion(input: {model: "dead/free", messages: {user: {content: {text: "hi"}}}}) { completion { content } } }',
  })
  texts.push(await (await fetch(`http://127.0.0.1:${metrics.metricsPort}/metrics`)).text())
  web.child.kill('SIGTERM')
  await web.ended
  texts.push(web.lines.join('\n'))
  expect(texts.filter((text) => /"code":"upstream_error"|"UPSTREAM_ERROR"/.test(text))).toHaveLength(4)
  expect(texts.map((text) => text.includes('canary'))).toEqual(texts.map(() => false))
})

test('a process does not start with an invalid file, and reports everything that is wrong', async () => {
  const wrong = join(folder, 'wrong.yaml')
  writeFileSync(wrong, `upstreams: { a: { kind: x }, b: { kind: openai, api_key: ${canary} } }`)
  for (const program of ['src/gateway/main.ts', 'workers/main.ts']) {
    const command = startCommand([program], {
      DATABASE_URL: berth.services.database.url,
      BERTH_DATA_DIR: berth.dataDir,
      BERTH_MODELS_FILE: wrong,
    })
    expect(await command.ended).toBe(2)
    expect(command.lines.filter((line) => line.startsWith('  - BERTH_MODELS_FILE: '))).toHaveLength(2)
    expect(command.lines.join()).not.toContain('canary')
  }
})

/** OpenAI's own client and the AI SDK's `embed`, unmodified, against `/v1/embeddings`. */
import { createOpenAI } from '@ai-sdk/openai'
import { cosineSimilarity, embed, embedMany } from 'ai'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
let client: OpenAI
beforeAll(async () => {
  world = await startChatWorld()
  client = new OpenAI({ apiKey: world.key, baseURL: `${world.berth.url}/llm/v1`, maxRetries: 0 })
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const demo = 'berth/demo-embeddings'

describe('OpenAI’s client', () => {
  test('gets numbers for a text, which it asks for in base64 by itself', async () => {
    const answer = await client.embeddings.create({ model: demo, input: 'The boat is in the harbour.' })
    expect(answer).toMatchObject({
      object: 'list',
      model: demo,
      data: [{ object: 'embedding', index: 0 }],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    })
    const vector = answer.data[0]?.embedding ?? []
    expect(vector).toHaveLength(512)
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  })

  test('gets the same numbers in both encodings, from both kinds of upstream', async () => {
    for (const model of [demo, 'test/vectors', 'test/packed']) {
      const [packed, plain] = await Promise.all([
        client.embeddings.create({ model, input: ['one', 'two words'] }),
        client.embeddings.create({ model, input: ['one', 'two words'], encoding_format: 'float' }),
      ])
      expect(
        packed.data.map(({ embedding }) => embedding.map(Math.fround)),
        model,
      ).toEqual(plain.data.map(({ embedding }) => embedding.map(Math.fround)))
    }
  })

  test('gets a vector for each text in the order of the texts, and for tokens', async () => {
    const texts = await client.embeddings.create({ model: 'test/vectors', input: ['a', 'bb bb', 'ccc ccc ccc'] })
    expect(texts.data.map(({ index, embedding }) => [index, ...embedding])).toEqual([
      [0, 0, 1, 0.5, 0.5],
      [1, 1, 2, 0.5, 0.5],
      [2, 2, 3, 0.5, 0.5],
    ])
    const tokens = await client.embeddings.create({ model: 'test/vectors', input: [[5, 6, 7], [8]] })
    expect(tokens.data.map(({ embedding }) => embedding[1])).toEqual([3, 1])
    expect((await client.embeddings.create({ model: 'test/vectors', input: [5, 6] })).data).toHaveLength(1)
    expect(world.mock.requests.map(({ body }) => body['input'])).toEqual([
      ['a', 'bb bb', 'ccc ccc ccc'],
      [[5, 6, 7], [8]],
      [[5, 6]],
    ])
  })

  test('gets fewer numbers where the model makes fewer, and is told where it does not', async () => {
    const answer = await client.embeddings.create({ model: 'test/packed', input: 'x', dimensions: 3, user: 'u1' })
    expect(answer.data[0]?.embedding).toEqual([0, 1, 0.5])
    expect(world.mock.requests[0]?.body).toMatchObject({ dimensions: 3, user: 'u1', encoding_format: 'base64' })
    await expect(client.embeddings.create({ model: 'test/vectors', input: 'x', dimensions: 3 })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_parameter',
    })
    await client.embeddings.create({ model: 'test/vectors', input: 'x', dimensions: 4 })
    expect(world.mock.requests[1]?.body).not.toHaveProperty('dimensions')
  })

  test('sees the models for embeddings beside those for chats', async () => {
    const kinds: Record<string, unknown> = {}
    for await (const model of client.models.list()) kinds[model.id] = (model as unknown as { kind: string }).kind // ours
    expect(kinds).toMatchObject({ 'berth/demo': 'chat', [demo]: 'embeddings', 'test/vectors': 'embeddings' })
    expect(await client.models.retrieve('test/packed')).toMatchObject({
      object: 'model',
      dimensions: 8,
      flexible_dimensions: true,
      max_tokens: 0,
    })
  })

  test('throws the class that it has for an error of the provider', async () => {
    world.mock.script(...Array.from({ length: 2 }, () => ({ status: 429, body: '{}' })))
    await expect(client.embeddings.create({ model: 'test/vectors', input: 'x' })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    )
  })
})

describe('the AI SDK', () => {
  const models = (): ReturnType<typeof createOpenAI> =>
    createOpenAI({ baseURL: `${world.berth.url}/llm/v1`, apiKey: world.key })

  test('embeds a text, and finds the nearest of several', async () => {
    const model = models().embedding(demo)
    const { embedding, usage } = await embed({ model, value: 'Which boats are in the harbour?' })
    expect(usage.tokens).toBe(8)
    const { embeddings } = await embedMany({
      model,
      values: ['Tea is made of leaves.', 'A boat came into the harbour.', 'Trains run on rails.'],
    })
    const nearness = embeddings.map((one) => cosineSimilarity(embedding, one))
    expect(nearness.indexOf(Math.max(...nearness))).toBe(1)
  })

  test('sends the dimensions that it was given', async () => {
    const { embedding } = await embed({
      model: models().embedding('test/packed'),
      value: 'x',
      providerOptions: { openai: { dimensions: 2 } },
    })
    expect(embedding).toEqual([0, 1])
  })
})

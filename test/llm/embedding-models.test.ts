/** Models for embeddings in the operator's file, and the built-in one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { askForEmbeddings } from '#src/drivers/models/embeddings.ts'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'
import { targetOf } from '../support/model-questions.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-embeddings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const upstreams = `
upstreams:
  local: { kind: openai-compatible, base_url: "http://localhost:11434/v1" }
  signed: { kind: anthropic, base_url: "http://localhost:11435/v1" }
`
function read(models: string): ReadonlyMap<string, Model> {
  const path = join(folder, 'models.yaml')
  writeFileSync(path, `${upstreams}models: ${models}`)
  return modelTable(readConfig({ BERTH_MODELS_FILE: path })).models
}
function problems(models: string): readonly string[] {
  try {
    read(models)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

test('a model for embeddings needs a context, dimensions and an upstream, and costs nothing without a price', () => {
  expect(
    read('{ a/b: { kind: embeddings, context_window: 512, dimensions: 384, upstreams: [local] } }').get('a/b'),
  ).toMatchObject({
    kind: 'embeddings',
    contextWindow: 512,
    maxOutputTokens: 0,
    dimensions: 384,
    flexibleDimensions: false,
    capabilities: { tools: false, vision: false, pdf: false, structuredOutputs: false, streaming: false },
    pricing: { inputNanoUsd: 0, outputNanoUsd: 0 },
  })
})

test.each([
  ['kind: embeddings', 'dimensions is needed: how many numbers its embeddings have.'],
  ['kind: embeddings, dimensions: 4, max_output_tokens: 5', 'max_output_tokens is for models of kind chat.'],
  ['kind: embeddings, dimensions: 4, capabilities: []', 'capabilities is for models of kind chat.'],
  [
    'kind: embeddings, dimensions: 4, pricing: { input: "1", output: "2" }',
    'pricing.output is for models of kind chat: embeddings cost input only.',
  ],
  ['dimensions: 4', 'dimensions is for models of kind embeddings.'],
  ['pricing: { input: "1" }', 'pricing.output is needed.'],
])('an entry with %s is refused with a sentence', (entry, sentence) => {
  expect(problems(`{ a/b: { context_window: 512, upstreams: [local], ${entry} } }`)).toEqual([
    `BERTH_MODELS_FILE: models.a/b.${sentence}`,
  ])
})

test('other wrong entries are refused too', () => {
  const entry = 'context_window: 512, dimensions: 4, kind: embeddings'
  expect(problems(`{ a/b: { ${entry}, upstreams: [signed] } }`)).toEqual([
    'BERTH_MODELS_FILE: models.a/b.upstreams names signed, whose kind anthropic has no embeddings.',
  ])
  expect(problems('{ a/b: { kind: images, context_window: 512, upstreams: [local] } }')).toEqual([
    'BERTH_MODELS_FILE: models.a/b.kind must be one of chat, embeddings.',
  ])
  expect(problems(`{ a/b: { context_window: 512, kind: embeddings, dimensions: 0, upstreams: [local] } }`)).toEqual([
    'BERTH_MODELS_FILE: models.a/b.dimensions must be at least 1.',
  ])
})

describe('the built-in model', () => {
  const { signal } = new AbortController()
  const vectorsOf = async (...inputs: (string | number[])[]): Promise<readonly Float32Array[]> =>
    (
      await askForEmbeddings(
        'demo',
        targetOf({ url: '' }),
        { inputs, dimensions: 256, isShortened: false, user: null },
        signal,
      )
    ).vectors
  const nearness = (one: Float32Array, other: Float32Array): number =>
    one.reduce((sum, number, at) => sum + number * (other[at] ?? 0), 0)

  test('gives texts that share words vectors that are near each other, and the same text the same vector', async () => {
    const [boat, boats, tea, again] = await vectorsOf('A red boat', 'two red boats', 'Cups of tea', 'A red boat')
    expect(again).toEqual(boat)
    expect(nearness(boat!, boats!)).toBeGreaterThan(nearness(boat!, tea!) + 0.2)
    expect(nearness(boat!, boat!)).toBeCloseTo(1, 5)
  })

  test('has a vector of length 1 for anything: signs, other scripts, tokens, a very long text', async () => {
    const [signs, greek, tokens, long] = await vectorsOf('?!', 'καλημέρα κόσμε', [1, 2, 3], 'word '.repeat(1_000_000))
    for (const vector of [signs, greek, tokens, long]) expect(nearness(vector!, vector!)).toBeCloseTo(1, 5)
  })

  test('ends when nobody waits any more', async () => {
    const gone = AbortSignal.abort(new Error('left'))
    const inputs = Array.from({ length: 2048 }, () => 'word '.repeat(1000))
    await expect(
      askForEmbeddings('demo', targetOf({ url: '' }), { inputs, dimensions: 8, isShortened: true, user: null }, gone),
    ).rejects.toThrow('left')
  })
})

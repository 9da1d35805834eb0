/** Embeddings of an upstream in OpenAI's format: what is sent, and answers that are wrong. */
import { afterEach, describe, expect, test } from 'vitest'
import { askForEmbeddings } from '#src/drivers/models/embeddings.ts'
import { mockOfFile, type MockAnswer } from '../../support/mock-upstream.ts'
import { secretKey, targetOf } from '../../support/model-questions.ts'

const mock = await mockOfFile()
afterEach(() => mock.forget())

const request = { inputs: ['Hello there'], dimensions: 4, isShortened: false, user: null }
const ask = (
  changes: Partial<Parameters<typeof askForEmbeddings>[2]> = {},
  kind: 'openai' | 'openai-compatible' = 'openai-compatible',
): ReturnType<typeof askForEmbeddings> =>
  askForEmbeddings(kind, targetOf(mock), { ...request, ...changes }, new AbortController().signal)
const json = (body: unknown): MockAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const one = (embedding: unknown, index = 0): object => ({ index, embedding })
const packed = Buffer.from(new Float32Array([1, 2, 3, 4]).buffer).toString('base64')

describe('a request', () => {
  test('has the key, the inputs and what was wanted, and nothing else', async () => {
    await ask()
    expect(mock.requests[0]).toMatchObject({
      path: '/v1/embeddings',
      headers: { authorization: `Bearer ${secretKey}` },
    })
    expect(mock.requests[0]?.body).toEqual({ model: 'mock', input: ['Hello there'] })
    await ask({ isShortened: true, user: 'u1' }, 'openai')
    expect(mock.requests[1]?.body).toEqual({
      model: 'mock',
      input: ['Hello there'],
      encoding_format: 'base64',
      dimensions: 4,
      user: 'u1',
    })
  })

  test('takes numbers and base64, with and without places, and counts what is not counted', async () => {
    for (const data of [[one([1, 2, 3, 4])], [one(packed)], [{ embedding: packed }]]) {
      mock.script(json({ data, usage: { prompt_tokens: 0 } }))
      const { vectors, inputTokens } = await ask({}, 'openai')
      expect([[...(vectors[0] ?? [])], inputTokens]).toEqual([[1, 2, 3, 4], 3])
    }
  })
})

test.each<[string, MockAnswer]>([
  ['fewer embeddings than inputs', json({ data: [] })],
  ['more embeddings than inputs', json({ data: [one(packed), one(packed, 1)] })],
  ['nothing', json({})],
  ['a list', json([1])],
  ['an embedding of another length', json({ data: [one([1, 2, 3])] })],
  ['words', json({ data: [one(['a', 'b', 'c', 'd'])] })],
  ['numbers that are too large', json({ data: [one([1e300, 0, 0, 0])] })],
  ['numbers that are none', json({ data: [one(Buffer.alloc(16, 255).toString('base64'))] })],
  ['text that is not base64', json({ data: [one('****')] })],
  ['half a number', json({ data: [one('AAAAAAA=')] })],
  ['an embedding for an input that is not there', json({ data: [one(packed, 1)] })],
  ['text', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }],
  ['what is not JSON', { status: 200, headers: { 'content-type': 'application/json' }, body: '{"data":' }],
  ['an error under a success', json({ error: { message: 'oops' } })],
])('%s for an answer is an error of the provider', async (_what, answer) => {
  mock.script(answer)
  await expect(ask()).rejects.toMatchObject({ code: 'upstream_error', details: { upstream: 'mock' } })
})

test('two embeddings of one input are an error of the provider', async () => {
  mock.script(json({ data: [one(packed), one(packed)] }))
  await expect(ask({ inputs: ['a', 'b'] })).rejects.toMatchObject({ code: 'upstream_error' })
})

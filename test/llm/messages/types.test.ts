/** What Anthropic's client declares of messages, their streams and their counts, held against what the gateway answers. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anthropicTypes } from '../../support/declared-types.ts'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

const plain = anthropicTypes(['../messages/messages'])
const beta = anthropicTypes(['messages/messages', '../messages/messages', 'beta'])
const problems = (value: unknown, type: string): string[] => [
  ...plain.problems(value, type),
  ...beta.problems(value, `Beta${type}`),
]

let world: ChatWorld
let client: Anthropic
beforeAll(async () => {
  world = await startChatWorld()
  client = new Anthropic({ baseURL: `${world.berth.url}/anthropic`, apiKey: world.key, authToken: null, maxRetries: 0 })
})
afterAll(() => world?.stop())

const tools: Anthropic.Tool[] = [{ name: 'weather', description: 'x', input_schema: { type: 'object' } }]
const asked = {
  max_tokens: 4096,
  messages: [{ role: 'user', content: 'Hello' }],
  tools,
  thinking: { type: 'enabled', budget_tokens: 1024 },
} satisfies Omit<Anthropic.MessageCreateParamsNonStreaming, 'model'>
const script = {
  parts: [
    { reasoning: 'Hm.', signature: 'c2ln' },
    { text: 'One.' },
    { tool: 'weather', id: 't1', arguments: '{"city":"Bern"}' },
  ],
  cacheReadTokens: 2,
  cacheWriteTokens: 1,
}
const models = ['test/signed', 'test/sealed'] // Anthropic's format, OpenAI's responses

test.each(models)('an answer of %s is exactly what the types say, also that of the beta', async (model) => {
  world.mock.script(script)
  const answer = await client.messages.create({ ...asked, model })
  expect(answer.content.map(({ type }) => type)).toEqual(expect.arrayContaining(['text', 'tool_use']))
  expect(problems(answer, 'Message')).toEqual([])
  world.mock.script(script)
  expect(beta.problems(await client.beta.messages.create({ ...asked, model }), 'BetaMessage')).toEqual([])
})

test.each(models)('each event of a stream of %s is too', async (model) => {
  world.mock.script(script)
  const kinds = new Set<string>()
  for await (const event of await client.messages.create({ ...asked, model, stream: true })) {
    kinds.add(event.type)
    expect(problems(event, 'RawMessageStreamEvent')).toEqual([])
  }
  expect(kinds.size).toBe(6)
})

test('a count is too', async () => {
  const { messages } = asked
  const count = await client.messages.countTokens({ model: 'berth/demo', messages })
  expect(problems(count, 'MessageTokensCount')).toEqual([])
})

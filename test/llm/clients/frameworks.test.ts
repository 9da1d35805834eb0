/** Frameworks over the gateway, unmodified: LangChain, OpenAI's Agents SDK, and the AI SDK's provider for Anthropic. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage, type AIMessageChunk, type BaseMessage } from '@langchain/core/messages'
import { tool as langTool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { Agent, OpenAIProvider, Runner, tool as agentTool } from '@openai/agents'
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

let world: ChatWorld
let base: string
beforeAll(async () => {
  world = await startChatWorld(undefined, { BERTH_CHAT_JOIN_STREAMS: 'on' })
  base = `${world.berth.url}/llm`
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const demo = 'berth/demo'
const script = '!say Let me look.\n!tool weather {"city":"Rome"}\n!say It is done.'
const city = z.object({ city: z.string() })
const sunny = ({ city: name }: { city: string }): string => `sunny in ${name}`

describe('LangChain', () => {
  const chats = {
    'chat completions': () =>
      new ChatOpenAI({ model: demo, apiKey: world.key, configuration: { baseURL: `${base}/v1` }, maxRetries: 0 }),
    responses: () =>
      new ChatOpenAI({
        model: demo,
        apiKey: world.key,
        configuration: { baseURL: `${base}/v1` },
        useResponsesApi: true,
        maxRetries: 0,
      }),
    messages: () =>
      new ChatAnthropic({ model: demo, apiKey: world.key, anthropicApiUrl: base, maxTokens: 4096, maxRetries: 0 }),
  }
  const weather = langTool(sunny, { name: 'weather', description: 'The weather of a city.', schema: city })

  test.each(Object.entries(chats))('calls tools over two turns, whole and streamed: %s', async (_name, make) => {
    for (const isStreamed of [false, true]) {
      const model = make().bindTools([weather])
      const ask = async (messages: BaseMessage[]): Promise<AIMessageChunk> => {
        if (!isStreamed) return model.invoke(messages)
        let whole: AIMessageChunk | undefined
        for await (const chunk of await model.stream(messages)) whole = whole ? whole.concat(chunk) : chunk
        return whole!
      }
      const messages: BaseMessage[] = [new HumanMessage(script)]
      const first = await ask(messages)
      expect(first.text).toContain('Let me look.')
      const [call] = first.tool_calls ?? []
      expect(call).toMatchObject({ name: 'weather', args: { city: 'Rome' } })
      messages.push(first, (await weather.invoke({ ...call!, type: 'tool_call' })) as ToolMessage)
      const second = await ask(messages)
      expect(second.text).toContain('It is done.')
      expect(second.usage_metadata?.output_tokens).toBeGreaterThan(0)
    }
  })

  test('embeds documents and a query', async () => {
    const embeddings = new OpenAIEmbeddings({
      model: 'berth/demo-embeddings',
      apiKey: world.key,
      configuration: { baseURL: `${base}/v1` },
      dimensions: 64,
      maxRetries: 0,
    })
    const vectors = await embeddings.embedDocuments(['A red boat', 'Taxes'])
    const asked = await embeddings.embedQuery('red boats')
    const near = (vector: number[]): number => vector.reduce((sum, one, at) => sum + one * (asked[at] ?? 0), 0)
    expect(near(vectors[0]!)).toBeGreaterThan(near(vectors[1]!))
    expect(asked).toHaveLength(64)
  })
})

describe('OpenAI’s Agents SDK', () => {
  const weather = agentTool({
    name: 'weather',
    description: 'x',
    parameters: city,
    execute: async (given) => sunny(given),
  })
  const runnerOf = (useResponses: boolean): Runner =>
    new Runner({
      modelProvider: new OpenAIProvider({
        openAIClient: new OpenAI({ apiKey: world.key, baseURL: `${base}/v1`, maxRetries: 0 }),
        useResponses,
      }),
      tracingDisabled: true,
    })

  test.each([
    ['responses', true],
    ['chat completions', false],
  ])('runs an agent with a tool, whole and streamed: %s', async (_name, useResponses) => {
    const agent = new Agent({
      name: 'Weather',
      instructions: 'Be short.',
      model: demo,
      tools: [weather],
    })
    const whole = await runnerOf(useResponses).run(agent, script)
    expect(whole.finalOutput).toContain('It is done.')
    expect(JSON.stringify(whole.history)).toContain('sunny in Rome')
    const streamed = await runnerOf(useResponses).run(agent, script, { stream: true })
    let text = ''
    for await (const piece of streamed.toTextStream()) text += piece
    await streamed.completed
    expect(text).toMatch(/Let me look\.[^]*It is done\./)
  })

  test('hands over to another agent, which answers in JSON of its schema', async () => {
    const second = new Agent({ name: 'Second', model: demo, outputType: city })
    const first = Agent.create({ name: 'First', model: demo, handoffs: [second] })
    const told = await runnerOf(true).run(first, '!tool transfer_to_Second {}')
    expect(told.lastAgent?.name).toBe('Second')
    expect(told.finalOutput).toMatchObject({ city: expect.any(String) })
  })
})

describe('the AI SDK’s provider for Anthropic', () => {
  const model = (id = demo): ReturnType<ReturnType<typeof createAnthropic>> =>
    createAnthropic({ baseURL: `${base}/v1`, apiKey: world.key })(id)
  const tools = { weather: tool({ inputSchema: city, execute: sunny }) }
  const thinking = { anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1024 } } }

  test('generates text over two steps, with a tool and its thinking replayed', async () => {
    const { text, steps } = await generateText({
      model: model(),
      prompt: `!reason I think.\n${script}`,
      tools,
      stopWhen: isStepCount(5),
      providerOptions: thinking,
    })
    expect(text).toContain('It is done.')
    expect(steps).toHaveLength(2)
    expect(steps[0]?.toolResults[0]?.output).toBe('sunny in Rome')
    expect(steps[0]?.reasoningText).toContain('I think.')
  })

  test('streams the same', async () => {
    const streamed = streamText({
      model: model(),
      prompt: `!reason I think.\n${script}`,
      tools,
      stopWhen: isStepCount(5),
      providerOptions: thinking,
    })
    let text = ''
    for await (const piece of streamed.textStream) text += piece
    expect(text).toMatch(/Let me look\.[^]*It is done\./)
    expect(await streamed.finishReason).toBe('stop')
    expect((await streamed.totalUsage).outputTokens).toBeGreaterThan(0)
  })

  test.each(['test/signed', 'test/sealed'])('sends the thinking of %s back as it came', async (id) => {
    world.mock.script({
      parts: [
        { reasoning: ['I ', 'think.'], id: 'rs_1', signature: 'c2ln', encrypted: 'ZW5j' },
        { tool: 'weather', id: 'toolu_1', arguments: '{"city":"Rome"}' },
      ],
      finish: 'tool_calls',
    })
    const streamed = streamText({
      model: model(id),
      prompt: 'Weather?',
      tools,
      stopWhen: isStepCount(2),
      providerOptions: thinking,
    })
    await streamed.consumeStream()
    const sent = world.mock.requests[1]?.bodyText ?? ''
    if (id === 'test/signed') expect(sent).toContain('"thinking":"I think.","signature":"c2ln"')
    else expect(sent).toContain('"encrypted_content":"ZW5j"')
    expect(sent).toContain('sunny in Rome')
  })

  test('answers in an object of a schema, and caches what it is told to cache', async () => {
    const schema = jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    })
    const { output } = await generateText({
      model: model(),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where?', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
          ],
        },
      ],
      output: Output.object({ schema }),
    })
    expect(output).toMatchObject({ city: expect.any(String) })
  })

  test('is shown an error before the stream, and one in it', async () => {
    await expect(generateText({ model: model('absent'), prompt: 'x', maxRetries: 0 })).rejects.toMatchObject({
      statusCode: 400,
      message: expect.stringContaining('no such model'),
    })
    world.mock.script({ parts: [{ text: 'half' }, { cut: true }] })
    const errors: unknown[] = []
    const streamed = streamText({
      model: model('test/plain'),
      prompt: 'x',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    let text = ''
    for await (const piece of streamed.textStream) text += piece
    expect(text).toBe('half')
    expect(JSON.stringify(errors)).toContain('upstream')
  })
})

describe('the AI SDK’s provider for OpenAI, by chat completions', () => {
  test('generates and streams text with a tool', async () => {
    const model = createOpenAI({ baseURL: `${base}/v1`, apiKey: world.key }).chat(demo)
    const body = {
      model,
      prompt: script,
      tools: { weather: tool({ inputSchema: city, execute: sunny }) },
      stopWhen: isStepCount(5),
    }
    const { text, steps } = await generateText(body)
    expect([text.includes('It is done.'), steps.length]).toEqual([true, 2])
    let streamedText = ''
    for await (const piece of streamText(body).textStream) streamedText += piece
    expect(streamedText).toContain('It is done.')
  })
})

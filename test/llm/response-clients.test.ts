/** OpenAI's own client and the AI SDK's provider for it, unmodified, against `/v1/responses`: whole, streamed, with tools, reasoning and images. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
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

type Input = OpenAI.Responses.ResponseInputItem[]
type Event = OpenAI.Responses.ResponseStreamEvent
const demo = 'berth/demo'
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
}
const tools = [weather]
const pixel = 'data:image/png;base64,iVBORw0KGgo='

/** What came, to be sent back as it is. */
const itemsOf = ({ output }: OpenAI.Responses.Response): Input => output as Input // the client's type has kinds of items that we never send

async function collect(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('a response', () => {
  test('is whole', async () => {
    const answer = await client.responses.create({
      model: demo,
      input: '!say Hello from the script',
      instructions: 'x',
    })
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-z]{26}$/),
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      instructions: 'x',
      store: false,
      output: [{ type: 'message', role: 'assistant', status: 'completed' }],
    })
    expect(answer.output_text).toContain('Hello from the script')
    expect(answer.usage?.total_tokens).toBe((answer.usage?.input_tokens ?? 0) + (answer.usage?.output_tokens ?? 0))
    expect(answer._request_id).toMatch(/^req_/)
  })

  test('is streamed, its events numbered, and as the client’s own helper puts it together', async () => {
    const input = '!reason I think.\n!repeat 5 word '
    const body = { model: demo, input, reasoning: { effort: 'low' as const } }
    const events = await collect(await client.responses.create({ ...body, stream: true }))
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()])
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.completed',
    ])
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []))
    const helped = await client.responses.stream(body).finalResponse()
    expect(deltas.join('')).toBe(helped.output_text)
    expect(helped.output_text.match(/word/g)).toHaveLength(5)
    expect(helped.output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
    const whole = await client.responses.create(body)
    expect(whole.output_text).toBe(helped.output_text)
  })

  test.each([true, false])('calls functions and goes on with their outputs (streamed: %s)', async (isStreamed) => {
    const ask = (input: Input): Promise<OpenAI.Responses.Response> =>
      isStreamed
        ? client.responses.stream({ model: demo, input, tools }).finalResponse()
        : client.responses.create({ model: demo, input, tools })
    const input: Input = [
      {
        role: 'user',
        content:
          '!say Let me look.\n!tool weather {"city":"Rome"}\n!tool+ weather {"city":"Oslo"}\n!say Both are sunny.',
      },
    ]
    const first = await ask(input)
    expect(first.output.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call'])
    const calls = first.output.filter((item) => item.type === 'function_call')
    expect(calls.map((call) => [call.name, call.arguments])).toEqual([
      ['weather', '{"city":"Rome"}'],
      ['weather', '{"city":"Oslo"}'],
    ])
    input.push(...itemsOf(first))
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'sunny' })
    const second = await ask(input)
    expect([second.status, second.output_text.includes('Both are sunny.')]).toEqual(['completed', true])
  })

  test('answers in JSON of a schema, as the client parses it', async () => {
    const format = {
      type: 'json_schema' as const,
      name: 'city',
      schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    }
    const answer = await client.responses.parse({ model: demo, input: 'Where?', text: { format } })
    expect(answer.output_parsed).toMatchObject({ city: expect.any(String) })
    await client.responses.create({ model: 'test/sealed', input: 'Where?', text: { format, verbosity: 'low' } })
    expect(world.mock.requests[0]?.body['text']).toMatchObject({ format, verbosity: 'low' })
  })

  test('that reaches its limit is incomplete, and says so', async () => {
    const answer = await client.responses.create({ model: demo, input: '!repeat 100 word ', max_output_tokens: 5 })
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', status: 'incomplete' }],
    })
    const last = (
      await collect(
        await client.responses.create({ model: demo, input: '!repeat 100 word ', max_output_tokens: 5, stream: true }),
      )
    ).at(-1)
    expect(last?.type).toBe('response.incomplete')
  })
})

describe('reasoning', () => {
  /** Asks twice: the second time with all that came the first time, and the result of the call. */
  async function replay(model: string, isStreamed: boolean): Promise<OpenAI.Responses.Response[]> {
    const ask = (input: Input): Promise<OpenAI.Responses.Response> => {
      const body = { model, input, tools, reasoning: { effort: 'high' as const }, include: [encrypted] }
      return isStreamed ? client.responses.stream(body).finalResponse() : client.responses.create(body)
    }
    const input: Input = [{ role: 'user', content: '!reason First I think.\n!tool weather {}\n!say Done.' }]
    const first = await ask(input)
    const call = first.output.find((item) => item.type === 'function_call')
    input.push(...itemsOf(first), { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny' })
    return [first, await ask(input)]
  }
  const encrypted = 'reasoning.encrypted_content' as const

  test.each([true, false])('of the built-in model is replayed (streamed: %s)', async (isStreamed) => {
    const [first, second] = await replay(demo, isStreamed)
    expect(first?.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: expect.stringContaining('First I think.') }],
      encrypted_content: expect.any(String),
    })
    expect(second?.output_text).toContain('Done.')
  })

  test.each([true, false])('of Anthropic’s format goes back with its signature (streamed: %s)', async (isStreamed) => {
    world.mock.script({
      parts: [
        { redacted: 'aGlkZGVu' },
        { reasoning: ['Let me ', 'look.'], signature: 'c2ln' },
        { text: 'One moment.' },
        { tool: 'weather', id: 'toolu_1', arguments: '{"city":"Rome"}' },
      ],
      finish: 'tool_calls',
    })
    await replay('test/signed', isStreamed)
    expect(world.mock.requests[1]?.body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'redacted_thinking', data: 'aGlkZGVu' },
          { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
          { type: 'text', text: 'One moment.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ])
  })

  test.each([true, false])('of OpenAI’s format goes back as it was (streamed: %s)', async (isStreamed) => {
    world.mock.script({
      parts: [
        { reasoning: 'Hm.', id: 'rs_9', encrypted: 'ZW5j' },
        { tool: 'weather', id: 'call_1', arguments: '{}' },
      ],
      finish: 'tool_calls',
    })
    await replay('test/sealed', isStreamed)
    expect(world.mock.requests[1]?.body['input']).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', id: 'rs_9', encrypted_content: 'ZW5j', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
    ])
    expect(world.mock.requests[0]?.body['reasoning']).toEqual({ effort: 'high', summary: 'auto' })
  })

  test('of another model is refused before anything is sent', async () => {
    world.mock.script({ parts: [{ reasoning: 'Hm.', id: 'rs_9', encrypted: 'ZW5j' }, { text: 'One.' }] })
    const first = await client.responses.create({ model: 'test/sealed', input: 'Count' })
    await expect(
      client.responses.create({ model: 'test/signed', input: [...itemsOf(first), { role: 'user', content: 'On' }] }),
    ).rejects.toMatchObject({ status: 400, code: 'reasoning_model_mismatch' })
    expect(world.mock.requests).toHaveLength(1)
  })
})

describe('what a user sends', () => {
  test('reaches every format: text, images, files, and images from a function', async () => {
    const input: Input = [
      { role: 'developer', content: 'Be short.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: pixel, detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
        ],
      },
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'sunny' },
          { type: 'input_image', image_url: pixel },
        ],
      },
    ]
    for (const model of ['test/sealed', 'test/signed', 'test/plain'])
      await client.responses.create({ model, input, tools, instructions: 'Be kind.' })
    const [sealed, signed, plain] = world.mock.requests.map(({ body }) => body)
    expect(sealed?.['input']).toMatchObject([
      { role: 'system', content: 'Be kind.' },
      { role: 'system', content: 'Be short.' },
      { content: [{ text: 'Look' }, { type: 'input_image', image_url: pixel, detail: 'low' }, { type: 'input_file' }] },
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call' },
      { type: 'function_call_output', output: [{ text: 'sunny' }, { type: 'input_image', image_url: pixel }] },
    ])
    expect(JSON.stringify(signed)).toContain('"type":"image"')
    expect(plain?.['messages']).toMatchObject([
      { role: 'system' },
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'c1' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      { role: 'user' },
    ])
  })
})

describe('an error', () => {
  test('after the first event is thrown in the middle of the stream', async () => {
    const broken = { parts: [{ text: 'half' }, { cut: true as const }] }
    world.mock.script(broken, broken)
    let text = ''
    const reading = (async () => {
      for await (const event of await client.responses.create({ model: 'test/plain', input: 'x', stream: true }))
        if (event.type === 'response.output_text.delta') text += event.delta
    })()
    await expect(reading).rejects.toMatchObject({ code: 'upstream_error', type: 'api_error' })
    expect(text).toBe('half')
    await expect(client.responses.stream({ model: 'test/plain', input: 'x' }).finalResponse()).rejects.toMatchObject({
      code: 'upstream_error',
    })
  })

  test('before it is thrown as the class that the client has for it', async () => {
    const refused = (body: object): Promise<unknown> => client.responses.create({ model: demo, input: 'x', ...body })
    await expect(refused({ previous_response_id: 'resp_1' })).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    await expect(refused({ model: 'test/dear' })).rejects.toMatchObject({ status: 402, code: 'insufficient_credits' })
    await expect(client.responses.retrieve('resp_1')).rejects.toThrow('Responses are not stored')
  })
})

describe('the AI SDK', () => {
  const model = (id: string): ReturnType<ReturnType<typeof createOpenAI>> =>
    createOpenAI({ baseURL: `${world.berth.url}/llm/v1`, apiKey: world.key })(id)
  const stateless = { openai: { store: false, forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto' } }
  const city = jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } })
  const ownTools = { weather: tool({ inputSchema: city, execute: ({ city: name }) => `sunny in ${name}` }) }
  const prompt = '!reason I think.\n!say Let me look.\n!tool weather {"city":"Rome"}\n!say It is done.'

  test('generates text over two steps, with a tool and its reasoning replayed', async () => {
    const { text, steps } = await generateText({
      model: model(demo),
      prompt,
      tools: ownTools,
      stopWhen: isStepCount(5),
      providerOptions: stateless,
    })
    expect(text).toContain('It is done.')
    expect(steps).toHaveLength(2)
    expect(steps[0]?.toolResults[0]?.output).toBe('sunny in Rome')
    expect(steps[0]?.reasoningText).toContain('I think.')
  })

  test('streams the same', async () => {
    const streamed = streamText({
      model: model(demo),
      prompt,
      tools: ownTools,
      stopWhen: isStepCount(5),
      providerOptions: stateless,
    })
    let text = ''
    for await (const piece of streamed.textStream) text += piece
    expect(text).toMatch(/Let me look\.[^]*It is done\./)
    expect(await streamed.finishReason).toBe('stop')
    expect((await streamed.totalUsage).outputTokens).toBeGreaterThan(0)
  })

  test('is told what to set when it refers to stored items', async () => {
    const asking = generateText({
      model: model(demo),
      prompt,
      tools: ownTools,
      stopWhen: isStepCount(5),
      maxRetries: 0,
    })
    await expect(asking).rejects.toThrow('store: false')
  })
})

// An agent that runs on this machine and has a tool of its own, by OpenAI's Agents SDK. Needs KEY.
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'

const { SERVER_URL = 'http://localhost:4000', KEY } = process.env
setDefaultOpenAIClient(new OpenAI({ baseURL: `${SERVER_URL}/llm/v1`, apiKey: KEY }))
setTracingDisabled(true) // traces would go to OpenAI
const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}.`,
})
const agent = new Agent({ name: 'Guide', instructions: 'Be short.', model: 'berth/demo', tools: [weather] })
const running = await run(agent, '!tool weather {"city": "Rome"}\n!say Hello! Take no umbrella.', { stream: true })
for await (const piece of running.toTextStream()) process.stdout.write(piece)
await running.completed
process.stdout.write('\n')

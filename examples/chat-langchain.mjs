// A tool that the model calls, and the nearest of two texts, by LangChain. Needs KEY.
import { HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { z } from 'zod'

const { SERVER_URL = 'http://localhost:4000', KEY } = process.env
const settings = { apiKey: KEY, configuration: { baseURL: `${SERVER_URL}/llm/v1` } }
const weather = tool(({ city }) => `Sunny in ${city}.`, {
  name: 'weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
})
const model = new ChatOpenAI({ ...settings, model: 'berth/demo', useResponsesApi: true }).bindTools([weather])
const messages = [new HumanMessage('!tool weather {"city": "Rome"}\n!say Hello! Take no umbrella.')]
const first = await model.invoke(messages)
const results = await Promise.all(first.tool_calls.map((call) => weather.invoke(call)))
for await (const piece of await model.stream([...messages, first, ...results])) process.stdout.write(piece.text)

const embeddings = new OpenAIEmbeddings({ ...settings, model: 'berth/demo-embeddings' })
const [question, ...answers] = await embeddings.embedDocuments(['red boats', 'Taxes are due', 'A red boat'])
const nearness = answers.map((answer) => answer.reduce((sum, one, at) => sum + one * question[at], 0))
process.stdout.write(`\nnearest: ${nearness[0] > nearness[1] ? 'Taxes are due' : 'A red boat'}\n`)

// A streamed chat by OpenAI's SDK, with the model's reasoning. Needs KEY.
import OpenAI from 'openai'

const { SERVER_URL = 'http://localhost:4000', KEY } = process.env
const client = new OpenAI({ baseURL: `${SERVER_URL}/llm/v1`, apiKey: KEY })
const stream = await client.chat.completions.create({
  model: 'berth/demo',
  stream: true,
  reasoning_effort: 'low',
  messages: [{ role: 'user', content: 'Hello!' }],
})
for await (const chunk of stream) {
  const { reasoning_content: thought, content } = chunk.choices[0]?.delta ?? {}
  process.stdout.write(thought ?? content ?? '')
}
process.stdout.write('\n')

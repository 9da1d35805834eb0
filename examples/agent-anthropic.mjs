// An agent with a tool that runs here, driven by Anthropic's SDK. Needs TOKEN: sessions are a person's, not a key's.
import Anthropic from '@anthropic-ai/sdk'

const { SERVER_URL = 'http://localhost:4000', TOKEN } = process.env
const client = new Anthropic({ baseURL: `${SERVER_URL}/agents`, apiKey: null, authToken: TOKEN })

const agent = await client.beta.agents.create({
  name: 'greeter',
  model: 'berth/demo',
  tools: [
    {
      type: 'custom',
      name: 'clock',
      description: 'Tells the time.',
      input_schema: { type: 'object', properties: { zone: { type: 'string' } } },
    },
  ],
})
const environment = await client.beta.environments.create({ name: `nowhere-${agent.id}`, config: { type: 'self_hosted' } })
const session = await client.beta.sessions.create({ agent: agent.id, environment_id: environment.id })
const events = await client.beta.sessions.events.stream(session.id)
const send = (event) => client.beta.sessions.events.send(session.id, { events: [event] })

// The built-in model follows a script; any other model would be told in words.
const text = 'What time is it?\n!tool clock {"zone": "UTC"}\n!say Now you know.'
await send({ type: 'user.message', content: [{ type: 'text', text }] })

for await (const event of events) {
  if (event.type === 'agent.message') for (const block of event.content) console.log(`agent: ${block.text}`)
  if (event.type === 'agent.custom_tool_use') {
    console.log(`${event.name} is asked for: ${JSON.stringify(event.input)}`)
    const now = [{ type: 'text', text: new Date().toISOString() }]
    await send({ type: 'user.custom_tool_result', custom_tool_use_id: event.id, content: now })
  }
  if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') break
}

// A sandbox, a chat and an agent by typed clients of the three REST services. Needs TOKEN and KEY; generate.mjs first.
import createClient from 'openapi-fetch'
import { eventsOf } from './events.ts'
import type { components as Agents, paths as AgentsPaths } from './generated/agents.ts'
import type { paths as InfraPaths } from './generated/infra.ts'
import type { components as Llm, operations as LlmOperations, paths as LlmPaths } from './generated/llm.ts'

type ChatEvent = LlmOperations['createChatCompletion']['responses'][200]['content']['text/event-stream']

const { SERVER_URL = 'http://localhost:4000', TOKEN = '', KEY = '' } = process.env
const as = (credential: string) => ({ Authorization: `Bearer ${credential}` })
const infra = createClient<InfraPaths>({ baseUrl: SERVER_URL, headers: as(TOKEN) })
const agents = createClient<AgentsPaths>({ baseUrl: `${SERVER_URL}/agents`, headers: as(TOKEN) })
const llm = createClient<LlmPaths>({ baseUrl: `${SERVER_URL}/llm`, headers: as(KEY) })

async function sandbox(): Promise<void> {
  const { data, error } = await infra.POST('/api/v1/vms/sandbox', {
    body: { language: 'python', code: 'print(sum(range(10)))', ttl: 60 },
  })
  if (!data) throw new Error(error.message)
  console.log(`sandbox: ${data.command.stdout.trim()}`)
}

async function chat(): Promise<void> {
  const body: Llm['schemas']['CreateChatCompletionInput'] = {
    model: 'berth/demo',
    stream: true,
    messages: [{ role: 'user', content: 'Hello!' }],
  }
  const { data, error } = await llm.POST('/v1/chat/completions', { body, parseAs: 'stream' })
  if (!data) throw new Error(error?.error.message)
  let said = ''
  for await (const event of eventsOf<ChatEvent>(data)) {
    if ('error' in event) throw new Error(event.error.message)
    said += event.choices[0]?.delta.content ?? ''
  }
  console.log(`chat: ${said}`)
}

async function agent(): Promise<void> {
  const input = '!tool bash {"command": "uname -s"}\n!say That is my machine.'
  const run = await agents.POST('/v1/runs', { body: { mode: 'computer', input } })
  if (!run.data) throw new Error(run.error.error.message)
  const { data, error } = await agents.GET('/v1/sessions/{id}/events/stream', {
    params: { path: { id: run.data.session_id }, query: { replay: true } },
    parseAs: 'stream',
  })
  if (!data) throw new Error(error?.error.message)
  for await (const event of eventsOf<Agents['schemas']['SessionStreamEvent']>(data)) {
    if (event.type === 'agent.message') for (const { text } of event.content) console.log(`agent: ${text}`)
    if (event.type === 'agent.tool_result')
      for (const block of event.content) if (block.type === 'text') console.log(`tool: ${block.text.trim()}`)
    if (event.type === 'session.error') console.log(`error: ${event.error.message}`)
    if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') return
  }
}

// All three, or those that are named: rest.ts chat
const parts = { sandbox, chat, agent }
const named = process.argv.slice(2)
for (const [name, part] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await part()

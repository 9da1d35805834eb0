// A sandbox, a chat and an agent by a typed client of GraphQL, over a web socket. Needs TOKEN; generate.mjs first.
import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import { print } from 'graphql'
import { createClient } from 'graphql-ws'
import { ChatDocument, FollowSessionDocument, RunSandboxDocument, StartRunDocument } from './generated/graphql.ts'

const { SERVER_URL = 'http://localhost:4000', TOKEN = '' } = process.env
const client = createClient({
  url: `${SERVER_URL.replace(/^http/, 'ws')}/graphql`,
  connectionParams: { authorization: `Bearer ${TOKEN}` },
})

/** What an operation answers: once, or again and again where it is a subscription. @throws what it was refused with. */
async function* answersTo<Data, Variables extends Record<string, unknown>>(
  operation: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): AsyncGenerator<Data> {
  for await (const { data, errors } of client.iterate<Data>({ query: print(operation), variables })) {
    if (errors) throw new Error(errors.map(({ message }) => message).join(' '))
    if (data) yield data
  }
}

async function sandbox(): Promise<void> {
  const input = { language: 'python', code: 'print(sum(range(10)))', ttlSeconds: 60 }
  for await (const { runSandbox } of answersTo(RunSandboxDocument, { input }))
    console.log(`sandbox: ${runSandbox?.sandbox.command.stdout.trim()}`)
}

async function chat(): Promise<void> {
  const input = { model: 'berth/demo', messages: [{ user: { content: [{ text: 'Hello!' }] } }] }
  let said = ''
  for await (const { chatCompletionEvents: event } of answersTo(ChatDocument, { input }))
    if (event.__typename === 'ChatCompletionEvent') said += event.text ?? ''
  console.log(`chat: ${said}`)
}

async function agent(): Promise<void> {
  const script = '!tool bash {"command": "uname -s"}\n!say That is my machine.'
  for await (const { createRun } of answersTo(StartRunDocument, { input: { mode: 'COMPUTER', input: script } }))
    if (createRun) await follow(createRun.sessionId)
}

async function follow(session: string): Promise<void> {
  for await (const { sessionEvents: emission } of answersTo(FollowSessionDocument, { session })) {
    const event = emission.__typename === 'SessionEmission' ? emission.event : null
    if (event?.__typename === 'AgentMessage') console.log(`agent: ${textOf(event.content)}`)
    if (event?.__typename === 'AgentToolResult') console.log(`tool: ${textOf(event.content)}`)
    if (event?.__typename === 'SessionError') console.log(`error: ${event.error.message}`)
    if (event?.__typename === 'SessionStatusIdle' && event.stopReason?.type === 'END_TURN') return
  }
}

function textOf(content: readonly { text?: string }[]): string {
  return content.map(({ text = '' }) => text.trim()).join('')
}

// All three, or those that are named: graph.ts chat
const parts = { sandbox, chat, agent }
const named = process.argv.slice(2)
for (const [name, part] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await part()

/**
 * Habits of compatible servers and clouds, one file each below `habits/`: what it is, where it is told, the bytes of the
 * answer, and what must come out. Each is asked for in all formats of the gateway and in a session.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { writeModels } from '../chat-makers.ts'
import { askings, askSession, type Outcome } from './habits/readers.ts'

type Habit = { name: string; about: string; model: string; streamed: string; whole: string | undefined; out: Outcome }

const folder = join(import.meta.dirname, 'habits')
/** The model whose upstream speaks the format of a folder. */
const models = { 'chat-completions': 'test/plain', messages: 'test/signed', responses: 'test/sealed' }
const habits = Object.entries(models).flatMap(([format, model]) =>
  readdirSync(join(folder, format)).map((file): Habit => {
    const [head = '', streamed = '', ...rest] = readFileSync(join(folder, format, file), 'utf8').split(/^=== .*\n/m)
    const [about = ''] = head.split('\n')
    return {
      name: `[${format}/${file}]`,
      about,
      model: file.startsWith('gemini') ? 'test/gemini' : model, // its counts are read by its name
      streamed,
      whole: rest.length === 2 ? rest[0] : undefined,
      out: JSON.parse(rest.at(-1) ?? '') as Outcome, // the file's last part has this form
    }
  }),
)

let upstream: Server
let berth: Berth
let token: string
let sessions: AgentSessions
let modelsFolder: string
beforeAll(async () => {
  upstream = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo // it listens on TCP
  modelsFolder = mkdtempSync(join(tmpdir(), 'berth-habits-'))
  berth = await startBerth({
    worker: true,
    settings: {
      BERTH_VMS: 'off',
      BERTH_RATE_LIMIT_FACTOR: '100',
      BERTH_CHAT_JOIN_STREAMS: 'on',
      BERTH_MODELS_FILE: writeModels(modelsFolder, `http://127.0.0.1:${port}`),
    },
  })
  token = await berth.token()
  sessions = agentSessions(berth, token)
})
afterAll(async () => {
  await berth?.stop()
  upstream?.close()
  rmSync(modelsFolder, { recursive: true, force: true })
})

/** Answers as the habit that the request names. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  const habit = habits.find(({ name }) => body.includes(name))
  const isStreamed = (JSON.parse(body) as { stream?: boolean }).stream === true // every upstream is sent an object
  response.setHeader('content-type', isStreamed ? 'text/event-stream' : 'application/json')
  response.end(isStreamed ? habit?.streamed : habit?.whole)
}

async function ask(habit: Habit, way: string): Promise<Outcome> {
  const asking = askings(habit.model, `Answer as ${habit.name}.`)[way]
  if (!asking) throw new Error(`there is no way ${way}`)
  const reply = await fetch(`${berth.url}/llm${asking.path}`, {
    method: 'POST',
    body: JSON.stringify(asking.body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  })
  return asking.read(await reply.text())
}

const streams = ['chat, streamed', 'messages, streamed', 'responses, streamed', 'UI messages', 'chat, joined']
const wholes = ['messages, whole', 'responses, whole']

test.each(habits)('$about: $name', async (habit) => {
  const { out, whole } = habit
  const hasCalls = out.calls !== undefined
  const ways = [...streams, ...(whole ? wholes : []), ...(whole && !hasCalls ? ['chat, whole'] : [])]
  const answers = await Promise.all(ways.map(async (way): Promise<[string, Outcome]> => [way, await ask(habit, way)]))
  if (out.error === undefined)
    answers.push(['session', await askSession(sessions, habit.model, `Answer as ${habit.name}.`)])
  expect(Object.fromEntries(answers)).toEqual(
    Object.fromEntries(answers.map(([way, { usage }]) => [way, expected(out, way, usage)])),
  )
})

/** What must come out in a way: some have no place for reasoning, for the reason of the end, or for a code. */
function expected(out: Outcome, way: string, counted: Outcome['usage']): Outcome {
  if (out.error !== undefined) return { error: way === 'UI messages' ? 'told' : out.error }
  const { reasoning, finish, usage = counted, ...said } = out
  const showsReasoning = reasoning !== undefined && way !== 'session' && way !== 'chat, whole'
  return {
    ...said,
    ...(showsReasoning ? { reasoning } : {}),
    ...(finish !== undefined && way !== 'session' ? { finish } : {}),
    ...(usage ? { usage } : {}),
  }
}

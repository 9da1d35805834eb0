/** The README's first agent as it is printed, and a day with Anthropic's own client, unmodified but for address and token: one VM. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { results, textOf, types, type Event } from './support/agent-sessions.ts'
import { startBerth, type Berth } from './support/berth.ts'
import { until } from './support/until.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const section = /\n## Your first agent\n([^]*?)\n## /.exec(readme)?.[1] ?? ''
const blocks = [...section.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? '')
const turnLimitMs = 200_000

let folder: string
let berth: Berth
let token: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-readme-'))
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
}, 300_000)
afterAll(async () => {
  await berth?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the blocks in one shell, as somebody does who pastes them; answers what each printed. Presses Ctrl-C when a stream says `end_turn`. */
async function paste(printed: readonly string[]): Promise<string[]> {
  const shell = spawn('bash', ['-s'], {
    cwd: folder,
    detached: true,
    env: { ...process.env, TOKEN: token },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => shell.once('exit', resolve))
  let said = ''
  shell.stdout.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  const answers: string[] = []
  shell.stdin.write('trap : INT\n') // an interactive shell outlives Ctrl-C; what it runs does not
  try {
    for (const block of printed) {
      said = ''
      shell.stdin.write(`${block.replaceAll('http://localhost:4000', berth.url)}\necho; echo __done__\n`)
      if (block.includes('/events/stream')) {
        await until(`the stream says end_turn after ${said}`, () => said.includes('"end_turn"'), turnLimitMs)
        process.kill(-(shell.pid ?? NaN), 'SIGINT')
      }
      await until(`this block ends: ${block}`, () => said.includes('__done__'))
      answers.push(said.split('\n__done__')[0] ?? '')
    }
    shell.stdin.end()
    await ended
  } finally {
    shell.kill()
  }
  return answers
}

test('the README’s first agent sees a test fail, fixes it, and shares the transcript', async () => {
  const [, , followed = '', shared = ''] = await paste(blocks)
  const events = followed
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Event)
  const said = results(events)
  expect(said[3]).toMatchObject({
    isError: true,
    text: expect.stringMatching(/AssertionError: 3\.0[^]*\[exit code 1\]/),
  })
  expect(said[4]?.text).toContain('len(values) - 1')
  expect(said.at(-1)).toMatchObject({
    isError: false,
    text: expect.stringMatching(/^passed\n.*Divide by the number of values\n.*Begin$/),
  })
  expect(said).toHaveLength(7)
  expect(textOf(events.findLast(({ type }) => type === 'agent.message'))).toBe(
    'Fixed and committed: a mean divides by the number of values.',
  )
  const transcript = JSON.parse(shared) as { id: string; type: string; data: Record<string, unknown>[] }
  expect(transcript).toMatchObject({ type: 'shared_session', title: 'A failing test', agent: { name: 'fixer' } })
  const tools = transcript.data.filter(({ type }) => String(type).startsWith('agent.tool_'))
  expect(tools).toHaveLength(14)
  for (const tool of tools) expect(Object.keys(tool).sort()).toEqual(['name', 'processed_at', 'type'])
  expect(shared).not.toContain('AssertionError')
  expect((await berth.call('GET', `/agents/v1/sessions/${transcript.id}`)).status).toBe(401)
  expect((await berth.call('GET', `/agents/v1/shared-sessions/${transcript.id}`)).status).toBe(200)
}, 300_000)

test('Anthropic’s client makes all it needs, streams a turn, allows one command, denies another, and lists the log', async () => {
  const client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  const { agents, environments, sessions } = client.beta
  const agent = await agents.create({
    name: 'asker',
    model: 'berth/demo',
    tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] }],
  })
  const environment = await environments.create({ name: 'box', config: { type: 'cloud' } })
  const session = await sessions.create({ agent: agent.id, environment_id: environment.id })
  const stream = await sessions.events.stream(session.id)
  const script =
    '!tool bash {"command": "echo made > ~/made && cat ~/made"}\n!tool bash {"command": "rm ~/made"}\n!tool read {"file_path": "made"}\n!say done'
  await sessions.events.send(session.id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: script }] }],
  })
  const streamed: string[] = []
  const asked: string[][] = []
  for await (const event of stream) {
    streamed.push(event.type)
    if (event.type !== 'session.status_idle') continue
    if (event.stop_reason.type !== 'requires_action') break
    asked.push(event.stop_reason.event_ids)
    const [tool_use_id = ''] = event.stop_reason.event_ids
    await sessions.events.send(session.id, {
      events: [
        {
          type: 'user.tool_confirmation',
          tool_use_id,
          ...(asked.length === 1 ? { result: 'allow' } : { result: 'deny', deny_message: 'keep it' }),
        },
      ],
    })
  }
  expect(asked).toHaveLength(2)
  const log: Event[] = []
  for await (const event of sessions.events.list(session.id, { limit: 5 })) log.push(event as unknown as Event)
  expect(
    log
      .filter(({ type, ...event }) => type === 'agent.tool_use' && event['evaluated_permission'] === 'ask')
      .map(({ id }) => [id]),
  ).toEqual(asked)
  expect(results(log)).toEqual([
    { text: 'made', isError: false },
    { text: 'The user denied this call: keep it', isError: true },
    { text: 'made\n', isError: false },
  ])
  // A queued message is streamed twice: when it comes, and when it is taken.
  const twice = ['user.message', 'user.tool_confirmation']
  expect(streamed.filter((type) => !twice.includes(type))).toEqual(types(log).filter((type) => !twice.includes(type)))
  expect((await sessions.retrieve(session.id)).status).toBe('idle')
}, 300_000)

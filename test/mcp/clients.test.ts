/** Berth's tools by the clients that people have: each lists, makes, asks, follows a cursor, and is refused; and what docs/reference/mcp.md prints. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerCharactersMax } from '#src/mcp/bounds.ts'
import { tools } from '#src/mcp/tools.ts'
import { environmentWith } from '#src/platform/config.ts'
import { agentSessions } from '../support/agent-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeKey } from '../support/makers.ts'
import { paste, shellBlocks } from '../support/paste.ts'
import { inspect, triedClients, type TriedClient } from './clients.ts'

const root = join(import.meta.dirname, '../..')
const page = 'docs/reference/mcp.md'
const limitMs = 120_000

let berth: Berth
let token: string
let agent: string
let env: Record<string, string>
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  agent = await agentSessions(berth, token).agent()
  env = { TOKEN: token, KEY: (await makeKey(berth, token)).key, SERVER_URL: berth.url }
})
afterAll(() => berth?.stop())

describe.each(Object.entries(triedClients))('%s', (_name, connect) => {
  let client: TriedClient
  beforeAll(async () => {
    client = await connect({ berth, credential: token })
  }, limitMs)
  afterAll(() => client?.close())

  const ask = async (name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> => {
    const { isError, text } = await client.call(name, args)
    expect([name, isError, isError ? text : '']).toEqual([name, false, ''])
    expect(text.length).toBeLessThanOrEqual(answerCharactersMax)
    return JSON.parse(text) as Record<string, unknown>
  }

  test('lists every tool, and asks as whoever has the token', { timeout: limitMs }, async () => {
    expect(await client.names()).toEqual(tools.map(({ name }) => name))
    expect(await ask('graphql_query', { query: '{ viewer { user { name } } }' })).toEqual({
      viewer: { user: { name: 'alice' } },
    })
    expect(await ask('list_vms', { first: 5 })).toMatchObject({ vms: [], total: 0 })
  })

  test('begins a session, and reads all of a long transcript by its cursors', { timeout: limitMs }, async () => {
    const messages = [1, 2, 3, 4, 5].map((one) => `${one} ${'word '.repeat(6_000)}`)
    const { id } = await ask('start_session', { agent_id: agent, message: messages[0], title: 'long' })
    for (const message of messages.slice(1)) await ask('send_message', { session_id: id, message })
    await agentSessions(berth, token).rested(String(id))
    const read: string[] = []
    let pages = 0
    for (let after: unknown; pages === 0 || after !== undefined; pages++) {
      const answer = await ask('read_transcript', { session_id: id, first: 50, ...(after ? { after } : {}) })
      const said = (answer['events'] as { type: string; content?: { text: string }[] }[]).filter(
        ({ type }) => type === 'USER_MESSAGE',
      )
      read.push(...said.map(({ content }) => content?.[0]?.text ?? ''))
      after = answer['end_cursor']
    }
    expect(read.toSorted()).toEqual(messages)
    expect(pages).toBeGreaterThan(1)
  })

  test('reads why a call is refused, in a sentence with its code', { timeout: limitMs }, async () => {
    const { isError, text } = await client.call('exec', { vm_id: 'vm_nothing', command: 'id' })
    expect([isError, text]).toEqual([true, expect.stringMatching(/There is no such VM.*\(NOT_FOUND\)/)])
    const changes = await client.call('graphql_query', {
      query: 'mutation { deleteAgent(input: {id: "x"}) { __typename } }',
    })
    expect([changes.isError, changes.text]).toEqual([true, expect.stringContaining('Give one query')])
  })
})

// Variables may be any JSON, which its schema says by saying nothing; the inspector notes that.
test('the inspector finds no tool whose schema some clients cannot use', { timeout: limitMs }, async () => {
  const header = `Authorization: Bearer ${token}`
  const to = [`${berth.url}/mcp`, '--transport', 'http', '--header', header]
  const { code, stderr } = await inspect([...to, '--method', 'tools/list', '--strict'])
  expect([code, [...stderr.matchAll(/^(?:Error|Warning): tool "(\w+)"/gm)].map(([, name]) => name)]).toEqual([
    0,
    ['graphql_query'],
  ])
})

test('a key is let in to what keys may do', async () => {
  const client = await triedClients['the AI SDK']!({ berth, credential: env['KEY'] ?? '' })
  expect((await client.call('list_vms', {})).isError).toBe(false)
  expect(await client.call('start_session', { agent_id: agent, message: 'Hello!' })).toMatchObject({ isError: true })
  await client.close()
})

test('the programs that the page prints run as printed, with a model that calls the tools', {
  timeout: limitMs,
}, async () => {
  const programs = [...readFileSync(join(root, page), 'utf8').matchAll(/```js\n([^]*?)```/g)].map(([, one = '']) => one)
  expect(programs).toHaveLength(3)
  const folder = mkdtempSync(join(root, 'test/printed-')) // in the checkout, where the SDKs are found
  try {
    for (const [at, program] of programs.entries()) {
      const file = join(folder, `${at}.mjs`)
      writeFileSync(file, program.replaceAll('http://localhost:4000', berth.url))
      const { stdout } = await promisify(execFile)(process.execPath, [file], { env: environmentWith(env) })
      expect(stdout).toContain('alice')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the inspector runs as the page prints it', { timeout: limitMs }, async () => {
  const path = `${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`
  const blocks = shellBlocks(page).filter((block) => block.includes('@modelcontextprotocol/inspector'))
  expect(blocks).toHaveLength(1)
  const [printed = ''] = await paste(blocks, { url: berth.url, folder: root, env: { ...env, PATH: path } })
  expect(printed).toContain('alice')
})

/** Sessions of tool servers: one for a session and a server, across turns and workers that are killed, ended at the end. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { leftSessionsTopic, sessionKeeper } from '#src/resources/agents/mcp-tools/kept-sessions.ts'
import { agentSessions, results, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import {
  sendJson,
  startRawToolServer,
  type RawToolServer,
  type Received,
} from '../../support/connectors/raw-tool-server.ts'
import { until } from '../../support/until.ts'

let server: RawToolServer
let berth: Berth
let sessions: AgentSessions
let token: string
let settings: Record<string, string>
const workers: Command[] = []
/** The calls in each session that the server knows. */
const known = new Map<string, number>()
/** Answers a call instead of counting it, when it returns true. */
let onCall: (request: Received, res: ServerResponse) => boolean
/** Answers the end of a session, when it returns true. */
let onDelete: (res: ServerResponse) => boolean
/** How a session that is not known is refused. */
let refuse: (res: ServerResponse) => void
let people = 0

const say = (id: number | undefined, text: string): object => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text }] },
})

function answer(request: Received, res: ServerResponse): void {
  const { id, method, session, http, lastEvent } = request
  if (method === 'initialize') {
    const made = randomUUID()
    known.set(made, 0)
    const result = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'counter', version: '1' },
    }
    return sendJson(res, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': made })
  }
  const count = known.get(session ?? '')
  if (session === undefined || count === undefined) return refuse(res)
  if (http === 'DELETE') {
    if (onDelete(res)) return
    known.delete(session)
    return void res.writeHead(204).end()
  }
  if (method === 'tools/list')
    return sendJson(res, {
      jsonrpc: '2.0',
      id,
      result: { tools: [{ name: 'count', inputSchema: { type: 'object' } }] },
    })
  if (onCall(request, res)) return
  if (http !== 'POST' || lastEvent !== undefined) return void res.writeHead(405).end()
  known.set(session, count + 1)
  sendJson(res, say(id, String(count + 1)))
}

beforeAll(async () => {
  server = await startRawToolServer(answer)
  const shared = { BERTH_PRIVATE_HOSTS: server.hostPort, BERTH_RATE_LIMIT_FACTOR: '100', BERTH_VMS: 'off' }
  berth = await startBerth({ settings: shared })
  settings = {
    ...shared,
    DATABASE_URL: berth.services.database.url,
    BERTH_PUBLIC_URL: berth.services.config.publicUrl,
    BERTH_DATA_DIR: berth.dataDir,
  }
  await startWorker()
}, 60_000)
beforeEach(async () => {
  token = await berth.token(`person${people++}`)
  sessions = agentSessions(berth, token)
  onCall = () => false
  onDelete = () => false
  refuse = (res) => void res.writeHead(404).end()
  server.received.length = 0
  known.clear()
})
afterEach(() => (onCall = () => false))
afterAll(async () => {
  for (const one of workers) await kill(one)
  await berth?.stop()
  server?.close()
})

async function startWorker(): Promise<void> {
  const worker = startCommand(['workers/main.ts'], settings)
  workers.push(worker)
  await worker.line(/runs no VMs/)
}
async function kill({ child, ended }: Command): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

const definition = () => ({
  mcp_servers: [{ type: 'url', name: 'raw', url: server.url }],
  tools: [
    { type: 'mcp_toolset', mcp_server_name: 'raw', default_config: { permission_policy: { type: 'always_allow' } } },
  ],
})
const begin = async (text: string, more: Record<string, unknown> = {}): Promise<string> =>
  sessions.begin(await sessions.agent(definition()), text, more)
const asked = (method: string): Received[] => server.received.filter((one) => one.method === method)
const texts = async (id: string): Promise<string[]> =>
  results(await sessions.rested(id, 40_000)).map(({ text }) => text)
const left = () => findAll(berth.services.db, sql`select 1 from mcp_sessions where session_id is null`)
const once = '!tool mcp__raw__count {}\n!say done'
const rest = (method: string, path: string, body?: unknown) =>
  berth.call<{ id: string }>(method, `/agents/v1${path}`, { token, ...(body === undefined ? {} : { body }) })

describe('one session of a tool server', () => {
  test('is that of all calls of a session, those of one step and of later turns, and is nowhere in clear', async () => {
    const id = await begin('!tool mcp__raw__count {}\n!tool+ mcp__raw__count {}\n!tool+ mcp__raw__count {}\n!say done')
    expect((await texts(id)).toSorted()).toEqual(['1', '2', '3'])
    await sessions.say(id, once)
    expect((await texts(id)).at(-1)).toBe('4')
    expect(asked('initialize')).toHaveLength(1)
    const [session = ''] = [...known.keys()]
    expect(new Set(server.received.filter(({ method }) => method !== 'initialize').map((one) => one.session))).toEqual(
      new Set([session]),
    )
    const numbers = asked('tools/call').map((one) => one.id)
    expect(new Set(numbers).size).toBe(numbers.length)
    const rows = await findAll(
      berth.services.db,
      sql`select m::text as row from mcp_sessions m where session_id = ${decodeId('session', id)}`,
    )
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(session).toString('hex'))
    const other = await begin(once)
    expect(await texts(other)).toEqual(['1'])
    expect(asked('initialize')).toHaveLength(2)
  })

  test('goes on in another worker after kill -9 in the middle of a call, which is not made again', async () => {
    const id = await begin(once)
    expect(await texts(id)).toEqual(['1'])
    const called = Promise.withResolvers<void>()
    onCall = () => {
      called.resolve()
      return true // never answered
    }
    await sessions.say(id, once)
    await called.promise
    for (const one of workers.splice(0)) await kill(one)
    onCall = () => false
    await startWorker()
    await until('the call is reported', async () => (await sessions.get(id)).status === 'idle', 60_000)
    await sessions.say(id, once)
    const log = results(await sessions.rested(id, 40_000))
    expect(log.map(({ text }) => text)).toEqual(['1', expect.stringContaining('cut off by a fault'), '2'])
    expect(asked('initialize')).toHaveLength(1)
    expect(asked('tools/call')).toHaveLength(3)
  }, 120_000)

  test.each<[string, (res: ServerResponse) => void]>([
    ['404', (res) => void res.writeHead(404).end()],
    [
      '400 in the words of many servers',
      (res) =>
        sendJson(
          res,
          { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Bad Request: No valid session ID provided' } },
          {},
          400,
        ),
    ],
  ])(
    'that the server no longer knows (%s) is begun anew, once for all calls, and each call is made',
    async (_name, how) => {
      const id = await begin(once)
      expect(await texts(id)).toEqual(['1'])
      refuse = how
      known.clear()
      server.received.length = 0
      await sessions.say(id, '!tool mcp__raw__count {}\n!tool+ mcp__raw__count {}\n!say done')
      expect((await texts(id)).slice(1).toSorted()).toEqual(['1', '2'])
      expect(asked('initialize')).toHaveLength(1)
    },
  )

  test.each(['archive', 'delete'])(
    'is ended at the server when its session is over: %s',
    async (how) => {
      const id = await begin(once)
      expect(await texts(id)).toEqual(['1'])
      const ended =
        how === 'archive' ? await rest('POST', `/sessions/${id}/archive`) : await rest('DELETE', `/sessions/${id}`)
      expect(ended.status).toBeLessThan(300)
      await until('it is ended', async () => known.size === 0, 30_000)
      await until('it is forgotten', async () => (await left()).length === 0)
    },
    60_000,
  )

  test('is another one with another credential, and the one before is ended', async () => {
    const vault = await rest('POST', '/vaults', { display_name: 'v' })
    const put = () =>
      rest('POST', `/vaults/${vault.body.id}/credentials`, {
        display_name: 'c',
        auth: { type: 'static_bearer', mcp_server_url: server.url, token: 'good' },
      })
    const first = await put()
    const id = await begin(once, { vault_ids: [vault.body.id] })
    expect(await texts(id)).toEqual(['1'])
    const [before = ''] = [...known.keys()]
    await rest('POST', `/vaults/${vault.body.id}/credentials/${first.body.id}/archive`)
    expect((await put()).status).toBe(201)
    await sessions.say(id, once)
    expect((await texts(id)).at(-1)).toBe('1')
    await until('the one before is ended', async () => !known.has(before))
    expect(known.size).toBe(1)
  })

  test('is one for each credential of its vaults, neither ends the other, and that of a vault it has no more is ended', async () => {
    const { services } = berth
    const id = await begin('!say done')
    const vaults: string[] = []
    const credentials = await Promise.all(
      ['one', 'other', 'third'].map(async (name, place) => {
        const vault = await rest('POST', '/vaults', { display_name: name })
        vaults[place] = String(vault.body.id)
        const auth = { type: 'static_bearer', mcp_server_url: server.url, token: name }
        const made = await rest('POST', `/vaults/${vault.body.id}/credentials`, { display_name: name, auth })
        return decodeId('credential', made.body.id) ?? ''
      }),
    )
    const of = { sessionId: decodeId('session', id) ?? '', url: server.url }
    let begun = 0
    await rest('POST', `/sessions/${id}`, { vault_ids: vaults.slice(0, 2) })
    const find = (credential: string) =>
      sessionKeeper(services, of, { of: credential, token: 'x', renew: async () => null }).find(
        async () => ({ id: `session ${begun++}`, protocolVersion: null }),
        null,
      )
    const found = []
    for (let turn = 0; turn < 2; turn++)
      for (const credential of credentials.slice(0, 2)) found.push((await find(credential))?.id)
    expect(found).toEqual(['session 0', 'session 1', 'session 0', 'session 1'])
    const kept = async (): Promise<unknown[]> => {
      const { rows } = await sql<{ of: string }>`
        select credential_id as of from mcp_sessions where session_id = ${of.sessionId} and credential_id is not null`.execute(
        services.db,
      )
      return rows.map((row) => row.of).sort()
    }
    expect(await kept()).toEqual(credentials.slice(0, 2).sort())
    await rest('POST', `/sessions/${id}`, { vault_ids: vaults.slice(2) })
    expect((await find(credentials[2] ?? ''))?.id).toBe('session 2')
    expect(await kept()).toEqual(credentials.slice(2))
  })

  test('that its server does not end at once is ended later, by so many tries', async () => {
    const id = await begin(once)
    expect(await texts(id)).toEqual(['1'])
    // One that another test left may still be ended.
    const tries = () =>
      server.received.filter(({ http, session }) => http === 'DELETE' && known.has(session ?? '')).length
    let isAway = true
    onDelete = (res) => {
      if (isAway) res.destroy()
      return isAway
    }
    await rest('POST', `/sessions/${id}/archive`)
    const again = async () => {
      await sql`update mcp_sessions set ending_at = now()`.execute(berth.services.db)
      publish(berth.services.db, leftSessionsTopic, 'any')
    }
    await until('it was tried', () => tries() === 1)
    expect(known.size).toBe(1)
    isAway = false
    await again()
    await until('it is ended', () => known.size === 0)
    await until('it is forgotten', async () => (await left()).length === 0)

    isAway = true
    const other = await begin(once)
    expect(await texts(other)).toEqual(['1'])
    server.received.length = 0
    await rest('DELETE', `/sessions/${other}`)
    for (let count = 1; count <= 6; count++) {
      await again()
      await until('it was tried', () => tries() >= count)
    }
    await until('it is given up', async () => (await left()).length === 0)
    expect(tries()).toBe(6)
  })

  test('ends with the request where no session goes on with it', async () => {
    const agent = await sessions.agent(definition())
    expect(await rest('GET', `/agents/${agent}/mcp-tools`)).toMatchObject({ body: { data: [{ status: 'ok' }] } })
    await until('it is ended', async () => known.size === 0)
  })
})

test('a call whose stream of events breaks is resumed from its last event, and not made again', async () => {
  let call: number | undefined
  let breaks = 0
  onCall = ({ method, id, http, lastEvent }, res) => {
    if (method !== 'tools/call' && http !== 'GET') return false
    call ??= id
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    if (breaks++ < 2) {
      res.write(`id: event-${breaks}\nretry: 1\ndata:\n\n`, () => res.destroy())
      return true
    }
    res.end(`id: event-9\ndata: ${JSON.stringify(say(call, `after ${lastEvent}`))}\n\n`)
    return true
  }
  expect(await texts(await begin(once))).toEqual(['after event-2'])
  expect(asked('tools/call')).toHaveLength(1)
})

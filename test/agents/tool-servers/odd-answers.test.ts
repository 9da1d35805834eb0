/**
 * Every field of every answer of a tool server, as null, absent, of a wrong type, and beside one that nobody knows: what is
 * understood is used, and what is not is named.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { mcpToolResult } from '#src/resources/agents/mcp-tools/results.ts'
import { askMcpServer, listServerTools } from '#src/resources/agents/mcp/servers.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { agentSessions, results } from '../../support/agent-sessions.ts'
import {
  goodResults,
  sendJson,
  startRawToolServer,
  type RawToolServer,
} from '../../support/connectors/raw-tool-server.ts'

type Message = Record<string, unknown>

let server: RawToolServer
let berth: Berth
let token: string
/** Changes the whole message that is answered to a method. */
let change: (message: Message, method: string) => unknown
let asEvents = false
beforeAll(async () => {
  server = await startRawToolServer(({ id, method = '', http }, res) => {
    if (http !== 'POST') return void res.writeHead(405).end()
    const result = goodResults[method]
    const message = structuredClone(
      result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } },
    )
    const body = change(message, method)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    if (!asEvents) return sendJson(res, text)
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${text}\n\n`)
  })
  berth = await startBerth({
    worker: true,
    settings: { BERTH_VMS: 'off', BERTH_PRIVATE_HOSTS: server.hostPort, BERTH_RATE_LIMIT_FACTOR: '100' },
  })
  token = await berth.token()
})
beforeEach(() => {
  change = (message) => message
  asEvents = false
  server.received.length = 0
})
afterAll(async () => {
  await berth?.stop()
  server?.close()
})

const bearer = async (): Promise<null> => null
const list = () => listServerTools(berth.services, { url: server.url, bearer })
/** What the model is told of a call. */
async function call(): Promise<string> {
  const order = { url: server.url, bearer, limitMs: 10_000 }
  const outcome = await askMcpServer(berth.services, order, (connection) => connection.callTool('first', {}))
  if (outcome.status !== 'ok') return outcome.error
  return 'error' in outcome.result
    ? `error: ${outcome.result.error}`
    : (await mcpToolResult(outcome.result.result)).text
}

/** Every place in a value, by its path. */
function places(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => [[...path, key], ...places(one, [...path, key])])
}

/** The same value with another one at this place; undefined takes it away. */
function put(value: unknown, [first = '', ...rest]: readonly string[], with_: unknown): unknown {
  const copy = structuredClone(value) as Message
  if (rest.length > 0) copy[first] = put(copy[first], rest, with_)
  else if (with_ !== undefined) copy[first] = with_
  else if (Array.isArray(copy)) copy.splice(Number(first), 1)
  else delete copy[first]
  return copy
}

const wrongs: Readonly<Record<string, unknown>> = {
  number: 7,
  text: 'odd',
  list: [1],
  object: { odd: true },
  flag: true,
}
const variants: Readonly<Record<string, unknown>> = { null: null, absent: undefined, ...wrongs }

/** Changes one place of the answer to one method. */
const changed = (method: string, path: readonly string[], value: unknown): void => {
  change = (message, asked) => (asked === method ? put(message, path, value) : message)
}

const envelope = { jsonrpc: '2.0', id: 1 }
const odd = (method: string): [string, string, string[], unknown][] =>
  places({ ...envelope, result: goodResults[method] }).flatMap((path) =>
    Object.entries(variants).map(([name, value]): [string, string, string[], unknown] => [
      path.join('.'),
      name,
      path,
      value,
    ]),
  )

describe('one odd field', () => {
  test('of initialize loses nothing, unless the server speaks another protocol', async () => {
    for (const [at, name, path, value] of odd('initialize')) {
      changed('initialize', path, value)
      const outcome = await list()
      const why = `${at} as ${name}`
      if (outcome.status === 'ok')
        expect(outcome.result, why).toMatchObject({ tools: [{ name: 'first' }], leftOut: null })
      else
        expect([at, outcome.error], why).toEqual([
          expect.stringMatching(/^(?:result|result\.protocolVersion|id)$/),
          expect.stringMatching(
            /^The server’s answer to initialize has (?:no result|no message with the id|a version)/,
          ),
        ])
    }
  })

  test('of tools/list loses the tool that it is in at most, and is named', async () => {
    for (const [at, name, path, value] of odd('tools/list')) {
      change = (message, method) => {
        if (method !== 'tools/list') return message
        const changedMessage = put(message, path, value) as { result?: { tools?: unknown } }
        const { tools } = changedMessage.result ?? {}
        if (Array.isArray(tools)) tools.push({ name: 'second', inputSchema: { type: 'object' } })
        return changedMessage
      }
      const outcome = await list()
      const why = `${at} as ${name}`
      if (outcome.status !== 'ok') {
        expect(at, why).toMatch(/^(?:result|result\.tools|id)$/)
        expect(outcome.error, why).toMatch(
          /^The server’s answer to tools\/list has (?:no result|no message|nothing at tools|something else than a list at tools)/,
        )
        continue
      }
      const { tools, leftOut } = outcome.result
      expect(tools.at(-1)?.name, why).toBe('second')
      const place = at.startsWith('result.tools.0') ? at.slice('result.tools.0'.length).replace(/\.0$/, '') : ''
      const isWhole = tools.length === 2 || (at === 'result.tools.0' && value === undefined)
      expect(isWhole || leftOut?.includes(`at tools[0]${place}`), `${why}: ${leftOut}`).toBe(true)
    }
    for (const nextCursor of [null, '', undefined]) {
      changed('tools/list', ['result', 'nextCursor'], nextCursor)
      expect(await list()).toMatchObject({ status: 'ok', result: { leftOut: null } })
    }
    for (const nextCursor of Object.values(wrongs).filter((value) => typeof value !== 'string')) {
      changed('tools/list', ['result', 'nextCursor'], nextCursor)
      expect(await list()).toMatchObject({
        status: 'ok',
        result: { tools: [{}], leftOut: expect.stringContaining('at nextCursor') },
      })
    }
  })

  test('of tools/call is told with what is understood, and the call is not an error of the connection', async () => {
    for (const [at, name, path, value] of odd('tools/call')) {
      changed('tools/call', path, value)
      const text = await call()
      const isLost = /^(?:result|id)$/.test(at)
      const isContent = at.startsWith('result.content')
      expect(text, `${at} as ${name}`).toMatch(
        isLost
          ? /42|odd|1|7|true|The server’s answer to tools\/call has no (?:result|message)/
          : isContent
            ? /42|"a":1|cannot be shown|no block|odd|7|true|1/
            : /42/,
      )
    }
  })

  test('of an error, and errors that name no request, are told to the model', async () => {
    const error = { jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'not so', data: { why: 1 } } }
    for (const path of places(error)
      .filter(([first]) => first !== 'error' || false)
      .concat(places(error).filter(([first, second]) => first === 'error' && second !== undefined)))
      for (const [name, value] of Object.entries(variants)) {
        change = (message, method) =>
          method === 'tools/call' ? put({ ...error, id: message['id'] }, path, value) : message
        expect(await call(), `${path.join('.')} as ${name}`).toMatch(
          path.at(-1) === 'message' ? /^error: / : /not so|no message with the id/,
        )
      }
    change = (message, method) => (method === 'tools/call' ? { ...error, id: null } : message)
    expect(await call()).toBe('error: not so')
  })

  test('or one that nobody knows, anywhere, changes nothing; nor does null beside a result', async () => {
    for (const method of Object.keys(goodResults))
      for (const path of [[], ...places({ ...envelope, result: goodResults[method] })])
        for (const more of [{ 'x-unknown': { a: [null] } }, { error: null }]) {
          change = (message, asked) => {
            if (asked !== method) return message
            const at = path.reduce<unknown>((value, key) => (value as Message)[key], message)
            if (typeof at === 'object' && at !== null && !Array.isArray(at)) Object.assign(at, more)
            return message
          }
          expect(await list(), `${method} ${path.join('.')}`).toMatchObject({
            status: 'ok',
            result: { tools: [{ name: 'first' }] },
          })
          expect(await call()).toBe('42')
        }
  })
})

describe('in a stream of events', () => {
  test('questions, notifications and odd events beside an answer are passed over, and questions are answered', async () => {
    asEvents = true
    change = (message) =>
      [
        'data: 7',
        ': comment',
        'event: other\ndata: {"nonsense":',
        ...['ping', 'sampling/createMessage', 'roots/list', 'odd'].flatMap((method, at) =>
          [null, 7, 'odd', [1], { a: null }].map(
            (params) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: `q${at}`, method, params })}`,
          ),
        ),
        ...['notifications/message', 'notifications/progress', 'notifications/cancelled', 'odd'].flatMap((method) =>
          [null, 7, 'odd', [1], { a: null }].map(
            (params) => `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}`,
          ),
        ),
        ...[null, 7, [], {}, [null], { id: 1 }, { result: null }].map((value) => `data: ${JSON.stringify(value)}`),
        `data: ${JSON.stringify(message)}`,
        '',
      ]
        .join('\n\n')
        .slice('data: '.length)
    expect(await call()).toBe('42')
    expect(server.received.find(({ id, result }) => String(id) === 'q0' && result !== undefined)).toBeDefined()
    expect(server.received.find(({ id, error }) => String(id) === 'q1' && error !== undefined)).toBeDefined()
  })

  test('that has nothing, or ends without the answer, is said to be so at once', async () => {
    asEvents = true
    change = (message, method) =>
      method === 'tools/call' ? { jsonrpc: '2.0', method: 'notifications/progress' } : message
    expect(await call()).toBe('The server’s answer to tools/call ended before it was complete.')
  })
})

describe('a reason says what was wrong', () => {
  test.each([
    ['{"jsonrpc":', 'The server’s answer to tools/list is not valid JSON.'],
    [
      `{"a":${'['.repeat(300)}${']'.repeat(300)}}`,
      'The server’s answer to tools/list is nested deeper than 256 levels, which is the limit.',
    ],
    ['', 'The server’s answer to tools/list is not valid JSON.'],
    ['[]', 'The server’s answer to tools/list has no message with the id of the request.'],
  ])('of %.12s', async (body, error) => {
    change = (message, method) => (method === 'tools/list' ? body : message)
    expect(await list()).toEqual({ status: 'unreachable', error })
  })
})

describe('every operation that asks a tool server', () => {
  const broken = { name: 'broken' }
  const bad: Message = { tools: [{ name: 'good', inputSchema: { type: 'object' } }, broken], nextCursor: null }
  const rest = async <Body>(method: string, path: string, body?: unknown): Promise<Body> =>
    (await berth.call<Body>(method, `/agents/v1${path}`, { token, ...(body === undefined ? {} : { body }) })).body
  const tools = [
    { type: 'mcp_toolset', mcp_server_name: 'raw', default_config: { permission_policy: { type: 'always_allow' } } },
  ]
  const definition = () => ({ mcp_servers: [{ type: 'url', name: 'raw', url: server.url }], tools })

  test('goes on with one bad tool among good ones, and says which it is', async () => {
    changed('tools/list', ['result'], bad)
    const sessions = agentSessions(berth, token)
    const agent = await sessions.agent(definition())
    const named = expect.stringContaining('nothing at tools[1].inputSchema (broken)')
    expect(await rest('GET', `/agents/${agent}/mcp-tools`)).toMatchObject({
      data: [{ status: 'ok', error: named, tools: [{ name: 'good' }] }],
    })
    const vault = await rest<{ id: string }>('POST', '/vaults', { display_name: 'v' })
    const auth = { type: 'mcp_oauth', mcp_server_url: server.url, access_token: 'a', expires_at: null }
    const made = await rest<{ id: string }>('POST', `/vaults/${vault.id}/credentials`, { display_name: 'c', auth })
    expect(await rest('POST', `/vaults/${vault.id}/credentials/${made.id}/mcp_oauth_validate`)).toMatchObject({
      status: 'valid',
    })
    const log = await sessions.rested(await sessions.begin(agent, '!tool mcp__raw__good {}\n!say done'))
    expect(results(log)).toEqual([{ isError: false, text: '42' }])
    expect(log.filter(({ type }) => type === 'session.error')).toMatchObject([
      { error: { type: 'mcp_connection_failed_error', message: named, retry_status: { type: 'exhausted' } } },
    ])
  })

  test('shows what is understood of a result whose tool ran, once', async () => {
    changed('tools/list', ['result'], bad)
    const list = change
    change = (message, method) =>
      method === 'tools/call'
        ? put(
            message,
            ['result', 'content'],
            [
              { type: 'text', text: '42' },
              { type: 'chart', spec: {} },
            ],
          )
        : list(message, method)
    const sessions = agentSessions(berth, token)
    const log = await sessions.rested(
      await sessions.begin(await sessions.agent(definition()), '!tool mcp__raw__good {}\n!say done'),
    )
    expect(results(log)).toEqual([
      { isError: false, text: '42\n[Content of the type chart, which cannot be shown here: {"spec":{}}]' },
    ])
    expect(server.received.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
  })
})

/**
 * JSON that agents, their sessions and their tools pass on has the same numbers at the other end: definitions, arguments,
 * results, payloads, by REST, GraphQL and its sockets. Each place where it is shown is a line of a table.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getNamedType, isInputObjectType, isObjectType, type GraphQLOutputType } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { schema } from '#schema/schema.ts'
import { encodeId } from '#src/platform/ids.ts'
import { writeModels } from '../../llm/chat-makers.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { deliverHook, hookSecret, payloads } from '../../support/code-host/deliveries.ts'
import { canonical, holds, sent } from './texts.ts'
import { idsOf } from '../../support/makers.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import { startMockUpstream, type MockUpstream } from '../../support/mock-upstream.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let mock: MockUpstream
let shop: TestMcpServer
let host: CodeHost
let token: string
const folder = mkdtempSync(join(tmpdir(), 'berth-numbers-'))
/** What the tool server was sent. */
const calls: string[] = []
const toolSchema = `{"type":"object","examples":[${sent}]}`

beforeAll(async () => {
  ;[mock, shop, host] = await Promise.all([startMockUpstream(), startMcpServer(), startCodeHost()])
  shop.intercept = (_req, res, body) => {
    const { id, method, params } = JSON.parse(body || '{}') as {
      id?: number
      method?: string
      params?: { name?: string }
    }
    if (method === 'tools/call') calls.push(body)
    const result =
      method === 'tools/list'
        ? `{"resultType":"complete","tools":[${['take', 'watch'].map((name) => `{"name":"${name}","inputSchema":${toolSchema}}`).join()}]}`
        : method === 'tools/call'
          ? `{"resultType":"complete","content":[],"structuredContent":${sent}}`
          : null
    if (result === null) return false
    const answer = `{"jsonrpc":"2.0","id":${id},"result":${result}}`
    if (params?.name === 'watch')
      res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`event: message\ndata: ${answer.replaceAll(/[\n\t]/g, ' ')}\n\n`)
    else res.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    return true
  }
  berth = await startBerth({
    worker: true,
    settings: {
      ...codeHostSettings(host),
      GITHUB_WEBHOOK_SECRET: hookSecret,
      BERTH_VMS: 'off',
      BERTH_RATE_LIMIT_FACTOR: '100',
      BERTH_MODELS_FILE: writeModels(folder, mock.url),
      BERTH_PRIVATE_HOSTS: shop.hostPort,
    },
  })
  token = await berth.token('olivia', 'acme', 'owner')
})
afterAll(async () => {
  await berth?.stop()
  await mock?.close()
  await shop?.close()
  host?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Calls a path below `/agents/v1`; the body and the answer are texts. */
async function call(method: string, path: string, body?: string): Promise<string> {
  const answer = await fetch(`${berth.url}/agents/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.text()
  expect(answer.status, text).toBeLessThan(300)
  return text
}
const idOf = (text: string): string => /"id":\s?"([^"]+)"/.exec(text)?.[1] ?? ''

/** Sends a document, with its variables as text; answers with the text of the result. */
async function ask(query: string, variables = '{}', how: 'POST' | 'GET' | 'batch' = 'POST'): Promise<string> {
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
  const address = new URL(`${berth.url}/graphql`)
  if (how === 'GET') address.search = new URLSearchParams({ query, variables }).toString()
  const answer = await fetch(address, {
    method: how === 'GET' ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(how === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(how === 'GET' ? {} : { body: how === 'batch' ? `[${body}]` : body }),
  })
  const text = await answer.text()
  expect(text).not.toContain('"errors"')
  return text
}

/** Sends an operation by a web socket, and answers with everything that came, up to one that has what was sent. */
async function follow(query: string, variables: string): Promise<string> {
  const socket = new WebSocket(`${berth.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  let heard = ''
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject).on('close', (_code, reason) => reject(new Error(String(reason))))
      socket.on('open', () => socket.send(`{"type":"connection_init","payload":{"authorization":"Bearer ${token}"}}`))
      socket.on('message', (data: Buffer) => {
        const text = String(data)
        heard += `${text}\n`
        if (text.includes('connection_ack'))
          socket.send(
            `{"id":"1","type":"subscribe","payload":{"query":${JSON.stringify(query)},"variables":${variables}}}`,
          )
        if (/"type":"(?:complete|error)"/.test(text) || (text.includes('"next"') && text.includes('"nasty"'))) resolve()
      })
    })
  } finally {
    socket.terminate()
  }
  return heard
}

test('a message of a web socket with a number that cannot be kept closes it, and says why', async () => {
  const long = follow('query ($n: JSON) { viewer { user { id } } }', `{"n":${'1'.repeat(1_025)}}`)
  await expect(long).rejects.toThrow('The JSON has a number of more than 1024 characters.')
})

/** Everything that a stream says until it says what was sent. */
async function heard(path: string): Promise<string> {
  const answer = await fetch(berth.url + path, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
  })
  let text = ''
  for await (const chunk of answer.body!) {
    text += Buffer.from(chunk).toString()
    if (text.includes('"nasty"') && text.endsWith('\n\n')) break
  }
  return text
}

const customTool = `{"type":"custom","name":"order","description":"Orders.","input_schema":${toolSchema}}`
const toolset =
  '{"type":"mcp_toolset","mcp_server_name":"shop","default_config":{"permission_policy":{"type":"always_allow"}}}'
const agentBody = (model: string): string =>
  `{"name":"Buyer","model":"${model}","tools":[${customTool},${toolset}],"mcp_servers":[{"type":"url","name":"shop","url":"${shop.url}"}]}`
const inputOf = '... on CustomTool { inputSchema }'
/** The same number as literals of GraphQL, which are not JSON: keys without quotes. */
const literal = `{type: "object", examples: [{nasty: [9007199254740993, 0.1000000000000000055, -0, {zeta: 1, b: 12345678901234567890123456789}]}]}`

test('the schema of a custom tool is kept as it was written, however an agent is made, changed and read', async () => {
  const made = await call('POST', '/agents', agentBody('berth/demo'))
  const id = idOf(made)
  const places: Readonly<Record<string, string>> = {
    'its answer': made,
    'reading it': await call('GET', `/agents/${id}`),
    'a list': await call('GET', '/agents'),
    'its versions': await call('GET', `/agents/${id}/versions`),
    GraphQL: await ask(`{ agent(id: "${id}") { tools { ${inputOf} } } }`),
    'a GraphQL query by address': await ask(
      `query ($id: ID!) { agent(id: $id) { tools { ${inputOf} } } }`,
      `{"id":"${id}"}`,
      'GET',
    ),
    'a batch': await ask(`{ agent(id: "${id}") { tools { ${inputOf} } } }`, '{}', 'batch'),
    'a socket': await follow(`{ agent(id: "${id}") { tools { ${inputOf} } } }`, '{}'),
    'the same again, which is no new version': await call(
      'POST',
      `/agents/${id}`,
      `{"version":1,"tools":[${customTool},${toolset}]}`,
    ),
    'its session': await call('POST', '/sessions', `{"agent":"${id}"}`),
    'a change': await call('POST', `/agents/${id}`, `{"version":1,"tools":[${customTool}],"mcp_servers":[]}`),
  }
  for (const [place, text] of Object.entries(places)) expect(holds(text), `${place}: ${text.slice(0, 200)}`).toBe(true)
  const mutation = (input: string, variable = ''): string =>
    `mutation ${variable} { createAgent(input: {name: "G", model: {id: "berth/demo"}, tools: [{custom: {name: "order", description: "d", inputSchema: ${input}}}]}) { agent { tools { ${inputOf} } } } }`
  expect(holds(await ask(mutation('$schema', '($schema: JSON!)'), `{"schema":${toolSchema}}`))).toBe(true)
  expect(holds(await follow(mutation('$schema', '($schema: JSON!)'), `{"schema":${toolSchema}}`))).toBe(true)
  const ofLiteral = '{"nasty":[9007199254740993,0.1000000000000000055,-0,{"zeta":1,"b":12345678901234567890123456789}]}'
  expect(holds(await ask(mutation(literal)), ofLiteral)).toBe(true)
})

test('arguments, results and schemas of tools have the same numbers on their whole way through a session', async () => {
  mock.forget()
  const agent = idOf(await call('POST', '/agents', agentBody('test/plain')))
  mock.script(
    { parts: [{ tool: 'mcp__shop__take', arguments: [sent.slice(0, 100), sent.slice(100)] }] },
    { parts: [{ tool: 'mcp__shop__watch', arguments: sent }] },
    { parts: [{ tool: 'order', arguments: sent }] },
    { parts: [{ text: 'Done.' }] },
  )
  const session = idOf(
    await call(
      'POST',
      '/sessions',
      `{"agent":"${agent}","initial_events":[{"type":"user.message","content":[{"type":"text","text":"Buy"}]}]}`,
    ),
  )
  await until('the custom tool is called', async () =>
    /"status":"idle"/.test(await call('GET', `/sessions/${session}`)),
  )
  const log = await call('GET', `/sessions/${session}/events?limit=1000`)
  expect(
    calls.map((one) => holds(one)),
    'the tool server gets them',
  ).toEqual([true, true])
  expect(timesIn(log), 'three calls are shown').toBe(3)
  const results = [...log.matchAll(/"text":"(\{(?:[^"\\]|\\.)*)"/g)].map(
    ([, text]) => JSON.parse(`"${text}"`) as string,
  )
  expect(
    results.map((text) => holds(text)),
    'two results are shown',
  ).toEqual([true, true])

  const use = /"id":"([^"]+)","type":"agent\.custom_tool_use"/.exec(log)?.[1] ?? ''
  await call(
    'POST',
    `/sessions/${session}/events`,
    `{"events":[{"type":"user.custom_tool_result","custom_tool_use_id":"${use}","content":[{"type":"text","text":${JSON.stringify(sent)}}]}]}`,
  )
  const last = (await mock.request(3)).bodyText
  const inTexts = [...last.matchAll(/"((?:[^"\\]|\\.)*)"/g)].filter(
    ([, text = '']) => text.startsWith('{') && holds(JSON.parse(`"${text}"`) as string),
  )
  expect(inTexts, 'three calls and three results are told to the model').toHaveLength(6)
  expect(timesIn(last), 'and the schemas of three tools').toBe(3)

  const input = '... on AgentCustomToolUse { input } ... on AgentMcpToolUse { input }'
  const of = `sessionId: "${session}"`
  const places: Readonly<Record<string, string>> = {
    GraphQL: await ask(`{ sessionEvents(${of}) { nodes { ${input} } } }`),
    'a stream': await heard(`/agents/v1/sessions/${session}/events/stream?replay=true`),
    'a subscription': await follow(
      `subscription { sessionEvents(${of}, replay: true) { ... on SessionEmission { event { ${input} } } } }`,
      '{}',
    ),
    'the tools of servers': await call('GET', `/agents/${agent}/mcp-tools`),
    'the same in GraphQL': await ask(`{ agentMcpTools(id: "${agent}") { tools { inputSchema } } }`),
  }
  for (const [place, text] of Object.entries(places)) expect(holds(text), `${place}: ${text.slice(0, 200)}`).toBe(true)
})

/** How often what was sent stands in a text. */
const timesIn = (text: string): number => canonical(text).split(canonical(sent)).length - 1

test('an approval in a group, and the stream of its run, show the input of the call', async () => {
  const body = agentBody('berth/demo').replace('always_allow', 'always_ask')
  const environment = idOf(await call('POST', '/environments', '{"name":"desk","config":{"type":"vm"}}'))
  const organization = encodeId('organization', idsOf(token).organizationId)
  const members: string[] = []
  for (const name of ['Asker', 'Other'])
    members.push(
      idOf(
        await call(
          'POST',
          '/sessions',
          `{"agent":"${idOf(await call('POST', '/agents', body.replace('Buyer', name)))}","environment_id":"${environment}"}`,
        ),
      ),
    )
  const group = idOf(
    await call('POST', '/groups', `{"org_id":"${organization}","name":"g","member_ids":${JSON.stringify(members)}}`),
  )
  const script = `@asker please\n!tool mcp__shop__take ${sent.replaceAll(/[\n\t]/g, ' ')}`
  await call('POST', `/groups/${group}/messages`, `{"text":${JSON.stringify(script)}}`)
  let shown = ''
  await until('the run waits', async () => (shown = await call('GET', `/groups/${group}`)).includes('"approval_id"'))
  expect(holds(shown)).toBe(true)
  const run = /"run_id":"([^"]+)"/.exec(shown)?.[1] ?? ''
  expect(holds(await heard(`/agents/v1/groups/${group}/runs/${run}/stream`)), 'and its stream').toBe(true)
  expect(holds(await ask(`{ group(id: "${group}") { runs { nodes { pendingApprovals { input } } } } }`))).toBe(true)
})

test('the payload of a delivery is shown as the code host wrote it', async () => {
  host.account('octocat').repositories = ['site']
  await berth.call('POST', '/api/v1/codehost/save-token', { token, body: { code: host.code('octocat') } })
  const agent = idOf(await call('POST', '/agents', '{"name":"r","model":"berth/demo"}'))
  const trigger = idOf(await call('POST', '/triggers', `{"agent":"${agent}","repo":"octocat/site","events":["push"]}`))
  const delivered = await deliverHook(
    berth.url,
    'push',
    JSON.stringify(payloads.push()).replace(/\}$/, `,"more":${sent}}`),
  )
  expect(delivered.status).toBe(202)
  let shown = ''
  const shows = `{ trigger(id: "${trigger}") { fires { nodes { payload } } } }`
  await until('the fire is decided', async () => !(shown = await ask(shows)).includes('"payload":null'))
  expect(holds(shown)).toBe(true)
})

/** Every field of GraphQL that is any JSON, and what of it is tried above; REST's are the same fields. */
const tried: Readonly<Record<string, string>> = {
  'AgentCustomToolUse.input': 'a session',
  'AgentMcpToolUse.input': 'a session',
  'AgentToolUse.input': 'as the two others',
  'BuiltInTool.inputSchema': 'ours',
  'ChatJsonSchemaInput.schema': 'a chat, in models.test.ts',
  'ChatToolInput.parameters': 'a chat, in models.test.ts',
  'CustomTool.inputSchema': 'an agent',
  'CustomToolInput.inputSchema': 'an agent',
  'GroupApproval.input': 'a group',
  'McpTool.inputSchema': 'a session',
  'RunSqlInput.parameters': 'a database, in edge/run-sql.test.ts',
  'SqlResult.rows': 'texts and null',
  'TriggerFire.payload': 'a delivery',
  'TryTriggerInput.payload': 'read, not passed on',
}
test('no field of any JSON is left out', () => {
  const found: string[] = []
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInputObjectType(type)) continue
    for (const [name, { type: of }] of Object.entries(type.getFields()))
      if (getNamedType(of as GraphQLOutputType).name === 'JSON') found.push(`${type.name}.${name}`) // or an input type, for which it is the same
  }
  expect(found.sort()).toEqual(Object.keys(tried).sort())
})

test('a number that a field cannot have is refused in words, as a variable, in a body and in a document', async () => {
  const limit = (variables: string): Promise<Response> =>
    fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"query":"query ($n: Int) { agents(first: $n) { nodes { id } } }","variables":${variables}}`,
    })
  for (const number of ['9007199254740993', '1e400', '1.0000000000000000001', '5e-400']) {
    const answer = await (await limit(`{"n":${number}}`)).text()
    expect(answer, number).toContain('must be Int')
    const body = await fetch(`${berth.url}/agents/v1/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"name":${number},"model":"berth/demo"}`,
    })
    expect([body.status, await body.text()]).toEqual([400, expect.stringContaining('name')])
    const shaped = await fetch(`${berth.url}/agents/v1/environments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"name":"x","config":{"type":"vm","vcpu":${number}}}`,
    })
    expect([shaped.status, await shaped.text()]).toEqual([
      400,
      expect.stringContaining('config.vcpu must be a whole number.'),
    ])
  }
})

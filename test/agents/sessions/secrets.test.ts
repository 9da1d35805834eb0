/** A vault's secret in a session: nobody reads it, whoever says it, however it is cut, and whatever became of its credential. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { openStream } from '../../contract/event-stream.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import {
  agentSessions,
  message,
  results,
  textOf,
  type AgentSessions,
  type Event,
} from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import type { Berth } from '../../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import { freePort } from '../../support/ports.ts'

const canary = 'canary-token-5f2a/z"q'
const inVariable = 'canary-värïable "9c1d"\nwith-a-second-line'
/** How a secret may be written. */
const written = [canary, inVariable].flatMap((secret) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
  Buffer.from(`user:${secret}`).toString('base64'),
  Buffer.from(secret).toString('base64url'),
])
/** None of this may be read anywhere: of base64, what does not depend on what stands beside the secret. */
const readable = [
  ...written.map((form) => (form.includes('canary') ? form : form.slice(8, -4))),
  ...inVariable.split('\n'),
]

let berth: Berth
let mock: MockUpstream
let tools: TestMcpServer
let page: Server
let pageHost: string
let pageText = ''
let stop: MockBerth['stop']
let token: string
let sessions: AgentSessions
let vault: string
let credential: string
beforeAll(async () => {
  tools = await startMcpServer()
  const port = await freePort()
  pageHost = `127.0.0.1:${port}`
  page = createServer((_req, res) => void res.writeHead(200, { 'content-type': 'text/plain' }).end(pageText)).listen(
    port,
    '127.0.0.1',
  )
  await once(page, 'listening')
  ;({ berth, mock, stop } = await startMockBerth({ BERTH_PRIVATE_HOSTS: `${tools.hostPort},${pageHost}` }))
  token = await berth.token()
  sessions = agentSessions(berth, token)
})
beforeEach(async () => {
  mock.forget()
  pageText = `a page with ${written.join(' ')} in it`
  tools.shows = { content: [{ type: 'text', text: written.join(' ') }] }
  vault = (await call<{ id: string }>('POST', '/vaults', { display_name: 'keys' })).id
  credential = await add({ type: 'static_bearer', mcp_server_url: tools.url, token: canary })
  await add({ type: 'environment_variable', secret_name: 'KEY', secret_value: inVariable })
})
afterAll(async () => {
  await stop?.()
  await tools?.close()
  page?.close()
})

async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await callAgents<Body>(berth, token, method, path, body)
  expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
  return answer.body
}
const add = async (auth: object): Promise<string> =>
  (await call<{ id: string }>('POST', `/vaults/${vault}/credentials`, { auth })).id
const server = (): object => ({ mcp_servers: [{ type: 'url', name: 'tools', url: tools.url }] })
const toolset = {
  type: 'mcp_toolset',
  mcp_server_name: 'tools',
  default_config: { permission_policy: { type: 'always_allow' } },
}
const callsShow = { parts: [{ tool: 'mcp__tools__show', arguments: '{}' }] }
const agentWith = (more: object[] = [], model = 'test/plain'): Promise<string> =>
  sessions.agent({ model, ...server(), tools: [toolset, ...more] })

const content = 'content { ... on TextBlock { text } }'
const shownFields = ` fragment shown on SessionEvent {
  ... on UserMessage { ${content} } ... on AgentMessage { ${content} } ... on UserCustomToolResult { ${content} }
  ... on AgentToolResult { ${content} } ... on AgentMcpToolResult { ${content} }
  ... on AgentToolUse { input } ... on AgentMcpToolUse { input } ... on AgentCustomToolUse { input } }`

/** Everything that can be read of a session, by whatever way, and what the tables hold of it. */
async function everythingOf(id: string): Promise<string> {
  await call('PUT', `/sessions/${id}/sharing`, { shared: true })
  const shared = await fetch(`${berth.url}/agents/v1/shared-sessions/${id}`)
  const stream = await openStream(`${berth.url}/agents/v1/sessions/${id}/events/stream?replay=1`, { token })
  const log = await sessions.log(id)
  const streamed: unknown[] = []
  while (streamed.length < log.length) streamed.push((await stream.next())?.data)
  stream.close()
  const graphql = await berth
    .ask(
      'query ($id: ID!) { session(id: $id) { title } sessionEvents(sessionId: $id, first: 40) { nodes { ...shown } } }' +
        shownFields,
      { token, variables: { id } },
    )
    .catch((error: Error) => error.message)
  if (typeof graphql !== 'string') expect(graphql.body.errors).toBeUndefined()
  const { rows } = await berth.services.database.pool.query<{ all: string }>(`
    select coalesce(string_agg(t, ' '), '') as all from (select e::text as t from session_events e union all select s::text from sessions s union all select p::text from session_previews p
      union all select x::text from session_secrets x union all select m.messages::text from (select data::text as messages from pgboss.job) m) as every`)
  return [
    await shared.text(),
    JSON.stringify(log),
    JSON.stringify(streamed),
    JSON.stringify(graphql),
    JSON.stringify(await sessions.get(id)),
    rows[0]?.all,
  ].join('\n')
}
const found = (text: string): string[] =>
  readable.filter((form) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)))

describe('a secret of a session’s vault', () => {
  test('is masked everywhere when a tool server, a page, a model or the client repeats it', async () => {
    const weather = { type: 'custom', name: 'weather', description: 'w', input_schema: { type: 'object' } }
    mock.script(
      callsShow,
      { parts: [{ tool: 'web_fetch', arguments: JSON.stringify({ url: `http://${pageHost}/` }) }] },
      {
        parts: [
          { text: `I saw ${canary} and ${inVariable}` },
          { tool: 'weather', arguments: JSON.stringify({ town: canary, [inVariable]: [canary] }) },
        ],
      },
      { parts: [{ text: 'done' }] },
    )
    const agent = await agentWith([weather, { type: 'agent_toolset_20260401' }])
    const id = await sessions.begin(agent, `here is ${written.join(' ')}`, {
      vault_ids: [vault],
      title: `about ${canary}`,
    })
    const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.custom_tool_use')
    expect(use?.['input']).toEqual({ town: '***', '***': ['***'] })
    const [sent] = await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: use?.id,
      content: [
        { type: 'text', text: `rain ${inVariable}` },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: canary }, title: canary },
      ],
    })
    expect(sent?.['content']).toEqual([
      { type: 'text', text: 'rain ***' },
      {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: '***' },
        title: '***',
        context: null,
      },
    ])
    const log = await sessions.rested(id)
    expect(results(log).map(({ text, isError }) => [text.includes('***'), isError])).toEqual([
      [true, false],
      [true, false],
      [true, false],
    ])
    expect(log.filter(({ type }) => type === 'agent.message').map(textOf)).toEqual(['I saw *** and ***', 'done'])
    await call('POST', `/sessions/${id}`, { title: `still ${canary}` })
    expect(await sessions.get(id)).toMatchObject({ title: 'still ***' })
    expect(found(await everythingOf(id))).toEqual([])
    expect(mock.requests.flatMap(({ bodyText }) => found(bodyText))).toEqual([]) // the model has the masked log
    expect(tools.tokens).toContain(canary) // so it was the real one
  })

  test('is masked where a long answer is truncated: no part of it is left', async () => {
    const long = `${'x'.repeat(29_990)}${canary}${'y'.repeat(100)}`
    tools.shows = { content: [{ type: 'text', text: `${'x'.repeat(29_990)}${inVariable}${'y'.repeat(100)}` }] }
    pageText = long
    mock.script(
      callsShow,
      { parts: [{ tool: 'web_fetch', arguments: JSON.stringify({ url: `http://${pageHost}/` }) }] },
      { parts: [{ text: 'done' }] },
    )
    const id = await sessions.begin(
      await agentWith([
        { type: 'agent_toolset_20260401', configs: [{ name: 'web_fetch', max_content_tokens: 7_500 }] },
      ]),
      'go',
      { vault_ids: [vault] },
    )
    const said = results(await sessions.rested(id))
    expect(said.map(({ text, isError }) => [text.includes('[Cut:'), isError, /can/.test(text)])).toEqual([
      [true, false, false],
      [true, false, false],
    ])
  })

  test('is not previewed, however a model splits it into pieces', async () => {
    const pieces = Array.from(`so: ${canary}, and ${canary.slice(0, 5)}.`)
    const shown = Promise.withResolvers<void>()
    mock.script({
      parts: [
        { text: 'it is ' },
        ...pieces.flatMap((piece) => [{ text: piece }, { pauseMs: 15 }]),
        { text: ' that is all' },
        { wait: shown.promise },
      ],
    })
    const id = await sessions.begin(await agentWith(), null, { vault_ids: [vault] })
    const stream = await openStream(
      `${berth.url}/agents/v1/sessions/${id}/events/stream?event_deltas[]=agent.message`,
      { token },
    )
    await sessions.say(id, 'go')
    let previewed = ''
    while (!previewed.includes('that is all')) {
      const { data } = (await stream.next()) ?? expect.fail(`the stream ended after: ${previewed}`)
      if (data['type'] === 'event_delta') previewed += (data['delta'] as { content: { text: string } }).content.text
    }
    shown.resolve()
    stream.close()
    expect(previewed).toBe(`it is so: ***, and ${canary.slice(0, 5)}. that is all`)
    expect(textOf((await sessions.rested(id)).find(({ type }) => type === 'agent.message'))).toBe(previewed)
  })

  test('stays masked when its credential is rotated, archived, or was taken from the session; and one that is added is masked from then on', async () => {
    mock.script(callsShow, { parts: [{ text: 'one' }] }, callsShow, { parts: [{ text: 'two' }] }, callsShow, {
      parts: [{ text: 'three' }],
    })
    const id = await sessions.begin(await agentWith(), 'first', { vault_ids: [vault] })
    const shows = async (): Promise<string> => results(await sessions.rested(id)).at(-1)?.text ?? ''
    expect(await shows()).not.toContain(canary)
    await call('PUT', `/vaults/${vault}/credentials/${credential}`, {
      auth: { type: 'static_bearer', token: 'canary-rotated-77aa' },
    })
    await add({ type: 'environment_variable', secret_name: 'LATER', secret_value: 'canary-added-88bb' })
    tools.shows = { content: [{ type: 'text', text: `${canary} canary-rotated-77aa canary-added-88bb plain` }] }
    await sessions.say(id, 'second')
    expect(await shows()).toBe('*** *** *** plain')
    await call('POST', `/vaults/${vault}/archive`)
    await call('POST', `/sessions/${id}`, { vault_ids: [] })
    await sessions.say(id, `third, and ${canary}`)
    expect(await shows()).toBe('*** *** *** plain')
    expect(found(await everythingOf(id))).toEqual([])
    await call('POST', `/sessions/${id}/archive`)
    expect(
      (
        await berth.services.database.pool.query('select 1 from session_secrets where session_id = $1', [
          decodeId('session', id),
        ])
      ).rowCount,
    ).toBe(0) // nothing of it is kept for longer
  })

  test('is masked in an outcome, its rubric and its verdict', async () => {
    mock.script(
      { parts: [{ text: 'done' }] },
      { parts: [{ text: JSON.stringify({ result: 'satisfied', explanation: `it says ${canary}` }) }] },
    )
    const id = await sessions.begin(await agentWith(), null, { vault_ids: [vault] })
    await sessions.send(id, {
      type: 'user.define_outcome',
      description: `write ${canary}`,
      rubric: { type: 'text', content: `has ${inVariable}` },
    })
    await sessions.rested(id)
    expect(found(await everythingOf(id))).toEqual([])
    expect(JSON.stringify(await sessions.get(id))).toContain('write ***')
  })

  test('is not in the answer of GET mcp-tools when a server repeats what it was sent', async () => {
    tools.intercept = (_req, res, body) => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      if (method !== 'tools/list') return false
      res.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: {
            resultType: 'complete',
            tools: [{ name: 'show', description: `for ${canary}`, inputSchema: { type: 'object' } }],
          },
        }),
      )
      return true
    }
    try {
      const found = await call<{ data: { tools: { description: string }[] }[] }>(
        'GET',
        `/agents/${await agentWith()}/mcp-tools`,
      )
      expect(found.data[0]?.tools).toMatchObject([{ description: 'for ***' }])
    } finally {
      tools.intercept = null
    }
  })
})

test('a session without vaults shows texts unchanged', async () => {
  mock.script({ parts: [{ text: `I say ${canary}` }] })
  const log = await sessions.rested(
    await sessions.begin(await sessions.agent({ model: 'test/plain' }), `and I ${inVariable}`),
  )
  expect(log.filter(({ type }) => type.endsWith('.message')).map(textOf)).toEqual([
    `and I ${inVariable}`,
    `I say ${canary}`,
  ])
})

test('with more secrets than can be masked together a session cannot start, and one that gets them masks everything', async () => {
  const id = await sessions.begin(await agentWith(), null, { vault_ids: [vault] })
  for (let each = 0; each < 10; each++)
    await add({
      type: 'mcp_oauth',
      mcp_server_url: `https://mcp-${each}.example.com`,
      access_token: 'a'.repeat(16_000) + each,
      refresh: {
        client_id: 'me',
        refresh_token: 'b'.repeat(16_000) + each,
        token_endpoint: 'https://a.example.com/t',
        token_endpoint_auth: { type: 'none' },
      },
    })
  const vaults = [vault]
  for (let more = 0; more < 9; more++) {
    vault = (await call<{ id: string }>('POST', '/vaults', { display_name: 'more' })).id
    vaults.push(vault)
    for (let each = 0; each < 12; each++)
      await add({
        type: 'static_bearer',
        mcp_server_url: `https://mcp-${each}.example.com`,
        token: `${more}-${each}-`.repeat(3_000).slice(0, 16_000),
      })
  }
  const begun = await callAgents<{ error: { message: string } }>(berth, token, 'POST', '/sessions', {
    agent: await agentWith(),
    vault_ids: vaults,
  })
  expect(begun).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('Use fewer vaults') } },
  })
  mock.script({ parts: [{ text: `I say ${canary}` }] })
  await sessions.say(id, 'go')
  await call('POST', `/sessions/${id}`, { vault_ids: vaults })
  const refused = await callAgents<{ error: { message: string } }>(berth, token, 'POST', `/sessions/${id}/events`, {
    events: [message('more')],
  })
  expect(refused).toMatchObject({ status: 400 })
  expect(found(JSON.stringify((await sessions.rested(id)) as Event[]))).toEqual([])
})

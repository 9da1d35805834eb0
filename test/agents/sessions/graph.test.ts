/** Sessions as a graph: the log as typed events, what is sent as one of many, and objects beside ids. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { callAgents, makeAgent, startWithAgent } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { append } from '../../support/sessions.ts'

let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

type Graph = { data: Record<string, never> | null; errors?: { message: string; extensions: { code: string } }[] }
const ask = async (query: string, variables: Record<string, unknown> = {}, as = token): Promise<Graph> =>
  (await berth.ask(query, { token: as, variables })).body as Graph
const call = <Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Answer<Body>> =>
  callAgents<Body>(berth, token, method, path, body)
const make = async (): Promise<string> => (await call<{ id: string }>('POST', '/sessions', { agent })).body.id
const uuid = (id: string): string => decodeId('session', id) ?? ''
const wireLog = async (id: string): Promise<Record<string, unknown>[]> =>
  (await call<{ data: Record<string, unknown>[] }>('GET', `/sessions/${id}/events`)).body.data
const send = `mutation ($input: SendSessionEventsInput!) { sendSessionEvents(input: $input) { events { id type } } }`

describe('a log', () => {
  test('has the events that REST shows, typed, with the objects that they name', async () => {
    const id = await make()
    const useId = newUuid()
    const usage = {
      input_tokens: 3_000_000_000,
      output_tokens: 2,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    }
    await append(
      berth.services.db,
      uuid(id),
      {
        type: 'agent.message',
        data: {
          content: [
            { type: 'text', text: 'hello' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
            { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, title: 'a', context: null },
          ],
        },
      },
      {
        type: 'agent.tool_use',
        id: useId,
        data: { name: 'bash', input: { command: 'ls' }, evaluated_permission: 'ask' },
      },
      {
        type: 'agent.tool_result',
        data: { tool_use_id: encodeId('sessionEvent', useId), content: [{ type: 'text', text: 'x' }], is_error: true },
      },
      {
        type: 'span.model_request_end',
        data: { model_request_start_id: encodeId('sessionEvent', newUuid()), is_error: false, model_usage: usage },
      },
      {
        type: 'session.error',
        data: { error: { type: 'billing_error', message: 'no plan', retry_status: { type: 'exhausted' } } },
      },
      {
        type: 'session.status_idle',
        data: {
          stop_reason: { type: 'requires_action', event_ids: [encodeId('sessionEvent', useId)] },
          stop_details: null,
        },
      },
    )
    const { data, errors } = await ask(
      `query ($id: ID!) { session(id: $id) { events(first: 20) { totalCount nodes { __typename type id createdAt session { id }
        ... on AgentMessage { content { __typename ... on TextBlock { text } ... on ImageBlock { source { ... on Base64Source { mediaType data } } } ... on DocumentBlock { title source { ... on UrlSource { url } } } } }
        ... on AgentToolUse { name input evaluatedPermission }
        ... on AgentToolResult { isError toolUseId toolUse { ... on AgentToolUse { name } } content { ... on TextBlock { text } } }
        ... on SpanModelRequestEnd { modelUsage { inputTokens } modelRequestStart { id } }
        ... on SessionError { error { type message retryStatus } }
        ... on SessionStatusIdle { stopReason { type ... on RequiresAction { eventIds events { __typename } } } } } } } }`,
      { id },
    )
    expect(errors).toBeUndefined()
    const { events } = data!['session'] as unknown as {
      events: { totalCount: number; nodes: Record<string, unknown>[] }
    }
    expect(events.totalCount).toBe(6)
    expect(events.nodes.map((event) => event['id'])).toEqual((await wireLog(id)).map((event) => event['id']))
    expect(events.nodes).toMatchObject([
      {
        __typename: 'AgentMessage',
        type: 'AGENT_MESSAGE',
        createdAt: expect.stringMatching(/Z$/),
        session: { id },
        content: [
          { __typename: 'TextBlock', text: 'hello' },
          { source: { mediaType: 'image/png', data: 'AA==' } },
          { title: 'a', source: { url: 'https://example.com/a.pdf' } },
        ],
      },
      { name: 'bash', input: { command: 'ls' }, evaluatedPermission: 'ASK' },
      {
        isError: true,
        toolUseId: encodeId('sessionEvent', useId),
        toolUse: { name: 'bash' },
        content: [{ text: 'x' }],
      },
      { modelUsage: { inputTokens: 3_000_000_000 }, modelRequestStart: null },
      { error: { type: 'BILLING_ERROR', message: 'no plan', retryStatus: 'EXHAUSTED' } },
      { stopReason: { type: 'REQUIRES_ACTION', events: [{ __typename: 'AgentToolUse' }] } },
    ])
  })

  test('pages both ways, in both orders, filtered by kind; a cursor of another list is refused', async () => {
    const id = await make()
    const said = (text: string) => ({ type: 'agent.message', data: { content: [{ type: 'text', text }] } })
    await append(berth.services.db, uuid(id), said('one'), { type: 'agent.thinking' }, said('two'), said('three'))
    type Page = { nodes: { content: { text: string }[] }[]; pageInfo: Record<string, unknown>; totalCount: number }
    const page = async (rest: string): Promise<{ texts: string[]; page: Page }> => {
      const { data, errors } = await ask(
        `query ($id: ID!) { sessionEvents(sessionId: $id, filter: {types: [AGENT_MESSAGE]}, ${rest}) { totalCount nodes { ... on AgentMessage { content { ... on TextBlock { text } } } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
        { id },
      )
      expect(errors).toBeUndefined()
      const found = data!['sessionEvents'] as unknown as Page
      return { texts: found.nodes.map(({ content }) => content[0]?.text ?? ''), page: found }
    }
    const first = await page('first: 2')
    expect(first).toMatchObject({ texts: ['one', 'two'], page: { totalCount: 3, pageInfo: { hasNextPage: true } } })
    const end = String(first.page.pageInfo['endCursor'])
    expect(await page(`first: 2, after: "${end}"`)).toMatchObject({
      texts: ['three'],
      page: { pageInfo: { hasNextPage: false, hasPreviousPage: true } },
    })
    expect((await page(`last: 1, before: "${end}"`)).texts).toEqual(['one'])
    expect((await page('first: 9, order: DESC')).texts).toEqual(['three', 'two', 'one'])
    for (const wrong of ['after: "x"', 'after: "1"', 'first: 1001', 'first: 1, last: 1'])
      expect(
        await ask(`query ($id: ID!) { sessionEvents(sessionId: $id, ${wrong}) { totalCount } }`, { id }),
      ).toMatchObject({
        errors: [{ extensions: { code: 'INVALID_REQUEST' } }],
      })
  })

  test('may be selected by many kinds, of which only the largest counts, since an event has one kind', async () => {
    const id = await make()
    const kinds = [
      'UserMessage',
      'SystemMessage',
      'AgentMessage',
      'AgentToolResult',
      'AgentMcpToolResult',
      'UserToolResult',
    ]
    const asked = kinds.map((kind) => `... on ${kind} { content { ... on TextBlock { text } } }`).join(' ')
    const query = `query ($id: ID!, $first: Int) { session(id: $id) { events(first: $first) { nodes { type ${asked} } } } }`
    expect((await ask(query, { id, first: 570 })).errors).toBeUndefined()
    expect(await ask(query, { id, first: 572 })).toMatchObject({
      errors: [{ message: expect.stringContaining('objects; 2000 are allowed') }],
    })
  })

  test('of another person is not found, nor is an event in it to which one’s own event refers', async () => {
    const other = await berth.token('bob', 'bolt')
    const id = await make()
    const [use] = await append(berth.services.db, uuid(id), {
      type: 'agent.tool_use',
      data: { name: 'bash', input: {}, evaluated_permission: 'allow' },
    })
    const order = { agent: await makeAgent(berth, other) }
    const theirs = (await callAgents<{ id: string }>(berth, other, 'POST', '/sessions', order)).body.id
    await append(berth.services.db, uuid(theirs), {
      type: 'agent.tool_result',
      data: { tool_use_id: encodeId('sessionEvent', use?.id ?? ''), content: [], is_error: false },
    })
    const query =
      'query ($id: ID!) { session(id: $id) { events { nodes { ... on AgentToolResult { toolUseId toolUse { id } } } } } }'
    expect((await ask(query, { id: theirs }, other)).data).toEqual({
      session: { events: { nodes: [{ toolUseId: encodeId('sessionEvent', use?.id ?? ''), toolUse: null }] } },
    })
    expect(await ask(query, { id }, other)).toMatchObject({
      data: { session: null },
      errors: [{ extensions: { code: 'NOT_FOUND' } }],
    })
    const nodes = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }'
    expect((await ask(nodes, { ids: [id, theirs] }, other)).data).toEqual({ nodes: [null, { id: theirs }] })
  })
})

describe('what is sent', () => {
  test('is one of the kinds that clients may send, and is stored as REST stores it', async () => {
    const id = await make()
    const { data } = await ask(send, {
      input: {
        sessionId: id,
        events: [
          {
            userMessage: {
              content: [
                { text: { text: 'look' } },
                { image: { source: { url: { url: 'https://example.com/a.png' } } } },
                { document: { source: { text: { mediaType: 'text/plain', data: 'x' } }, title: 't' } },
              ],
            },
          },
          { systemMessage: { content: [{ text: { text: 'be brief' } }] } },
          {
            userDefineOutcome: { description: 'done', rubric: { text: { content: 'it is done' } }, maxIterations: 2 },
          },
        ],
      },
    })
    const { events } = data!['sendSessionEvents'] as unknown as {
      events: { id: string; type: string }[]
    }
    const log = await wireLog(id)
    expect(log.slice(0, 3).map((event) => event['id'])).toEqual(events.map((event) => event.id))
    expect(events.map(({ type }) => type)).toEqual(['USER_MESSAGE', 'SYSTEM_MESSAGE', 'USER_DEFINE_OUTCOME'])
    expect(log[0]).toEqual({
      id: expect.stringMatching(/^sevt_/),
      type: 'user.message',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'x' },
          title: 't',
          context: null,
        },
      ],
      processed_at: null,
    })
    expect(log[2]).toMatchObject({ rubric: { type: 'text', content: 'it is done' }, max_iterations: 2 })
  })

  test.each([
    ['none of them', {}],
    ['two of them', { userInterrupt: true, userMessage: { content: [{ text: { text: 'x' } }] } }],
    ['an interrupt that is none', { userInterrupt: false }],
    ['a block that is two', { userMessage: { content: [{ text: { text: 'x' }, image: null }] } }],
    ['a kind that clients may not send', { agentMessage: { content: [] } }],
    ['no content', { userMessage: {} }],
    ['an empty message', { userMessage: { content: [] } }],
    [
      'too many blocks',
      {
        userMessage: { content: Array.from({ length: limits.contentBlocksMax + 1 }, () => ({ text: { text: 'x' } })) },
      },
    ],
    ['a file', { userMessage: { content: [{ image: { source: { file: { fileId: 'file_x' } } } }] } }],
  ])('is refused with 400 when it is %s, and nothing is logged', async (_, event) => {
    const id = await make()
    const { body, status } = await berth.ask(send, { token, variables: { input: { sessionId: id, events: [event] } } })
    expect([200, 400]).toContain(status)
    expect(body).toMatchObject({ errors: [{ message: expect.stringMatching(/[.?]$/) }] })
    expect(JSON.stringify(body)).not.toContain('INTERNAL')
    expect(await wireLog(id)).toEqual([])
  })

  test('over REST is refused with its place before millions of blocks are read', async () => {
    const id = await make()
    const post = (events: unknown): Promise<Answer<{ error: { message: string } }>> =>
      call('POST', `/sessions/${id}/events`, { events })
    const block = { type: 'text', text: 'x' }
    for (const [events, said] of [
      [[{ type: 'user.shout' }], 'events[0].type must be one of system.message, user.custom_tool_result'],
      [
        [{ type: 'user.message', content: [block, { type: 'video' }] }],
        'events[0].content[1].type must be one of document, image, text',
      ],
      [[{ type: 'user.message', content: [{ ...block, txet: 'x' }] }], 'events[0].content[0].txet'],
      [[{ type: 'user.interrupt', content: [] }], 'events[0].content'],
      [Array.from({ length: 101 }, () => ({ type: 'user.interrupt' })), 'events may hold at most 100'],
      [
        [{ type: 'user.message', content: Array.from({ length: 101 }, () => block) }],
        'events[0].content may hold at most 100',
      ],
    ] as const) {
      const answer = await post(events)
      expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(said)])
    }
    expect(await wireLog(id)).toEqual([])
  })
})

test('a session has its vaults, its usage and its budget as objects, and how far it was read', async () => {
  const vault = (await call<{ id: string }>('POST', '/vaults', { display_name: 'v' })).body.id
  const made = await ask(
    `mutation ($input: CreateSessionInput!) { createSession(input: $input) { session { id status kind vaultIds vaults { id displayName } budget { type maxListCost { amount currency } } usage { inputTokens listCost { amount } } stats { durationSeconds } stopReason { type } } } }`,
    {
      input: {
        agent: { agent: { id: agent, version: 1 } },
        vaultIds: [vault],
        metadata: { k: 'v' },
        budget: { limit: { maxListCost: { amount: '2.5', currency: 'USD' } } },
      },
    },
  )
  expect(made).toMatchObject({
    data: {
      createSession: {
        session: {
          status: 'IDLE',
          kind: 'CHAT',
          vaultIds: [vault],
          vaults: [{ id: vault, displayName: 'v' }],
          budget: { type: 'LIMIT', maxListCost: { amount: '2.50', currency: 'USD' } },
          usage: { inputTokens: 0, listCost: { amount: '0.00' } },
          stopReason: null,
        },
      },
    },
  })
  const { id } = (made.data!['createSession'] as unknown as { session: { id: string } }).session
  await append(berth.services.db, uuid(id), { type: 'agent.thinking' })
  const seen = await ask(
    'query ($id: ID!) { session(id: $id) { activity { lastEventId lastEvent { __typename id } lastReadEvent { id } } } }',
    { id },
  )
  const { activity } = seen.data!['session'] as unknown as { activity: { lastEventId: string } }
  expect(activity).toEqual({
    lastEventId: activity.lastEventId,
    lastEvent: { __typename: 'AgentThinking', id: activity.lastEventId },
    lastReadEvent: null,
  })
  await call('DELETE', `/vaults/${vault}`)
  const left = await ask('query ($id: ID!) { session(id: $id) { vaultIds vaults { id } } }', { id })
  expect(left).toEqual({ data: { session: { vaultIds: [vault], vaults: [] } } })
})

test('a shared transcript is read without credentials, page by page', async () => {
  const id = await make()
  const said = (text: string) => ({ type: 'agent.message', data: { content: [{ type: 'text', text }] } })
  await append(berth.services.db, uuid(id), said('one'), said('two'))
  await call('PUT', `/sessions/${id}/sharing`, { shared: true })
  const query =
    'query ($id: ID!) { sharedSession(id: $id) { id agent { name } transcript(first: 1) { totalCount nodes { type content { ... on TextBlock { text } } } pageInfo { hasNextPage } } } }'
  expect((await berth.ask(query, { variables: { id } })).body).toMatchObject({
    data: {
      sharedSession: {
        id,
        transcript: {
          totalCount: 2,
          nodes: [{ type: 'AGENT_MESSAGE', content: [{ text: 'one' }] }],
          pageInfo: { hasNextPage: true },
        },
      },
    },
  })
})

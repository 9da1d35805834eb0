/** Agents that ask one another: answers, states, refusals, and ends in the middle. No VM. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { results, textOf, types } from '../../support/agent-sessions.ts'
import { callAgents, refusal } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'
import { ask, askToo, exchangeId, peerWorld, type PeerWorld } from './world.ts'

let berth: Berth
let own: PeerWorld
let people = 0
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
})
beforeEach(async () => {
  own = peerWorld(berth, await berth.token(`person${people++}`, 'acme', 'member'))
})
afterAll(() => berth?.stop())

const weather = { type: 'custom', name: 'weather', description: 'Tells it.', input_schema: { type: 'object' } }
const call = <Body>(method: string, path: string, body?: unknown, as = own.token) =>
  callAgents<Body>(berth, as, method, path, body)

describe('an agent that asks another one', () => {
  test('gets its answer as the result of its call, while its session runs on', async () => {
    const asked = await own.idle()
    const asker = await own.begin(await own.asking(), `${ask(asked, 'What is it?\n!say It is 42.')}\n!say Thanks.`, {
      title: 'A question\nand more',
    })
    const log = await own.rested(asker)
    expect(results(log)).toEqual([{ text: 'It is 42.', isError: false }])
    expect(types(log)).toEqual([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'span.model_request_end',
      'agent.tool_use',
      'agent.tool_result',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ])
    const [exchange] = await own.exchanges(log)
    expect(exchange).toEqual({
      id: exchangeId(log[4]),
      type: 'peer_exchange',
      requester_session_id: asker,
      responder_session_id: asked,
      request: { text: 'What is it?\n!say It is 42.' },
      answer: { text: 'It is 42.' },
      state: 'completed',
      attachment: null,
      error: null,
      created_at: expect.any(String),
      updated_at: exchange?.finished_at,
      expires_at: expect.any(String),
      finished_at: expect.any(String),
    })
    expect(exchange?.id).toMatch(/^pex_/)
    expect(log.filter(({ peer_exchange_id: id }) => id === exchange?.id).map(({ type }) => type)).toEqual([
      'agent.tool_use',
      'agent.tool_result',
    ])
    const wanted = 'peerExchangeId peerExchange { answer { text } }'
    const { body } = await berth.ask(
      `{ session(id: "${asker}") { events(first: 20) { nodes { ... on AgentToolUse { ${wanted} } ... on AgentToolResult { ${wanted} } } } } }`,
      { token: own.token },
    )
    const inGraph = { peerExchangeId: exchange?.id, peerExchange: { answer: { text: 'It is 42.' } } }
    expect(body.data).toMatchObject({ session: { events: { nodes: expect.arrayContaining([inGraph]) } } })
    expect(JSON.stringify(body.data).match(/pex_/g)).toHaveLength(2)
    const lifeMs = Date.parse(exchange?.expires_at ?? '') - Date.parse(exchange?.created_at ?? '')
    expect(lifeMs).toBe(24 * 3_600_000)
    const [told] = await own.log(asked)
    expect(textOf(told)).toContain(`The agent "helper", in the session ${asker} ("A question\\nand more"), asks you`)
    expect(textOf(told)).toContain('not the user')
  })

  test('asks several at once, and something else with them', async () => {
    const [one, other] = [await own.idle(), await own.idle()]
    const script = `${ask(one, '!say one')}\n${askToo(other, '!pace 100\n!say other')}\n!tool+ recall {"query": "x"}\n!tool+ weather {}\n!say done`
    const asker = await own.begin(await own.asking([weather]), script)
    const [use] = (await own.rested(asker)).filter(({ type }) => type === 'agent.custom_tool_use')
    await own.send(asker, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: use?.id,
      content: [{ type: 'text', text: 'rain' }],
    })
    const log = await own.rested(asker)
    expect(
      results(log)
        .map(({ text }) => text)
        .sort(),
    ).toEqual(['Nothing was kept about this.', 'one', 'other', 'rain'])
    expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('done')
    expect(types(log).filter((type) => type === 'session.status_idle')).toHaveLength(2)
    expect((await own.exchanges(log)).map(({ state }) => state)).toEqual(['completed', 'completed'])
  })

  test('asks an agent of its user’s by a new session of it, which has no more money than the one that asks', async () => {
    const agent = await own.agent({ name: 'expert' })
    const asker = await own.begin(await own.asking(), `${ask(agent, '!say I am new.')}\n!say done`, {
      budget: { type: 'limit', max_list_cost: { amount: '1.50', currency: 'USD' } },
    })
    const log = await own.rested(asker)
    expect(results(log)).toEqual([{ text: 'I am new.', isError: false }])
    const [exchange] = await own.exchanges(log)
    expect((await call('GET', `/sessions/${exchange?.responder_session_id}`)).body).toMatchObject({
      agent_id: agent,
      source: 'peer',
      title: 'Asked by helper',
      budget: { max_list_cost: { amount: '1.50' } },
    })
    const { body } = await berth.ask(
      `{ session(id: "${exchange?.responder_session_id}") { source { __typename ... on PeerExchange { id } } } }`,
      { token: own.token },
    )
    expect(body.data).toEqual({ session: { source: { __typename: 'PeerExchange', id: exchange?.id } } })
  })

  test('spends its own money by whomever it starts, and by those whom they start', async () => {
    const agent = await own.asking()
    const asker = await own.begin(await own.asking(), `${ask(agent, '!say one')}\n!say done`, {
      budget: { type: 'limit', max_list_cost: { amount: '1.50', currency: 'USD' } },
    })
    const startedBy = async (session: string): Promise<string> =>
      (await own.exchanges(await own.rested(session))).at(-1)?.responder_session_id ?? ''
    const spend = (session: string, dollars: number) =>
      change(
        berth.services.db,
        sql`update sessions set cost_nano_usd = ${dollars * 1e9} where id = ${decodeId('session', session)}`,
      )
    const left = async (session: string) =>
      (await call<{ budget: { max_list_cost: { amount: string } } }>('GET', `/sessions/${session}`)).body.budget
        .max_list_cost.amount
    const first = await startedBy(asker)
    await spend(first, 0.5)
    await own.say(first, `${ask(agent, '!say two')}\n!say done`)
    const inner = await startedBy(first)
    expect(await left(inner)).toBe('1.00')
    await spend(inner, 0.75)
    await own.say(asker, `${ask(agent, '!say three')}\n!say done`)
    const second = await startedBy(asker)
    expect(await left(second)).toBe('0.25')
    await spend(second, 0.25)
    for (const session of [asker, first, inner]) {
      await own.say(session, '!say more')
      await own.rested(session)
      expect((await own.get(session)).stop_reason).toEqual({ type: 'budget_reached' })
    }
  })

  test('asks its user first where its policy says so', async () => {
    const asked = await own.idle()
    const policy = { permission_policy: { type: 'always_ask' } }
    const agent = await own.agent({ tools: [{ type: 'berth_toolset_v1', default_config: policy }] })
    const answers: string[] = []
    for (const result of ['deny', 'allow']) {
      const asker = await own.begin(agent, `${ask(asked, '!say yes')}\n!say done`)
      await own.rested(asker)
      const use = (await own.get(asker)).stop_reason?.event_ids?.[0]
      await own.send(asker, { type: 'user.tool_confirmation', tool_use_id: use, result })
      answers.push(...results(await own.rested(asker)).map(({ text }) => text))
    }
    expect(answers).toEqual(['The user denied this call.', 'yes'])
  })

  test('waits for one that is busy, and is approved by its user only', async () => {
    const asked = await own.begin(await own.asking([weather]), '!tool weather {}\n!say first')
    const [use] = (await own.rested(asked)).filter(({ type }) => type === 'agent.custom_tool_use')
    const asker = await own.begin(await own.asking(), `${ask(asked, '!tool weather {}\n!say second')}\n!say done`)
    const { id } = await own.inState(asker, 'submitted')
    const answer = (to: string | undefined) => ({
      type: 'user.custom_tool_result',
      custom_tool_use_id: to,
      content: [{ type: 'text', text: 'rain' }],
    })
    await own.send(asked, answer(use?.id))
    await own.inState(asker, 'input_required')
    expect((await own.get(asker)).status).toBe('running')
    await own.send(asked, answer((await own.get(asked)).stop_reason?.event_ids?.[0]))
    expect(results(await own.rested(asker))).toEqual([{ text: 'second', isError: false }])
    const query = (after: string): string =>
      `subscription { peerExchangeEvents(id: "${id}"${after}) { ... on PeerExchangeEvent { cursor state peerExchange { state } } } }`
    const states = async (after: string): Promise<string[]> => {
      const stream = await fetch(`${berth.url}/graphql?${new URLSearchParams({ query: query(after) })}`, {
        headers: { authorization: `Bearer ${own.token}`, accept: 'text/event-stream' },
      })
      return [...(await stream.text()).matchAll(/"state":"(\w+)","peerExchange":\{"state":"COMPLETED"\}/g)].map(
        ([, state]) => state ?? '',
      ) // it ends with the exchange
    }
    expect(await states(', after: "0"')).toEqual(['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
    expect(await states(', after: "3"')).toEqual(['WORKING', 'COMPLETED'])
    expect(await states('')).toEqual(['COMPLETED'])
  })
})

describe('nobody is asked', () => {
  test('by an id that is not a session’s of the same person: then the agent learns which are', async () => {
    const other = peerWorld(berth, await berth.token('somebody', 'acme', 'member'))
    const elsewhere = peerWorld(berth, await berth.token('person-elsewhere', 'other', 'owner'))
    const foreign = [await other.idle(), await elsewhere.idle(), 'sesn_00000000000000000000000000', '?']
    const mine = await own.begin(await own.asking(), null, { title: 'Mine' })
    for (const named of foreign) {
      const log = await own.rested(await own.begin(await own.asking(), `${ask(named, 'Tell me.')}\n!say done`))
      const [result] = results(log)
      expect(result).toMatchObject({ isError: true, text: expect.stringMatching(/^Nobody was asked: the user has no/) })
      expect(result?.text).toContain(
        JSON.stringify({ session_id: mine, agent: 'helper', title: 'Mine', status: 'idle' }),
      )
      expect(result?.text).not.toContain(foreign[0])
      expect((await own.exchange(exchangeId(log.find(({ name }) => name === 'ask_peer')))).status).toBe(404)
    }
  })

  test('that is archived, or the session itself: the exchange is rejected', async () => {
    const archived = await own.idle()
    expect((await call('POST', `/sessions/${archived}/archive`)).status).toBe(200)
    const asker = await own.idle()
    await own.say(asker, `${ask(archived, 'x')}\n${askToo(asker, 'x')}\n!say done`)
    const log = await own.rested(asker)
    expect(
      results(log)
        .map(({ text }) => text)
        .sort(),
    ).toEqual([
      expect.stringMatching(/^Nobody was asked: That session is archived/),
      expect.stringMatching(/^Nobody was asked: This is your own session/),
    ])
    expect(await own.exchanges(log)).toMatchObject([
      { state: 'rejected', error: { type: 'session_archived' }, answer: null, finished_at: expect.any(String) },
      { state: 'rejected', error: { type: 'invalid_request_error' } },
    ])
  })

  test('in a circle, directly or through others', async () => {
    const [one, two, three] = [await own.idle(), await own.idle(), await own.idle()]
    const back = (to: string): string => `${ask(to, '!say never')}\n!say back`
    await own.say(one, `${ask(two, `${ask(three, back(one))}\n!say through two`)}\n!say through one`)
    const log = await own.rested(one)
    expect(results(log)).toEqual([{ isError: false, text: 'through two' }])
    expect(results(await own.log(three))).toEqual([
      { isError: true, text: expect.stringContaining('neither would ever get one') },
    ])
    expect(await own.exchanges(await own.log(three))).toMatchObject([
      { state: 'rejected', error: { type: 'circle_error' } },
    ])
  })

  test('deeper than the limit, or more often than one message may lead to', async () => {
    const agent = await own.asking()
    const deep = (left: number): string =>
      left === 0 ? '!say bottom' : `${ask(agent, deep(left - 1))}\n!say level ${left}`
    await own.rested(await own.begin(agent, deep(5)))
    const { body } = await berth.ask('{ peerExchanges(first: 20) { nodes { depth state } } }', { token: own.token })
    expect(body.data).toEqual({
      peerExchanges: { nodes: [4, 3, 2, 1].map((depth) => ({ depth, state: 'COMPLETED' })) },
    })
    const asked = await own.idle()
    const asker = await own.begin(agent, `!forever ask_peer ${JSON.stringify({ session_id: asked, text: '!say yes' })}`)
    const last = async () => results(await own.log(asker)).at(-1)
    await until('it may ask no more', async () => (await last())?.isError === true, 50_000, 200)
    expect((await last())?.text).toContain('has led to 30 requests')
    await own.send(asker, { type: 'user.interrupt' })
    await own.rested(asker)
  }, 60_000)

  test('with arguments that do not fit', async () => {
    const wrong = [{ session_id: 'x' }, { text: 'x' }, { session_id: 1, text: 'x' }, { session_id: 'x', text: '' }]
    const lines = [...wrong, { session_id: 'x', text: 'x'.repeat(32_001) }, { session_id: 'x', text: 'x', more: 1 }]
    const script = lines.map((input, at) => `!tool${at > 0 ? '+' : ''} ask_peer ${JSON.stringify(input)}`).join('\n')
    const log = await own.rested(await own.begin(await own.asking(), `${script}\n!say done`))
    expect(results(log)).toHaveLength(lines.length)
    for (const { isError, text } of results(log)) {
      expect(isError).toBe(true)
      expect(text).not.toContain('Nobody was asked: the user')
    }
  })

  test('about a file without a machine', async () => {
    const log = await own.rested(
      await own.begin(await own.asking(), `${ask(await own.idle(), 'x', { path: '/etc/passwd' })}\n!say done`),
    )
    expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('this session has no machine') }])
  })
})

const endless = '!pace 50\n!repeat 2000 word'

describe('an exchange that does not come to its end', () => {
  async function underWay(): Promise<{ asker: string; asked: string; id: string }> {
    const asked = await own.idle()
    const asker = await own.begin(await own.asking(), `${ask(asked, endless)}\n!say went on`)
    const { id } = await own.inState(asker, 'working')
    return { asker, asked, id }
  }

  test('is stopped: the responder is interrupted, and the requester goes on', async () => {
    const { asker, asked, id } = await underWay()
    expect((await call('POST', `/peer-exchanges/${id}/stop`)).status).toBe(204)
    const log = await own.rested(asker)
    expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('was cancelled before') }])
    expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('went on')
    expect(types(await own.rested(asked))).toContain('user.interrupt')
    expect((await call('POST', `/peer-exchanges/${id}/stop`)).status).toBe(204)
    expect((await own.exchange(id)).body).toMatchObject({ state: 'cancelled', answer: null, error: null })
  })

  test('is cancelled with the turn of whoever asked, at once, and so are those inside of it', async () => {
    const bottom = await own.idle()
    const middle = await own.idle()
    const top = await own.begin(await own.asking(), `${ask(middle, `${ask(bottom, endless)}\n!say x`)}\n!say y`)
    await own.inState(middle, 'working')
    await own.send(top, { type: 'user.interrupt' })
    const log = await own.rested(top)
    expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('The user interrupted') }])
    await own.rested(middle)
    await own.rested(bottom)
    expect(await own.exchanges(log)).toMatchObject([{ state: 'cancelled' }])
    expect(await own.exchanges(await own.log(middle))).toMatchObject([{ state: 'cancelled' }])
    await own.say(top, '!say again')
    expect(textOf((await own.rested(top)).findLast(({ type }) => type === 'agent.message'))).toBe('again')
  })

  test('is cancelled when whoever asked is deleted', async () => {
    const { asker, asked, id } = await underWay()
    expect((await call('DELETE', `/sessions/${asker}`)).status).toBe(204)
    await own.rested(asked)
    expect((await own.exchange(id)).body).toMatchObject({ state: 'cancelled', requester_session_id: asker })
  })

  test('fails when its responder is deleted, or has reached its budget', async () => {
    const { asker, asked, id } = await underWay()
    expect((await call('DELETE', `/sessions/${asked}`)).status).toBe(204)
    const log = await own.rested(asker)
    const [ended] = await own.exchanges(log)
    expect(ended?.id).toBe(id)
    expect(['failed', 'cancelled']).toContain(ended?.state) // it is interrupted first
    expect(results(log)).toMatchObject([{ isError: true }])
    const poor = await own.begin(await own.asking(), null, {
      budget: { type: 'limit', max_list_cost: { amount: '0', currency: 'USD' } },
    })
    const next = await own.rested(await own.begin(await own.asking(), `${ask(poor, '!say x')}\n!say done`))
    expect(results(next)).toEqual([{ isError: true, text: expect.stringContaining('has reached its budget') }])
    expect(await own.exchanges(next)).toMatchObject([{ state: 'failed', error: { type: 'budget_reached' } }])
  })

  test('is rejected when its responder is archived before it has begun', async () => {
    const asked = await own.begin(await own.asking([weather]), '!tool weather {}')
    await own.rested(asked)
    const asker = await own.begin(await own.asking(), `${ask(asked, '!say x')}\n!say done`)
    await own.inState(asker, 'submitted')
    expect((await call('POST', `/sessions/${asked}/archive`)).status).toBe(200)
    const log = await own.rested(asker)
    expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('Nobody was asked') }])
    expect(await own.exchanges(log)).toMatchObject([{ state: 'rejected', error: { type: 'session_archived' } }])
  })
})

test('an exchange is found in GraphQL, with both sessions, from each of them, and in lists', async () => {
  const asked = await own.idle()
  const asker = await own.begin(await own.asking(), `${ask(asked, '!say x')}\n!say done`)
  const [exchange] = await own.exchanges(await own.rested(asker))
  const fields =
    '{ nodes { id requesterSession { id } responderSession { id } request { text } answer { text } state } }'
  const { body } = await berth.ask(
    `{ node(id: "${exchange?.id}") { id ... on PeerExchange { depth attachment { filename } organization { name } } }
      asked: session(id: "${asked}") { askedPeerExchanges(first: 5) ${fields} answeredPeerExchanges(first: 5) ${fields} }
      asker: session(id: "${asker}") { askedPeerExchanges(first: 5) ${fields} answeredPeerExchanges(first: 5) ${fields} }
      mine: peerExchanges(first: 5, filter: { sessionId: "${asked}", states: [COMPLETED] }) ${fields}
      none: peerExchanges(first: 5, filter: { states: [WORKING] }) ${fields}
      malformed: peerExchanges(first: 5, filter: { sessionId: "x" }) ${fields}
      viewer { organization { peerExchanges(first: 5) ${fields} } } }`,
    { token: own.token },
  )
  const shown = {
    nodes: [
      {
        id: exchange?.id,
        requesterSession: { id: asker },
        responderSession: { id: asked },
        request: { text: '!say x' },
        answer: { text: 'x' },
        state: 'COMPLETED',
      },
    ],
  }
  const none = { nodes: [] }
  expect(body).toEqual({
    data: {
      node: { id: exchange?.id, depth: 1, attachment: null, organization: { name: 'acme' } },
      asked: { askedPeerExchanges: none, answeredPeerExchanges: shown },
      asker: { askedPeerExchanges: shown, answeredPeerExchanges: none },
      mine: shown,
      none,
      malformed: none,
      viewer: { organization: { peerExchanges: shown } },
    },
  })
  const { body: stopped } = await berth.ask(
    `mutation { stopPeerExchange(input: { id: "${exchange?.id}" }) { peerExchange { state } } }`,
    { token: own.token },
  )
  expect(stopped.data).toEqual({ stopPeerExchange: { peerExchange: { state: 'COMPLETED' } } })
})

describe('over REST', () => {
  test('an exchange is its owner’s, and needs a token of theirs', async () => {
    const log = await own.rested(await own.begin(await own.asking(), `${ask(await own.idle(), '!say x')}\n!say done`))
    const [exchange] = await own.exchanges(log)
    const path = `/peer-exchanges/${exchange?.id}`
    const others = [await berth.token('colleague', 'acme', 'owner'), await berth.token('stranger', 'other', 'owner')]
    for (const as of others) {
      expect(await call('GET', path, undefined, as)).toMatchObject(refusal(404, 'not_found'))
      expect(await call('POST', `${path}/stop`, undefined, as)).toMatchObject(refusal(404, 'not_found'))
      expect((await call('GET', `${path}/attachment`, undefined, as)).status).toBe(404)
    }
    for (const bad of ['pex_x', 'sesn_00000000000000000000000000', '%00', 'pex_00000000000000000000000000']) {
      expect((await call('GET', `/peer-exchanges/${bad}`)).status).toBe(404)
      expect((await call('POST', `/peer-exchanges/${bad}/stop`)).status).toBe(404)
    }
    expect((await berth.call('GET', `/agents/v1${path}`)).status).toBe(401)
    expect((await call('POST', `${path}/stop`, { reason: 'x' })).status).toBe(400)
    expect((await call('GET', `${path}/attachment`)).status).toBe(404)
    expect((await call('POST', `${path}/stop`, undefined, await berth.token('viewer', 'acme', 'viewer'))).status).toBe(
      403,
    )
  })
})

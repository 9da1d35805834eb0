/** The loop against the built-in model: turns, tools of the client, confirmations, interrupts, limits. No VM. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentSessions, message, results, textOf, types, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let sessions: AgentSessions
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  sessions = agentSessions(berth, await berth.token())
})
afterAll(() => berth?.stop())

const weather = {
  type: 'custom',
  name: 'weather',
  description: 'Tells the weather.',
  input_schema: {
    type: 'object',
    properties: { town: { type: 'string' } },
    required: ['town'],
    additionalProperties: false,
  },
}

describe('a turn', () => {
  test('goes from the message to idle, in the documented order', async () => {
    const id = await sessions.begin(await sessions.agent(), '!say hello there')
    const log = await sessions.rested(id)
    expect(types(log)).toEqual([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ])
    expect(textOf(log[3])).toBe('hello there')
    expect(log[4]).toMatchObject({
      model_request_start_id: log[2]?.id,
      is_error: false,
      model_usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    })
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
    expect(log.every(({ processed_at }) => processed_at !== null)).toBe(true)
    expect((await sessions.get(id)).usage).toMatchObject({ output_tokens: expect.any(Number) })
  })

  test('is billed as requests that show their session to its owner only', async () => {
    const id = await sessions.begin(await sessions.agent({ model: 'berth/demo' }), '!say hello')
    await sessions.rested(id)
    const requests = async (token: string): Promise<{ id: string; session: { id: string } | null }[]> => {
      const { body } = await berth.ask(
        '{ viewer { organization { inferenceRequests { nodes { id route session { id } } } } } }',
        {
          token,
        },
      )
      expect(body.errors).toBeUndefined()
      const { viewer } = body.data as {
        viewer: { organization: { inferenceRequests: { nodes: { id: string; session: { id: string } | null }[] } } }
      }
      return viewer.organization.inferenceRequests.nodes
    }
    const [newest] = await requests(await berth.token())
    expect(newest?.session).toEqual({ id })
    const colleagues = await requests(await berth.token('martha', 'acme', 'admin'))
    expect(colleagues.find((one) => one.id === newest?.id)).toMatchObject({ route: 'AGENT', session: null })
  })

  test('has reasoning before the answer, which is sent back to the same model', async () => {
    const agent = await sessions.agent({ model: { id: 'berth/demo', effort: 'low' }, tools: [weather] })
    const id = await sessions.begin(agent, '!tool weather {"town":"Bern"}\n!say sunny')
    const waiting = await sessions.rested(id)
    expect(types(waiting).slice(2)).toEqual([
      'span.model_request_start',
      'agent.thinking',
      'span.model_request_end',
      'agent.custom_tool_use',
      'session.usage',
      'session.status_idle',
    ])
    await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: waiting[5]?.id,
      content: [{ type: 'text', text: '20 °C' }],
    })
    const log = await sessions.rested(id) // the demo model refuses a block whose signature does not fit
    expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('sunny')
    expect(JSON.stringify(log)).not.toContain('I was asked to reason')
  })

  test('includes messages that arrive meanwhile', async () => {
    const id = await sessions.begin(await sessions.agent(), '!pace 100\n!repeat 10 word')
    await sessions.say(id, '!say second')
    const log = await sessions.rested(id)
    expect(
      log
        .filter(({ type }) => type === 'agent.message')
        .map(textOf)
        .at(-1),
    ).toBe('second')
    expect(log.filter(({ type }) => type === 'session.status_idle')).toHaveLength(1)
  })
})

describe('tools of the client', () => {
  test('are waited for, also when only some are answered', async () => {
    const id = await sessions.begin(
      await sessions.agent({ tools: [weather] }),
      '!tool weather {"town":"Bern"}\n!tool+ weather {"town":"Rome"}\n!say done',
    )
    const first = await sessions.rested(id)
    const uses = first.filter(({ type }) => type === 'agent.custom_tool_use')
    expect(uses.map(({ name, input }) => [name, input])).toEqual([
      ['weather', { town: 'Bern' }],
      ['weather', { town: 'Rome' }],
    ])
    expect(first.at(-1)).toMatchObject({
      stop_reason: { type: 'requires_action', event_ids: uses.map((use) => use.id) },
    })
    await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: uses[0]?.id,
      content: [{ type: 'text', text: 'rain' }],
    })
    expect((await sessions.get(id)).stop_reason).toEqual({ type: 'requires_action', event_ids: [uses[1]?.id] })
    await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: uses[1]?.id,
      content: [{ type: 'text', text: 'sun' }],
    })
    await until('it said so', async () => (await sessions.log(id)).some((event) => textOf(event) === 'done'))
    expect((await sessions.rested(id)).at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  })

  test('ask_user is one of them', async () => {
    const id = await sessions.begin(
      await sessions.agent({ tools: [{ type: 'berth_toolset_v1' }] }),
      '!tool ask_user {"question":"Which one?","options":["a","b"]}',
    )
    const log = await sessions.rested(id)
    const use = log.find(({ type }) => type === 'agent.custom_tool_use')
    expect(use).toMatchObject({ name: 'ask_user', input: { question: 'Which one?' } })
    await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: use?.id,
      content: [{ type: 'text', text: 'the blue one' }],
    })
    await until('the answer was heard', async () =>
      (await sessions.log(id)).some(
        (event) => textOf(event).includes('the blue one') && event.type === 'agent.message',
      ),
    )
  })
})

describe('confirmations', () => {
  const asking = { type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }
  test('allow and deny each call by itself; the model is told about a denial', async () => {
    const id = await sessions.begin(
      await sessions.agent({ tools: [asking] }),
      '!tool web_fetch {"url":"http://127.0.0.1:1/a"}\n!tool+ web_fetch {"url":"http://127.0.0.1:1/b"}',
    )
    const uses = (await sessions.rested(id)).filter(({ type }) => type === 'agent.tool_use')
    expect(uses.map(({ evaluated_permission }) => evaluated_permission)).toEqual(['ask', 'ask'])
    await sessions.send(
      id,
      { type: 'user.tool_confirmation', tool_use_id: uses[0]?.id, result: 'deny', deny_message: 'not there' },
      { type: 'user.tool_confirmation', tool_use_id: uses[1]?.id, result: 'allow' },
    )
    await until(
      'it went on',
      async () => (await sessions.log(id)).filter(({ type }) => type === 'agent.message').length === 1,
    )
    const log = await sessions.rested(id)
    expect(results(log)).toEqual(
      expect.arrayContaining([
        { text: 'The user denied this call: not there', isError: true },
        { text: expect.stringContaining('Only https:// URLs'), isError: true },
      ]),
    )
    expect(types(log).filter((type) => type === 'session.status_idle')).toHaveLength(2)
  })
})

describe('an interrupt', () => {
  test('ends an answer, and the session continues with the next message', async () => {
    const id = await sessions.begin(await sessions.agent(), '!pace 500\n!repeat 1000 word')
    await until('the model is asked', async () =>
      (await sessions.log(id)).some(({ type }) => type === 'span.model_request_start'),
    )
    await sessions.send(id, { type: 'user.interrupt' })
    const log = await sessions.rested(id)
    expect(types(log).slice(-4)).toEqual([
      'user.interrupt',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ])
    expect(log.at(-3)).toMatchObject({ is_error: true })
    await sessions.say(id, '!say here')
    await until(
      'it answers',
      async () => textOf((await sessions.log(id)).findLast(({ type }) => type === 'agent.message')) === 'here',
    )
  })

  test('answers what waits for the client as denied', async () => {
    const id = await sessions.begin(await sessions.agent({ tools: [weather] }), '!tool weather {"town":"Bern"}')
    await sessions.rested(id)
    await sessions.send(id, { type: 'user.interrupt' })
    await until('it is answered', async () => results(await sessions.log(id)).length === 1)
    const log = await sessions.rested(id)
    expect(results(log)).toEqual([{ text: 'The user interrupted; this call was denied.', isError: true }])
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  })

  test('with a message after it starts a new turn', async () => {
    const id = await sessions.begin(await sessions.agent(), '!pace 500\n!repeat 1000 word')
    await until('the model is asked', async () =>
      (await sessions.log(id)).some(({ type }) => type === 'span.model_request_start'),
    )
    await sessions.send(id, { type: 'user.interrupt' }, message('!say instead'))
    await until('it answers', async () =>
      (await sessions.log(id)).some((event) => textOf(event) === 'instead' && event.type === 'agent.message'),
    )
    expect(types(await sessions.rested(id)).filter((type) => type === 'session.status_idle')).toHaveLength(2)
  })

  test('stops the message before it, even if that was not taken yet', async () => {
    const id = await sessions.begin(await sessions.agent(), null)
    await sessions.send(id, message('!say too late'), { type: 'user.interrupt' })
    const log = await sessions.rested(id)
    expect(types(log)).toEqual([
      'user.message',
      'user.interrupt',
      'session.status_running',
      'session.usage',
      'session.status_idle',
    ])
    expect(log.every(({ processed_at }) => processed_at !== null)).toBe(true)
    await sessions.say(id, '!say here')
    await until(
      'it answers what came later',
      async () => textOf((await sessions.log(id)).findLast(({ type }) => type === 'agent.message')) === 'here',
    )
  })
})

describe('a model that misbehaves', () => {
  test('is told about unknown tools and invalid arguments, and continues', async () => {
    const script = [
      '!tool nothing {}',
      '!tool weather {"town":5}',
      '!tool weather not json',
      '!tool weather [1]',
      '!say at last',
    ].join('\n')
    const log = await sessions.rested(await sessions.begin(await sessions.agent({ tools: [weather] }), script))
    expect(results(log)).toEqual([
      { text: expect.stringContaining('There is no such tool'), isError: true },
      { text: expect.stringContaining('do not match'), isError: true },
      { text: expect.stringContaining('not a JSON object'), isError: true },
      { text: expect.stringContaining('not a JSON object'), isError: true },
    ])
    expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('at last')
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  })

  test('is stopped when it never ends', async () => {
    const log = await sessions.rested(
      await sessions.begin(await sessions.agent({ tools: [weather] }), '!forever nothing {}'),
      60_000,
    )
    expect(log.filter(({ type }) => type === 'span.model_request_start')).toHaveLength(200)
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'retries_exhausted' } })
    expect(log.at(-3)).toMatchObject({
      type: 'session.error',
      error: { message: expect.stringContaining('200 requests'), retry_status: { type: 'exhausted' } },
    })
  }, 70_000)

  test('is cut off when its answer is too long', async () => {
    const log = await sessions.rested(await sessions.begin(await sessions.agent(), '!repeat 100000 twelve bytes'))
    const said = textOf(log.find(({ type }) => type === 'agent.message'))
    expect(said.length).toBeLessThan(300_000)
    expect(said).toMatch(/\[Cut: an answer holds 262144 characters\.\]$/)
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  })
})

test('a session without credit for one more request becomes idle at its budget', async () => {
  const log = await sessions.rested(
    await sessions.begin(await sessions.agent(), '!say hello', {
      budget: { type: 'limit', max_list_cost: { amount: '0', currency: 'USD' } },
    }),
  )
  expect(log.at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { type: 'budget_reached' } })
  expect(types(log)).not.toContain('span.model_request_start')
})

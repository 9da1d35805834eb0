import { createClient, type Client } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { shiftClock } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { deactivateMembership } from '#src/resources/identity/memberships.ts'
import { decodeId } from '#src/platform/ids.ts'
import { pollUntil } from '#src/start/wait.ts'
import { open, startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
const clients: Client[] = []
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await running.token()
})
afterEach(async () => {
  shiftClock(0)
  for (const client of clients.splice(0)) await client.dispose()
})
afterAll(() => running.stop())

const soon = (question: () => boolean): Promise<boolean> => pollUntil(question, { limitMs: 5_000, everyMs: 10 })
const notify = (id: string): Promise<void> => transaction(running.services.db, async (tx) => publish(tx, 'thing', id))

/** Reads an event stream block by block. */
async function* blocks(answer: Response): AsyncGenerator<string, undefined> {
  let rest = ''
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    rest += chunk
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
}

describe('a subscription over server-sent events', () => {
  const subscribe = (
    query: string,
    { signal, bearer = token }: { signal?: AbortSignal; bearer?: string } = {},
  ): Promise<Response> =>
    fetch(`${running.url}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query }),
      signal,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${bearer}` },
    })

  it('sends each event and says when it is complete', async () => {
    const answer = await subscribe('subscription { ticks(count: 2) }')
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('x-accel-buffering')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no',
    ])
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    const text = await answer.text()
    expect(text.replace(/^:\n\n/gm, '')).toBe(
      'event: next\ndata: {"data":{"ticks":1}}\n\nevent: next\ndata: {"data":{"ticks":2}}\n\nevent: complete\ndata:\n\n',
    )
  })

  it('ends its source when the client disconnects while nothing happens', async () => {
    const leaving = new AbortController()
    const answer = await subscribe('subscription { changes(id: "a") }', { signal: leaving.signal })
    const events = blocks(answer)
    while (!(await events.next()).value?.includes('"changes":0')) {
      /* the heartbeat before it */
    }
    expect(open.changes).toBe(1)
    leaving.abort()
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it(`is refused beyond ${limits.streamsPerCaller} for one caller, and only for that one`, async () => {
    const bearer = await running.token('greedy', 'greedy')
    const leaving = new AbortController()
    const answers = await Promise.all(
      Array.from({ length: limits.streamsPerCaller + 5 }, () =>
        subscribe('subscription { changes(id: "c") }', { signal: leaving.signal, bearer }),
      ),
    )
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5)
    expect((await subscribe('subscription { ticks(count: 1) }')).status).toBe(200)
    leaving.abort()
    expect(await soon(() => open.changes === 0)).toBe(true)
    expect((await subscribe('subscription { ticks(count: 1) }', { bearer })).status).toBe(200)
  })

  it('shows nothing of a bug in the middle of a stream', async () => {
    const text = await (await subscribe('subscription { failing }')).text()
    expect(text).toContain('INTERNAL_ERROR')
    expect(text).not.toContain('secret')
  })

  it('whose source refuses it answers 200 with the error as its event, as clients of streams expect', async () => {
    const answer = await subscribe('subscription { refused }')
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringMatching(/event: next\ndata: .*NOT_FOUND.*\n\nevent: complete/),
    ])
  })

  it('is refused without a token with 401', async () => {
    const answer = await fetch(`${running.url}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query: 'subscription { changes(id: "a") }' }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    })
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('UNAUTHORIZED')])
  })

  it('is refused without permission, in the form of an answer', async () => {
    const answer = await subscribe('subscription { changes(id: "a") }', { bearer: 'garbage' })
    expect(answer.status).toBe(401)
  })

  it('ends when the membership of its caller is deactivated', async () => {
    const theirs = await running.token('leaver', 'left-behind')
    const answer = await subscribe('subscription { changes(id: "b") }', { bearer: theirs })
    const membership = claimsOf(theirs).org_memberships[0]?.membership_id ?? ''
    await deactivateMembership(running.services.db, decodeId('membership', membership)!)
    expect(await answer.text()).not.toContain('event: complete')
    expect(await soon(() => open.changes === 0)).toBe(true)
  })
})

function claimsOf(jwt: string): { org_memberships: { membership_id: string }[] } {
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as {
    org_memberships: { membership_id: string }[]
  }
}

describe('a web socket', () => {
  const connect = (authorization?: string, events: Record<string, (...args: never[]) => void> = {}): Client => {
    const client = createClient({
      url: `ws://127.0.0.1:${running.port}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      lazy: true,
      connectionParams: authorization ? { authorization } : {},
      on: events as never,
    })
    clients.push(client)
    return client
  }
  /** A socket that speaks raw protocol messages, and how it closed. */
  const raw = async (
    protocol = 'graphql-transport-ws',
  ): Promise<{ socket: WebSocket; closed: Promise<{ code: number; reason: string }>; said: string[] }> => {
    const socket = new WebSocket(`ws://127.0.0.1:${running.port}/graphql`, protocol)
    const said: string[] = []
    socket.on('message', (data: Buffer) => said.push(data.toString()))
    socket.on('error', () => {
      /* told by the close */
    })
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
    )
    await new Promise<void>((resolve) => socket.once('open', resolve).once('close', () => resolve()))
    return { socket, closed, said }
  }
  /** The same, after the server has taken the token. */
  const ready = async (payload: unknown): ReturnType<typeof raw> => {
    const peer = await raw()
    peer.socket.send(JSON.stringify({ type: 'connection_init', payload }))
    expect(await soon(() => peer.said.includes('{"type":"connection_ack"}'))).toBe(true)
    return peer
  }
  const bearing = (bearer: string): unknown => ({ authorization: `Bearer ${bearer}` })
  const init = (bearer: string): string =>
    JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${bearer}` } })

  it('runs a query and a subscription', async () => {
    const client = connect(`Bearer ${token}`)
    const query = client.iterate({ query: '{ me { name } }' })
    expect((await query.next()).value).toEqual({ data: { me: { name: 'alice' } } })
    const events = client.iterate<{ changes: number }>({ query: 'subscription { changes(id: "w") }' })
    expect((await events.next()).value).toEqual({ data: { changes: 0 } })
    await notify('w')
    expect((await events.next()).value).toEqual({ data: { changes: 1 } })
    await events.return?.()
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it('takes the token in any spelling of the header, and inside headers', async () => {
    for (const payload of [{ Authorization: `Bearer ${token}` }, { headers: { authorization: `Bearer ${token}` } }]) {
      const { socket, said } = await ready(payload)
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: '{ me { name } }' } }))
      expect(await soon(() => said.some((one) => one.includes('alice') || one.includes('error')))).toBe(true)
      expect(said.join()).toContain('alice')
      socket.close()
    }
  })

  it('without a token opens, and its operations are refused', async () => {
    for (const query of ['{ me { name } }', '{ ech }', 'subscription { changes(id: "a") }']) {
      const refused = (await connect()
        .iterate({ query })
        .next()
        .catch((errors: unknown) => errors)) as { extensions: { code: string } }[]
      expect([query, refused.map(({ extensions }) => extensions.code)]).toEqual([query, ['UNAUTHORIZED']])
    }
    expect((await connect().iterate({ query: '{ __typename shared }' }).next()).value).toEqual({
      data: { __typename: 'Query', shared: 'for everybody' },
    })
  })

  it('with a wrong token is closed with 4403 and the reason', async () => {
    const { socket, closed } = await raw()
    socket.send(init('garbage'))
    expect(await closed).toEqual({
      code: 4403,
      reason: 'Your token is not valid here: it is neither a JWT nor a key of this Berth.',
    })
  })

  it('that does not authenticate within 5 s is closed with 4408', async () => {
    const { closed } = await raw()
    expect((await closed).code).toBe(4408)
  })

  it('of the old protocol is refused', async () => {
    const { closed } = await raw('graphql-ws')
    expect([1002, 1006, 4406]).toContain((await closed).code)
  })

  it('at another path is refused', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${running.port}/elsewhere`, 'graphql-transport-ws')
    const failed = await new Promise<Error>((resolve) => socket.once('error', resolve))
    expect(failed.message).toContain('404')
  })

  it('has the limits of HTTP', async () => {
    const { socket, said } = await ready(bearing(token))
    const send = (id: string, payload: unknown): void => socket.send(JSON.stringify({ id, type: 'subscribe', payload }))
    send('depth', { query: `{ ${'items(first: 1) { nodes { '.repeat(7)} id ${'} }'.repeat(7)} }` })
    send('aliases', { query: `{ ${Array.from({ length: 16 }, (_, i) => `a${i}: __typename`).join(' ')} }` })
    send('deep', {
      query: '{ __typename }',
      variables: JSON.parse('{"a":'.repeat(100) + '1' + '}'.repeat(100)) as unknown,
    })
    send('nul', { query: '{ __typename }', variables: { a: '\0' } })
    send('suggestion', { query: '{ ech }' })
    send('bug', { query: '{ broken }' })
    expect(await soon(() => new Set(said.map((one) => (JSON.parse(one) as { id?: string }).id)).size === 7)).toBe(true) // six and the acknowledgement
    const of = (id: string): string => said.find((one) => one.includes(`"id":"${id}"`)) ?? ''
    expect(of('depth')).toMatch(/levels deep/)
    expect(of('aliases')).toMatch(/16 aliases/)
    expect(of('deep')).toMatch(/nested deeper than 64/)
    expect(of('nul')).toMatch(/NUL/)
    expect(of('suggestion')).toContain('Cannot query field \\"ech\\" on type \\"Query\\". Did you mean \\"echo\\"?"')
    expect(of('bug')).toMatch(/INTERNAL_ERROR/)
    expect(said.join()).not.toContain('secret')
    socket.close()
  })

  it('gets large answers whole, also several at once and beside errors', async () => {
    const { socket, said } = await ready(bearing(token))
    const texts = { one: 'a"😀'.repeat(80_000), two: 'b\\'.repeat(200_000) }
    for (const [id, text] of Object.entries(texts))
      socket.send(
        JSON.stringify({
          id,
          type: 'subscribe',
          payload: { query: 'query ($text: String) { echo(text: $text) missing }', variables: { text } },
        }),
      )
    const results = () => said.map((one) => JSON.parse(one) as { id?: string; type: string; payload?: unknown })
    expect(await soon(() => results().filter(({ type }) => type === 'complete').length === 2)).toBe(true)
    for (const [id, echo] of Object.entries(texts))
      expect(results().find((one) => one.id === id && one.type === 'next')?.payload).toMatchObject({
        data: { echo, missing: null },
        errors: [{ path: ['missing'], extensions: { code: 'NOT_FOUND' } }],
      })
    socket.close()
  })

  it(`has at most ${limits.socketOperations} operations open, and room again when one ends`, async () => {
    const { socket, said } = await ready(bearing(token))
    const subscribe = (id: number): void =>
      socket.send(
        JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: 'subscription { changes(id: "m") }' } }),
      )
    for (let id = 1; id <= limits.socketOperations; id++) subscribe(id)
    expect(await soon(() => open.changes === limits.socketOperations)).toBe(true)
    subscribe(1000)
    expect(await soon(() => said.some((one) => one.includes('"id":"1000"') && one.includes('RATE_LIMITED')))).toBe(true)
    socket.send(JSON.stringify({ id: '1', type: 'complete' }))
    expect(await soon(() => open.changes === limits.socketOperations - 1)).toBe(true)
    subscribe(1001)
    expect(await soon(() => open.changes === limits.socketOperations)).toBe(true)
    socket.close()
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it('has no more of them open when very many are requested at once', async () => {
    const { socket, said } = await ready(bearing(token))
    const asked = 4 * limits.socketOperations
    for (let id = 1; id <= asked; id++)
      socket.send(
        JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: 'subscription { changes(id: "m") }' } }),
      )
    const refused = (): number => said.filter((one) => one.includes('RATE_LIMITED')).length
    expect(await soon(() => open.changes + refused() === asked)).toBe(true)
    expect([open.changes, refused()]).toEqual([limits.socketOperations, asked - limits.socketOperations])
    socket.close()
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it('has room for no more of them than its caller may have on all sockets', async () => {
    const busy = await running.token('ben')
    const opened = await Promise.all(
      Array.from({ length: limits.socketOperationsPerCaller / limits.socketOperations }, () => ready(bearing(busy))),
    )
    const subscribe = ({ socket }: { socket: WebSocket }, id: number): void =>
      socket.send(
        JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: 'subscription { changes(id: "m") }' } }),
      )
    for (const one of opened) for (let id = 0; id < limits.socketOperations; id++) subscribe(one, id)
    expect(await soon(() => open.changes === limits.socketOperationsPerCaller)).toBe(true)
    const [another, others] = [await ready(bearing(busy)), await ready(bearing(token))]
    subscribe(another, 1)
    subscribe(others, 1)
    expect(await soon(() => another.said.some((one) => one.includes('RATE_LIMITED')))).toBe(true)
    expect(await soon(() => open.changes === limits.socketOperationsPerCaller + 1)).toBe(true) // the other caller's
    opened[0]?.socket.close()
    expect(await soon(() => open.changes === limits.socketOperationsPerCaller + 1 - limits.socketOperations)).toBe(true)
    subscribe(another, 2)
    expect(await soon(() => open.changes === limits.socketOperationsPerCaller + 2 - limits.socketOperations)).toBe(true)
    for (const { socket } of [...opened, another, others]) socket.close()
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it('is closed with 4401 when its token expires', async () => {
    const { closed } = await ready(bearing(await running.token('alice', 'acme', 'owner', 120)))
    shiftClock(200_000)
    expect(await closed).toEqual({ code: 4401, reason: 'Your token has expired. Get a new one and try again.' })
  })

  it('is closed with 4401 when the membership is deactivated, and its subscriptions end', async () => {
    const theirs = await running.token('quitter', 'quit')
    const { socket, closed } = await ready(bearing(theirs))
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes(id: "q") }' } }))
    expect(await soon(() => open.changes === 1)).toBe(true)
    await deactivateMembership(
      running.services.db,
      decodeId('membership', claimsOf(theirs).org_memberships[0]?.membership_id ?? '')!,
    )
    expect((await closed).code).toBe(4401)
    expect(await soon(() => open.changes === 0)).toBe(true)
  })

  it('that sends more than the limit of a body is closed', async () => {
    const { socket, closed } = await raw()
    socket.send('x'.repeat(limits.graphqlBodyBytes + 1))
    expect((await closed).code).toBe(1009)
  })

  it('that sends what is not a message is closed with 4400', async () => {
    const { socket, closed } = await raw()
    socket.send('not json')
    expect((await closed).code).toBe(4400)
  })
})

describe('stopping', () => {
  it('ends streams so that clients reconnect, and closes sockets with 1001', async () => {
    const other = await startApp()
    const bearer = await other.token()
    const stream = await fetch(`${other.url}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query: 'subscription { changes(id: "a") }' }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${bearer}` },
    })
    const socket = new WebSocket(`ws://127.0.0.1:${other.port}/graphql`, 'graphql-transport-ws')
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('open', resolve))
    const [text, code] = await Promise.all([stream.text(), closed, other.stop()])
    expect(code).toBe(1001)
    expect(text).toMatch(/retry: 2000\n\n$/)
    expect(text).not.toContain('complete')
  })
})

/** An operation is checked and executed alike however it comes: alone, in a batch, by GET, as a stream, or by web socket. */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startApp, type GraphqlBody, type RunningApp } from './running-app.ts'

type Sent = { query: string; variables?: unknown; operationName?: string | null; extensions?: unknown }
/** What is told once of an operation: its data, and each error's code, sentence and path. */
type Outcome = { data?: unknown; errors?: unknown }
type Send = (sent: Sent, token: string | undefined) => Promise<Outcome[]>

let running: RunningApp
const tokens: Record<string, string | undefined> = {}
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  tokens['owner'] = await running.token()
  tokens['viewer'] = await running.token('bob', 'acme', 'viewer')
})
afterAll(() => running.stop())

function outcomeOf({ data, errors }: GraphqlBody): Outcome {
  return {
    ...(data === undefined || data === null ? {} : { data }), // null beside errors is left out by some
    ...(errors
      ? {
          errors: errors.map(({ message, path, extensions: { code } }) => ({
            code,
            message,
            ...(path ? { path } : {}),
          })),
        }
      : {}),
  }
}

async function fetched(search: string, init: RequestInit, token: string | undefined): Promise<string> {
  const answer = await fetch(`${running.url}/graphql${search}`, {
    ...init,
    headers: {
      ...(init.body ? { 'content-type': 'application/json' } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(init.headers as Record<string, string> | undefined), // as they are given below
    },
  })
  return answer.text()
}

const one = (text: string): Outcome[] => [outcomeOf(JSON.parse(text) as GraphqlBody)]

/** The outcomes of a stream; a refusal may also come as JSON. */
function ofStream(text: string): Outcome[] {
  return text.startsWith('{')
    ? one(text)
    : [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, event = '']) => one(event))
}

function searchOf(sent: Sent): string {
  const given = Object.entries(sent).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, typeof value === 'string' ? value : JSON.stringify(value)]],
  )
  return `?${new URLSearchParams(given).toString()}`
}

async function bySocket(sent: Sent, token: string | undefined): Promise<Outcome[]> {
  const socket = new WebSocket(`${running.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  const told: Outcome[] = []
  const heard = new Promise<Outcome[]>((resolve, reject) => {
    socket.on('close', (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
    socket.on('message', (text: Buffer) => {
      const { type, payload } = JSON.parse(String(text)) as { type: string; payload: unknown }
      if (type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: sent }))
      if (type === 'next') told.push(outcomeOf(payload as GraphqlBody))
      if (type === 'error') told.push(outcomeOf({ errors: payload as NonNullable<GraphqlBody['errors']> }))
      if (type === 'complete' || type === 'error') resolve(told)
    })
  })
  const payload = token === undefined ? {} : { payload: { authorization: `Bearer ${token}` } }
  socket.send(JSON.stringify({ type: 'connection_init', ...payload }))
  return heard.finally(() => socket.terminate())
}

const post = (body: unknown, token: string | undefined, accept = '*/*'): Promise<string> =>
  fetched('', { method: 'POST', body: JSON.stringify(body), headers: { accept } }, token)

const aloneByPost: Send = async (sent, token) => one(await post(sent, token))
const streams: Readonly<Record<string, Send>> = {
  'as a stream': async (sent, token) => ofStream(await post(sent, token, 'text/event-stream')),
  'as a stream by GET': async (sent, token) =>
    ofStream(await fetched(searchOf(sent), { headers: { accept: 'text/event-stream' } }, token)),
  'by web socket': bySocket,
}
const others: Readonly<Record<string, Send>> = {
  'in a batch': async (sent, token) => one((await post([sent], token)).replace(/^\[(.*)\]$/s, '$1')),
  'beside a faulty member of a batch': async (sent, token) => {
    const answer = JSON.parse(await post([{ query: '{ wrong' }, sent, null], token)) as GraphqlBody | GraphqlBody[]
    return [outcomeOf(Array.isArray(answer) ? (answer[1] ?? {}) : answer)] // a body that cannot be read is refused whole
  },
  'by GET': async (sent, token) => one(await fetched(searchOf(sent), {}, token)),
  ...streams,
}

const twice = 'query A { echo(text: "a") } query B { echo(text: "b") }'
const echo = 'query ($text: String) { echo(text: $text) }'
const nested = (levels: number): string =>
  levels === 0 ? '{ id }' : `{ items(first: 1) { nodes ${nested(levels - 1)} } }`
const aliases = (count: number): string => Array.from({ length: count }, (_, at) => `a${at}: shared`).join(' ')

/** What is sent, who sends it (the owner where nothing is said), and whether it is too long for GET. */
type Input = Sent & { by?: string; long?: boolean }

const answered: Readonly<Record<string, Input>> = {
  'a field': { query: '{ me { name } }' },
  'a list': { query: '{ items(first: 3) { nodes { id name } pageInfo { hasNextPage endCursor } } }' },
  'a variable': { query: echo, variables: { text: 'ü' } },
  'no variable': { query: echo },
  'null for all that may be': { query: echo, variables: null, operationName: null, extensions: null },
  extensions: { query: echo, variables: { text: 'x' }, extensions: { clientLibrary: { name: 'a' } } },
  'the operation that is named': { query: twice, operationName: 'B' },
  directives: { query: '{ shared @skip(if: true) echo(text: "x") @include(if: true) }' },
  'what is open, without a token': { query: '{ shared __typename }', by: 'nobody' },
  introspection: { query: '{ __schema { types { name } } __type(name: "Me") { fields { name } } }' },
  'introspection without a token': { query: '{ __schema { queryType { name } } }', by: 'nobody' },
  'a mutation': { query: 'mutation { add(name: "x") { id name } }' },
}

const refused: Readonly<Record<string, Input>> = {
  'a resolver that refuses': { query: '{ missing echo(text: "kept") }' },
  'a bug': { query: '{ broken }' },
  'introspection by an alias': { query: '{ a: __schema { queryType { name } } }' },
  'no permission': { query: 'mutation { add(name: "x") { id } }', by: 'viewer' },
  'a mutation of which a part fails': { query: 'mutation { add(name: "x") { id name } fail { id } }' },
  'a mutation without a token': { query: 'mutation { add(name: "x") { id } }', by: 'nobody' },
  'no token': { query: '{ me { name } }', by: 'nobody' },
  'no token, and a wrong field': { query: '{ ech }', by: 'nobody' },
  'no token, and no such operation': { query: twice, operationName: 'C', by: 'nobody' },
  'no token, and too deep': { query: nested(6), by: 'nobody' },
  'no token, and a syntax error': { query: '{ me ] }', by: 'nobody' },
  'no GraphQL': { query: '{ me ] }' },
  'an empty selection': { query: '{ }' },
  'a field that there is not': { query: '{ ech }' },
  'many wrong fields': { query: `{ ${Array.from({ length: 20 }, (_, at) => `wrong${at}`).join(' ')} }` },
  'a fragment that nobody uses': { query: '{ shared } fragment F on Query { shared }' },
  'circular fragments': { query: '{ ...F } fragment F on Query { ...F }' },
  'a wrong literal': { query: '{ echo(text: 5) }' },
  '@defer': { query: '{ ... @defer { shared } }' },
  '@stream': { query: '{ items { nodes @stream { id } } }' },
  'no operation': { query: 'fragment F on Query { shared }' },
  'two operations, and no name': { query: twice },
  'a name that no operation has': { query: twice, operationName: 'C' },
  'a name that the only operation has not': { query: 'query A { echo }', operationName: 'B' },
  'a wrong variable': { query: echo, variables: { text: 5 } },
  'a variable that is missing': { query: 'query ($text: String!) { echo(text: $text) }' },
  'a variable of another name': { query: 'query ($text: String!) { echo(text: $text) }', variables: { tex: 'x' } },
  'a prototype as a variable': { query: echo, variables: JSON.parse('{"text":"x","a":{"__proto__":1}}') as unknown },
  'a NUL in a variable': { query: echo, variables: { text: '\0' } },
  'a NUL in a literal': { query: '{ echo(text: "\\u0000") }' },
  'too deep': { query: nested(6) },
  'too many aliases': { query: `{ ${aliases(16)} }` },
  'too many objects': { query: '{ items(first: 100) { nodes { items(first: 100) { nodes { id } } } } }' },
  'too many objects by variable': {
    query: 'query ($n: Int) { items(first: $n) { nodes { id } } }',
    variables: { n: 2001 },
  },
  'too many tokens': { query: `{ ${'e '.repeat(4000)} }` },
  'too many fields': { query: `{ ${'shared '.repeat(301)} }` },
  'too many lines': { query: `{ shared ${'\n'.repeat(10_001)} }`, long: true },
  'too many directives': { query: `{ shared ${'@a '.repeat(51)} }` },
  'a large literal': { query: `{ echo(text: ${'9'.repeat(400)}) }` },
}

/** Sends it in each way as a document of its own, and again: one that is known goes another way than one that is new. */
async function sendAll(sends: Readonly<Record<string, Send>>, { by = 'owner', long = false, ...sent }: Input) {
  const outcomes: Record<string, Outcome[]> = {}
  for (const [how, send] of Object.entries(sends)) {
    if (how.includes('GET') && (long || sent.query.startsWith('mutation'))) continue
    for (const time of ['', ', again'])
      outcomes[how + time] = await send({ ...sent, query: `${sent.query} # ${how}` }, tokens[by])
  }
  return outcomes
}

/** The outcome of a query or mutation that is sent alone. */
async function outcomeAlone(input: Input): Promise<Outcome[]> {
  const { alone } = await sendAll({ alone: aloneByPost }, input)
  return alone ?? []
}

async function expectAlike(sends: Readonly<Record<string, Send>>, input: Input, wanted: Outcome[]): Promise<void> {
  const outcomes = await sendAll(sends, input)
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(outcomes).map((how) => [how, wanted])))
}

describe('an operation is answered alike in every way', () => {
  it.each(Object.entries(answered))('%s', async (_name, input) => {
    const wanted = await outcomeAlone(input)
    expect(wanted).toEqual([{ data: expect.anything() as unknown }])
    await expectAlike(others, input, wanted)
  })
})

describe('an operation is refused alike in every way', () => {
  it.each(Object.entries(refused))('%s', async (_name, input) => {
    const wanted = await outcomeAlone(input)
    expect(wanted).toMatchObject([{ errors: expect.arrayContaining([expect.anything()]) as unknown }])
    await expectAlike(others, input, wanted)
  })
})

describe('a mutation by GET', () => {
  const notByGet = [
    { errors: [{ code: 'INVALID_REQUEST', message: 'Can only perform a mutation operation from a POST request.' }] },
  ]
  it.each(['by GET', 'as a stream by GET'])('is refused %s, and not executed', async (how) => {
    for (const query of ['mutation { add(name: "x") { id } }', 'query A { shared } mutation B { add(name: 5) { id } }'])
      expect(await others[how]?.({ query, operationName: query.includes('B') ? 'B' : null }, tokens['owner'])).toEqual(
        notByGet,
      )
  })
})

const subscriptions: Readonly<Record<string, Input & { told: readonly unknown[] }>> = {
  'a subscription': {
    query: 'subscription { ticks(count: 2) }',
    told: [{ data: { ticks: 1 } }, { data: { ticks: 2 } }],
  },
  'a subscription by variable': {
    query: 'subscription A($n: Int = 1) { ticks(count: $n) } subscription B { ticks(count: 2) }',
    operationName: 'A',
    told: [{ data: { ticks: 1 } }],
  },
  'without a token': { query: 'subscription { ticks(count: 2) }', by: 'nobody', told: [wrong('UNAUTHORIZED')] },
  'whose source refuses': { query: 'subscription { refused }', told: [wrong('NOT_FOUND')] },
  'whose source breaks': {
    query: 'subscription { failing }',
    told: [{ data: { failing: 1 } }, wrong('INTERNAL_ERROR')],
  },
  'with a wrong field': { query: 'subscription { tick }', told: [wrong('INVALID_REQUEST')] },
  'with a variable that is missing': {
    query: 'subscription ($n: Int!) { ticks(count: $n) }',
    told: [wrong('INVALID_REQUEST')],
  },
  'of two fields': {
    query: 'subscription { ticks(count: 1) failing }',
    told: [wrong('INVALID_REQUEST')],
  },
}

function wrong(code: string): unknown {
  return { errors: [expect.objectContaining({ code })] }
}

describe('a subscription is answered alike in every way', () => {
  it.each(Object.entries(subscriptions))('%s', async (_name, { told, ...input }) => {
    const outcomes = await sendAll(streams, input)
    const [first] = Object.values(outcomes)
    expect(first).toEqual(told)
    await expectAlike(streams, input, first ?? [])
  })

  it('and refused in a batch', async () => {
    const told = await others['in a batch']?.({ query: 'subscription { ticks(count: 1) }' }, tokens['owner'])
    expect(told).toEqual([wrong('INVALID_REQUEST')])
  })
})

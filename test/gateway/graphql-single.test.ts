/** A query or mutation by POST goes past yoga; what yoga answers to the same, it answers too: status, headers and body. */
import { getIntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await running.token()
})
afterAll(() => running.stop())

type Sent = { query: string; [member: string]: unknown }
const ofRequest = ['x-request-id', 'request-id', 'date', 'ratelimit-remaining', 'ratelimit-reset']

async function post(body: unknown, headers: Record<string, string>): Promise<unknown> {
  const answer = await fetch(`${running.url}/graphql`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })
  const shown = Object.fromEntries([...answer.headers].filter(([name]) => !ofRequest.includes(name)))
  return [answer.status, shown, (await answer.text()).replace(/req_[0-9a-z]{26}/g, 'req_…')]
}

/** The same document as yoga gets it: the word makes it look like one with a subscription. */
const forYoga = (body: Sent): Sent => ({ ...body, query: `${body.query} # subscription` })

const twoOperations = 'query A { echo(text: "a") } query B { echo(text: "b") }'
const echo = 'query ($text: String) { echo(text: $text) }'
const bodies: readonly Sent[] = [
  { query: '{ me { name } }' },
  { query: '{ items(first: 3) { nodes { id name } pageInfo { hasNextPage endCursor } } }' },
  { query: 'mutation { add(name: "x") { id name } }' },
  { query: 'mutation { add(name: "x") { id } fail { id } }' },
  { query: '{ broken missing echo(text: "kept") }' },
  { query: '{ shared __typename }' },
  { query: echo, variables: { text: 'ü' } },
  { query: echo, variables: null, operationName: null, extensions: null },
  { query: echo, variables: { text: 5 } },
  { query: echo, variables: { other: 'x' } },
  { query: echo, variables: { text: 'x' }, extensions: { clientLibrary: { name: 'a', version: '1' } } },
  { query: 'query ($name: String!) { echo(text: $name) }' },
  { query: twoOperations, operationName: 'B' },
  { query: twoOperations, operationName: 'C' },
  { query: twoOperations },
  { query: 'query A { echo }', operationName: 'B' },
  { query: '{ ech }' },
  { query: '{ me ] }' },
  { query: '{ me { name } }'.repeat(2) },
  { query: ') ' },
  { query: 'fragment F on Query { shared }' },
  { query: `{ ${Array.from({ length: 16 }, (_, at) => `a${at}: shared`).join(' ')} }` },
  { query: '{ items(first: 100) { nodes { items(first: 100) { nodes { id } } } } }' },
  { query: '{ echo(text: "\\u0000") }' },
  { query: getIntrospectionQuery() },
  { query: '{ shared @skip(if: true) echo(text: "x") @include(if: true) }' },
]
const accepts = [
  '*/*',
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.9',
  'application/json, application/graphql-response+json',
  'application/json; charset=utf-8',
  'application/json; charset=latin1, */*',
  'application/*',
  'multipart/mixed, text/event-stream, application/graphql-response+json',
  'text/html',
  'text/event-stream',
]

describe('one query or mutation', () => {
  it.each([undefined, 'application/graphql-response+json'])(
    'is answered as by yoga, run for the first time and for the third, with Accept %s',
    async (accept) => {
      for (const body of bodies) {
        for (const credential of [`Bearer ${token}`, 'Bearer garbage', undefined]) {
          const headers = { ...(accept ? { accept } : {}), ...(credential ? { authorization: credential } : {}) }
          const wanted = await post(forYoga(body), headers)
          for (let run = 0; run < 3; run++) expect([body, await post(body, headers)]).toEqual([body, wanted])
        }
      }
    },
  )

  it.each(accepts)('has the form that yoga chooses by Accept: %s', async (accept) => {
    const headers = { accept, authorization: `Bearer ${token}` }
    for (const query of ['{ shared }', '{ wrong }', '{ missing }'])
      expect(await post({ query }, headers)).toEqual(await post(forYoga({ query }), headers))
  })

  it('is answered as in a batch, where yoga runs it', async () => {
    const authorization = `Bearer ${token}`
    for (const { query, ...others } of bodies) {
      const [, , batch] = (await post([{ query, ...others }], { authorization })) as [number, object, string]
      const [, , alone] = (await post({ query, ...others }, { authorization })) as [number, object, string]
      // What is wrong with a batch's only member is told alike; a batch is a list where it ran.
      expect([query, batch.startsWith('[') ? batch.slice(1, -1) : batch]).toEqual([query, alone])
    }
  })

  it('whose members are wrong is refused in yoga’s words', async () => {
    const authorization = `Bearer ${token}`
    for (const body of [
      { query: 5 },
      {},
      { query: '{ shared }', variables: [] },
      { query: '{ shared }', variables: 'x' },
      { query: '{ shared }', operationName: 5 },
      { query: '{ shared }', extensions: 'x' },
      { query: '{ shared }', more: 1 },
      'text',
      null,
    ]) {
      const [status, , text] = (await post(body, { authorization })) as [number, object, string]
      const { errors } = JSON.parse(text) as { errors?: { extensions: { code: string } }[] }
      expect([body, status, errors?.[0]?.extensions.code]).toEqual([body, 400, 'INVALID_REQUEST'])
    }
  })
})

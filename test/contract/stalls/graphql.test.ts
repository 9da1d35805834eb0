/**
 * No variable of GraphQL holds the web process: every type that an argument has,
 * at the largest allowed size and at the largest number of parts, in the shapes that take longest to read, most of them wrong.
 */
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { jsonShapes, within } from '../../support/stalls/shapes.ts'
import { findHolds } from '../../support/stalls/watched-process.ts'
import { startAttackedWeb, type AttackedWeb } from '../attacked-web.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Target } from '../callers.ts'
import { documentOf, rootFields } from '../documents.ts'
import { graphqlRows } from '../matrix.ts'

const spareBytes = 4096
const bodyBytes = limits.graphqlBodyBytes - spareBytes

let berth: Berth
let web: AttackedWeb
let target: Target
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000000' } })
  const callers = await makeCallers(berth)
  token = callers.owner
  target = await makeTarget(berth, token, await makeRefusingNode(berth))
  web = await startAttackedWeb(berth)
}, 60_000)
const connections = new Agent({ keepAlive: true })
afterAll(async () => {
  connections.destroy()
  await web?.stop()
  await berth?.stop()
})

async function post(body: string): Promise<void> {
  const asked = request(`${web.url}/graphql`, {
    method: 'POST',
    agent: connections,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage] // as its documentation says
  const said = await text(answer)
  if ((answer.statusCode ?? 0) >= 500) throw new Error(`${answer.statusCode} ${said.slice(0, 200)}`)
}

/** Of a body: 50,000 parts beside 300,000 numbers, of which 50,000 may be unusual. */
const shapesWithin = (most: { parts: number; numbers: number }): Record<string, string> =>
  Object.fromEntries(
    Object.entries(jsonShapes).flatMap(([name, shape]) => [
      [name, shape(bodyBytes)],
      [`${name}, as many as may be`, within(shape, bodyBytes, most)],
    ]),
  )
const bodyShapes = Object.entries(shapesWithin({ parts: limits.jsonParts, numbers: limits.unusualNumbers }))

/** One argument of each type that any has: its document, in which the variable is `$value`. */
function documentsOfTypes(operations: readonly string[]): Map<string, string> {
  const documents = new Map<string, string>()
  for (const rootField of rootFields()) {
    const [operation = '', name = ''] = rootField.split(' ')
    if (!operations.includes(operation)) continue
    const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType()
    for (const one of root?.getFields()[name]?.args ?? []) {
      if (documents.has(String(one.type))) continue
      const others = fill(graphqlRows[rootField]?.args ?? '', target)
        .split(/, (?=\w+:)/)
        .filter((other) => other && !other.startsWith(`${one.name}:`))
      documents.set(
        String(one.type),
        documentOf(rootField, [...others, `${one.name}: $value`].join(', ')).replace(
          /^(\w+)/,
          `$1 ($value: ${String(one.type)})`,
        ),
      )
    }
  }
  return documents
}
const bodyOf = (query: string, value: string): string =>
  `{"query":${JSON.stringify(query)},"variables":{"value":${value}}}`

describe('no variable holds the process', () => {
  test('of a type that takes much', async () => {
    const works: Record<string, () => Promise<void>> = {}
    const documents = {
      'a filter': 'query ($value: VmFilter) { vms(filter: $value) { nodes { id } } }',
      ids: 'query ($value: [ID!]!) { nodes(ids: $value) { id } }',
      'a text map': 'mutation ($value: TextMap) { createVm(input: { metadata: $value }) { vm { id } } }',
      'what the document does not name': '{ __typename }',
    }
    for (const [place, query] of Object.entries(documents))
      for (const [name, shape] of bodyShapes) works[`${place}: ${name}`] = () => post(bodyOf(query, shape))
    for (const [name, shape] of bodyShapes) {
      works[`extensions: ${name}`] = () => post(`{"query":"{ __typename }","extensions":${shape}}`)
      works[`variables: ${name}`] = () => post(`{"query":"{ __typename }","variables":${shape}}`)
      works[`the operation's name: ${name}`] = () => post(`{"query":"{ __typename }","operationName":${shape}}`)
    }
    expect(await findHolds(web, works)).toEqual({})
  }, 120_000)

  test('of each type', async () => {
    const works: Record<string, () => Promise<void>> = {}
    let turn = 0
    for (const [type, query] of documentsOfTypes(['query', 'mutation']))
      for (let time = 0; time < 2; time++) {
        const [name = '', shape = ''] = bodyShapes[turn++ % bodyShapes.length] ?? []
        works[`${type}: ${name}`] = () => post(bodyOf(query, shape))
      }
    expect(Object.keys(works).length).toBeGreaterThan(100)
    expect(await findHolds(web, works)).toEqual({})
  }, 120_000)
})

/** What the engine finds wrong with documents and variables: placed exactly, told briefly, found in bounded time. */
import { buildSchema } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema as berthSchema } from '#schema/schema.ts'
import { limits } from '#src/platform/limits.ts'
import { findWrongVariable } from '#schema/variables.ts'
import { parse, type OperationDefinitionNode } from 'graphql'
import { startApp, type GraphqlBody, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await running.token()
})
afterAll(() => running.stop())

const longestAnswer = 2000 // characters of an answer about one wrong thing
const messageOf = async (query: string, variables?: unknown): Promise<string> => {
  const { status, body } = await running.ask(query, {
    token,
    variables,
    headers: { accept: 'application/graphql-response+json' },
  })
  expect(status).toBe(400)
  expect(JSON.stringify(body).length).toBeLessThan(longestAnswer * (body.errors?.length ?? 1))
  return body.errors?.[0]?.message ?? ''
}

describe('a finding', () => {
  test('never quotes more than a line of a megabyte of the caller’s text', async () => {
    const long = 'a'.repeat(900_000)
    expect(await messageOf(`{ ${long} }`)).toMatch(/^Cannot query field "aaa.*\(cut\)$/)
    expect(await messageOf(`{ items(first: "${long}") { nodes { id } } }`)).toContain('(cut)')
    expect(await messageOf(`{ items(first: 1.${'1'.repeat(900_000)}) { nodes { id } } }`)).toContain('(cut)')
    expect(await messageOf(`{ me ${'"'}${long}${'"'} }`)).toContain('(cut)')
  })

  test('of a variable says which one and where, and never its value', async () => {
    expect(await messageOf('query ($n: Int) { items(first: $n) { nodes { id } } }', { n: 'top-secret' })).toBe(
      'Variable "$n" must be Int.',
    )
    expect(await messageOf('query ($n: String!) { echo(text: $n) }')).toBe(
      'Variable "$n" must be String!, and was not provided.',
    )
    expect(await messageOf('query ($n: String) { echo(text: $n) }', { n: { 'top-secret': '; at "x"' } })).toBe(
      'Variable "$n" must be String.',
    )
  })

  test('of a variable that is null where its default let it pass is the caller’s, however the document runs', async () => {
    const documents = [
      'mutation ($n: String = "top-secret") { add(name: $n) { id } }',
      'query ($n: Boolean = true) { me { name @include(if: $n) } }',
    ]
    for (const query of documents) {
      const alone = await Promise.all([1, 2, 3].map(() => running.ask(query, { token, variables: { n: null } })))
      const batch = await fetch(`${running.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify([{ query, variables: { n: null } }]),
      })
      const [one] = (await batch.json()) as GraphqlBody[]
      for (const body of [...alone.map((answer) => answer.body), one])
        expect(body?.errors?.map(({ message, extensions: { code } }) => [code, message])).toEqual([
          [
            'INVALID_REQUEST',
            expect.stringMatching(
              /^Argument "\w+" has a variable that is null or absent where a value is required. Send one.$/,
            ) as string,
          ],
        ])
    }
    const stream = await fetch(`${running.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({
        query: 'subscription ($n: Int = 1) { ticks(count: $n) }',
        variables: { n: null },
      }),
    })
    expect(await stream.text()).toMatch(/Argument \\"count\\" has a variable that is null.*INVALID_REQUEST/)
  })

  test('about a document of many errors is one of ten', async () => {
    const { body } = await running.ask(`{ ${Array.from({ length: 200 }, (_, i) => `wrong${i}`).join(' ')} }`, { token })
    expect(body.errors?.length).toBeLessThanOrEqual(11)
  })
})

test('a document of more than 10000 lines is refused before it is parsed', async () => {
  for (const end of ['\n', '\r', '\r\n'])
    expect(await messageOf(`{ me { name } }${end.repeat(10_001)}`)).toContain('more than 10000 lines')
})

test('a value inside a document is held to what one beside it is held to', async () => {
  const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
  for (const [literal, sentence] of [
    ['"a\\u0000b"', /NUL/],
    ['"a\\u{0}b"', /NUL/],
    ['{__proto__: "x"}', /^Unknown field __proto__. Leave it out.$/],
    ['[{a: {__proto__: 1}}]', /^Unknown field __proto__. Leave it out.$/],
    [nested(limits.jsonDepth + 1), /nested deeper than 64 levels/],
    ['1e999', /too large/],
    ['9'.repeat(400), /too large/],
  ] as const)
    for (const query of [`{ echo(text: ${literal}) }`, `query ($n: String = ${literal}) { echo(text: $n) }`])
      expect(await messageOf(query), query).toMatch(sentence)
  expect(await messageOf(`{ echo(text: ${nested(limits.jsonDepth)}) }`)).toMatch(/String cannot represent/)
  expect((await running.ask('{ echo(text: "a\\u0001b") }', { token })).body.data).toEqual({ echo: 'a\u0001b' })
})

describe('the place of a wrong value', () => {
  const schema = buildSchema(
    'type Query { a: Int } input Outer { items: [Inner!] kind: Kind name: String } input Inner { id: ID! size: Int } enum Kind { big small }',
  )
  const placeOf = (types: string, variables: Record<string, unknown>): [string | undefined, string | undefined] => {
    const found = findWrongVariable(
      schema,
      (parse(`query (${types}) { a }`).definitions[0] as OperationDefinitionNode).variableDefinitions ?? [],
      variables,
    )
    return [found?.at, found?.fault]
  }

  test.each<[string, Record<string, unknown>, string | undefined, string | undefined]>([
    ['$x: Outer', { x: { items: [{ id: 'a' }, { id: 'b', size: 'c' }] } }, 'x.items[1].size', 'wrong'],
    ['$x: Outer', { x: { items: [{ size: 1 }] } }, 'x.items[0].id', 'absent'],
    ['$x: Outer', { x: { items: [null] } }, 'x.items[0]', 'absent'],
    ['$x: Outer', { x: { items: { id: 'a', more: 1 } } }, 'x.items.more', 'unknown'],
    ['$x: Outer', { x: { kind: 'huge' } }, 'x.kind', 'wrong'],
    ['$x: Outer', { x: 'text' }, 'x', 'wrong'],
    ['$x: Outer!', {}, 'x', 'absent'],
    ['$x: [Int!]!', { x: [1, 2, 'c'] }, 'x[2]', 'wrong'],
    ['$x: Int! = 5', {}, undefined, undefined],
    ['$x: Nothing', { x: 1 }, undefined, undefined],
    ['$x: Outer', { x: { '; at "y"': 1 } }, 'x.; at "y"', 'unknown'],
  ])('%s with %j is %s', (types, variables, at, fault) => {
    expect(placeOf(types, variables)).toEqual([at, fault])
  })

  test('is cut where the caller’s own keys are long', () => {
    expect(placeOf('$x: Outer', { x: { ['k'.repeat(100_000)]: 1 } })[0]).toBe(`x.${'k'.repeat(64)}…`)
  })
})

describe('a moment', () => {
  const fits = (moment: unknown): boolean =>
    findWrongVariable(
      berthSchema,
      (parse('query ($x: DateTime) { __typename }').definitions[0] as OperationDefinitionNode).variableDefinitions ??
        [],
      { x: moment },
    ) === undefined
  test.each([
    '2026-04-07T04:27:43.197Z',
    '2026-04-07T04:27:43+02:00',
    '2026-04-07',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ])('may be %s', (moment) => expect(fits(moment)).toBe(true))
  test.each([
    '0',
    '0'.repeat(1_000_000),
    '1',
    'April',
    '2026-13-01',
    '0000-01-01',
    '2026-04-07T25:00:00Z',
    '+012026-01-01T00:00:00Z',
    '9999-12-31T23:59:59-14:00',
    5,
  ])('may not be %s', (moment) => expect(fits(moment)).toBe(false))
})

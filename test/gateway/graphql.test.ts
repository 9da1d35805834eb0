import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await running.token()
})
afterAll(() => running.stop())

describe('GraphQL over HTTP, as its specification has it', () => {
  for (const audit of serverAudits({ url: () => `${running.url}/graphql` })) {
    it(`${audit.name}`, async () => {
      const outcome = await audit.fn()
      expect(outcome.status, 'reason' in outcome ? outcome.reason : '').toBe('ok')
    })
  }
  it('has an audit to pass', () => expect(serverAudits({ url: '' }).length).toBeGreaterThan(50))
})

it('by GET takes no other query parameter, and each once', async () => {
  const get = async (search: string): Promise<[number, string]> => {
    const answer = await fetch(`${running.url}/graphql?query={__typename}${search}`)
    return [answer.status, await answer.text()]
  }
  expect(await get('&variables={}&extensions={}&token=x')).toEqual([200, '{"data":{"__typename":"Query"}}'])
  expect(await get('&variable={}')).toEqual([400, expect.stringContaining('Did you mean variables?') as string])
  expect(await get('&query={me{name}}')).toEqual([400, expect.stringContaining('more than once') as string])
})

describe('an answer', () => {
  it('is 200 and names its request', async () => {
    const { status, headers, body } = await running.ask('{ me { name } }', { token })
    expect([status, body]).toEqual([200, { data: { me: { name: 'alice' } } }])
    expect(headers.get('x-request-id')).toMatch(/^req_[0-7][0-9a-z]{25}$/)
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
    expect(headers.get('ratelimit-limit')).toBe('60000')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  it('tells of an absent object with code, status and request id, and keeps its other data', async () => {
    const { status, headers, body } = await running.ask('{ missing echo(text: "yes") }', { token })
    expect(status).toBe(200)
    expect(body.data).toEqual({ missing: null, echo: 'yes' })
    expect(body.errors?.[0]).toMatchObject({
      path: ['missing'],
      extensions: { code: 'NOT_FOUND', http: { status: 404 }, requestId: headers.get('x-request-id') },
    })
  })

  it('keeps what one mutation did when its sibling fails', async () => {
    const { status, body } = await running.ask(
      'mutation { add(name: "x") { id } fail { id } again: add(name: "y") { name } }',
      { token },
    )
    expect([status, body.data]).toEqual([200, { add: { id: '1' }, fail: null, again: { name: 'y' } }])
    expect(body.errors).toMatchObject([
      { path: ['fail'], extensions: { code: 'NOT_FOUND', requestId: expect.stringMatching(/^req_/) } },
    ])
  })

  it('shows nothing of a bug', async () => {
    const { body } = await running.ask('{ broken }', { token })
    expect(body.errors?.[0]?.extensions).toMatchObject({ code: 'INTERNAL_ERROR', http: { status: 500 } })
    expect(JSON.stringify(body)).not.toContain('secret')
  })
})

describe('a caller', () => {
  it('without a token is told to send one', async () => {
    const { status, headers, body } = await running.ask('{ me { name } }')
    expect([status, body.data, body.errors?.[0]?.extensions.code]).toEqual([401, undefined, 'UNAUTHORIZED'])
    expect(body.errors?.[0]?.message).toContain('Authorization: Bearer')
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  })

  it('without a token is told so, and not what is wrong with the document', async () => {
    const documents = [
      '{ ech }',
      '{ me { nam } }',
      '{ echo(txt: "x") }',
      'query ($a: Nothing) { echo(text: $a) }',
      '{ ...Absent }',
      'query Q { ...A } fragment A on Query { me { nam } }',
      'mutation { ad(name: "x") { id } }',
      'subscription { tick }',
      '{ __typename me { nam } }',
      '{ ... on Query { ech } }',
    ]
    for (const document of documents) {
      const { status, body } = await running.ask(document)
      expect([document, status, body.errors?.map(({ extensions }) => extensions.code)]).toEqual([
        document,
        401,
        ['UNAUTHORIZED'],
      ])
      expect(JSON.stringify(body)).not.toMatch(/Cannot query|Did you mean|Unknown/)
    }
  })

  it('without a token gets what is marked as open to everybody', async () => {
    const { status, body } = await running.ask(
      'query Q { ...F ... on Query { shared } __typename } fragment F on Query { shared }',
    )
    expect([status, body]).toEqual([200, { data: { shared: 'for everybody', __typename: 'Query' } }])
  })

  it('with a wrong token gets 401 and the header that says so', async () => {
    const { status, headers, body } = await running.ask('{ __typename }', { token: 'garbage' })
    expect([status, body.errors?.[0]?.extensions.code]).toEqual([401, 'UNAUTHORIZED'])
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  })

  it('reads the schema with a token and without', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    for (const bearer of [undefined, token]) {
      for (const query of [
        getIntrospectionQuery(),
        'query Q { ...F } fragment F on Query { __type(name: "Me") { name fields { name } } }',
      ]) {
        const { status, body } = await running.ask(query, { token: bearer })
        expect([status, body.errors, body.data !== null]).toEqual([200, undefined, true])
      }
    }
  })

  it('reads the schema printed, with a token and without, and once', async () => {
    const answer = await fetch(`${running.url}/graphql/schema.graphql`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/graphql; charset=utf-8'])
    const { buildSchema } = await import('graphql')
    expect(
      buildSchema(await answer.text())
        .getQueryType()
        ?.getFields(),
    ).toHaveProperty('me')
    const again = await fetch(`${running.url}/graphql/schema.graphql`, {
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it('reads the schema without aliases, each of which would cost as much as all of it, and so often a minute', async () => {
    const { status, body } = await running.ask('{ __schema { a: types { name } b: types { name } } }')
    expect([status, body.errors?.[0]?.message]).toEqual([400, '__schema must be read without aliases. Remove them.'])
    const limited = await startApp()
    try {
      const statuses = await Promise.all(
        Array.from({ length: limits.anonymousPerMinute + 10 }, () =>
          limited.ask('{ __schema { types { name } } }').then((one) => one.status),
        ),
      )
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect((await limited.ask('{ __schema { types { name } } }', { token: await limited.token() })).status).toBe(200)
    } finally {
      await limited.stop()
    }
  })

  it('with a token is told the nearest name', async () => {
    const messages = async (query: string): Promise<string | undefined> =>
      (await running.ask(query, { token, headers: { accept: 'application/graphql-response+json' } })).body.errors?.[0]
        ?.message
    expect(await messages('{ ech }')).toBe('Cannot query field "ech" on type "Query". Did you mean "echo"?')
    expect(await messages('{ echo(txt: "x") }')).toBe(
      'Unknown argument "txt" on field "Query.echo". Did you mean "text"?',
    )
    expect(await messages('{ __type(name: "Me") { kind } items { nodes { nam } } }')).toContain('Did you mean "name"')
  })

  it('gets an answer about a name as long as a whole document', async () => {
    const { status } = await running.ask(`{ ${'e'.repeat(1_000_000)} }`, {
      token,
      headers: { accept: 'application/graphql-response+json' },
    })
    expect(status).toBe(400)
  })

  it('may read the schema as GraphiQL does', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    const { status, body } = await running.ask(
      getIntrospectionQuery({
        schemaDescription: true,
        inputValueDeprecation: true,
        specifiedByUrl: true,
        directiveIsRepeatable: true,
      }),
      { token },
    )
    expect([status, body.errors]).toEqual([200, undefined])
  })
})

describe('limits', () => {
  const refused = async (query: string, variables?: unknown): Promise<string> => {
    const { status, body } = await running.ask(query, { token, variables })
    expect([status, body.errors?.[0]?.extensions.code]).toEqual([400, 'INVALID_REQUEST'])
    return body.errors?.[0]?.message ?? ''
  }
  const nested = (levels: number): string =>
    levels === 0 ? '{ id }' : `{ items(first: 1) { nodes ${nested(levels - 1)} } }`

  it('let a list of 100 with many fields, its cursors and its page through', async () => {
    const fields = Array.from({ length: 15 }, (_, i) => `a${i}: name`).join(' ')
    expect(
      (
        await running.ask(
          `{ items(first: 100) { nodes { ${fields} } edges { cursor node { id name } } pageInfo { hasNextPage endCursor } } }`,
          { token },
        )
      ).body.errors,
    ).toBeUndefined()
  })
  it('refuse depth 13 and let 12 through', async () => {
    expect(
      (await running.ask(nested(5).replace('{ id }', '{ items(first: 1) { __typename } }'), { token })).body.errors,
    ).toBeUndefined()
    expect(await refused(nested(6))).toMatch(/13 levels deep; 12 are allowed/)
  })
  it('refuse 16 aliases', async () => {
    const aliases = (count: number): string =>
      `{ ${Array.from({ length: count }, (_, i) => `a${i}: echo(text: "x")`).join(' ')} }`
    expect((await running.ask(aliases(15), { token })).body.errors).toBeUndefined()
    expect(await refused(aliases(16))).toMatch(/16 aliases; 15 are allowed/)
  })
  it('count aliases in fragments each time they are spread', async () => {
    const query = `query Q { ...A ...B } fragment A on Query { ...C ...C } fragment B on Query { ...C ...C } fragment C on Query { a: __typename b: __typename c: __typename d: __typename }`
    expect(await refused(query)).toMatch(/16 aliases/)
  })
  it('refuse more than 2000 objects, also when the size comes by variable or is left out', async () => {
    expect(await refused('{ items(first: 100) { nodes { items(first: 100) { nodes { id } } } } }')).toMatch(
      /objects; 2000 are allowed/,
    )
    expect(
      await refused('query ($n: Int) { items(first: $n) { nodes { items(first: $n) { nodes { id } } } } }', { n: 100 }),
    ).toMatch(/objects/)
    expect(
      await refused('query ($n: Int = 100) { items(first: $n) { nodes { items(first: $n) { nodes { id } } } } }'),
    ).toMatch(/objects/)
    expect(await refused('{ items { nodes { items { nodes { id } } } } }')).toMatch(/objects/)
    expect(
      await refused(
        'query Q { items(first: 100) { ...F } } fragment F on ItemConnection { nodes { items(first: 100) { nodes { id } } } }',
      ),
    ).toMatch(/objects/)
  })
  it.each([
    ['{ items { nodes { items { nodes { id } } } } }', 2550, 2500, 'items.items'],
    ['{ items(first: 2001) { nodes { id } } }', 2001, 2001, 'items'],
    [
      '{ items(first: 5) { ...F } } fragment F on ItemConnection { nodes { items(first: 500) { nodes { id } } } }',
      2505,
      2500,
      'items.items',
    ],
  ])('name the list that makes most of them, and what to do: %s', async (query, objects, most, path) => {
    expect(await refused(query)).toBe(
      `The operation may return ${objects} objects; 2000 are allowed. Up to ${most} of them are of ${path}: give it and the lists around it a smaller first (a list without one counts 50), or read it in an operation of its own.`,
    )
  })
  it('run lists inside a list whose pages are small enough', async () => {
    const query = '{ items(first: 40) { nodes { items(first: 49) { nodes { id } } } } }'
    expect((await running.ask(query, { token })).body.errors).toBeUndefined()
  })
  it.each(['nodes { id }', 'edges { cursor node { id } }'])('run the largest page, of %s', async (page) => {
    const asking = (first: number): string => `{ items(first: ${first}) { ${page} } }`
    expect((await running.ask(asking(2000), { token })).body.errors).toBeUndefined()
    expect(await refused(asking(2001))).toMatch(/may return 2001 objects; 2000 are allowed/)
  })
  it('refuse 4001 tokens', async () => {
    expect(await refused(`{ ${'echo '.repeat(4000)} }`)).toMatch(/more than 4000 tokens/)
  })
  it('refuse circular fragments, fast', async () => {
    const { status } = await running.ask('query Q { ...A } fragment A on Query { ...B } fragment B on Query { ...A }', {
      token,
      headers: { accept: 'application/graphql-response+json' },
    })
    expect(status).toBe(400)
  })
  it('do not let fragments double the work with each level', async () => {
    const levels = 60 // 2^60 steps, if each spread were followed
    const fragments = Array.from(
      { length: levels },
      (_, i) => `fragment F${i} on Query { ${i + 1 < levels ? `...F${i + 1} ...F${i + 1}` : '__typename'} }`,
    ).join(' ')
    expect((await running.ask(`query Q { ...F0 } ${fragments}`, { token })).status).toBe(200)
  })
  it('refuse 301 fields, and answer 300', async () => {
    expect(await refused(`{ ${'me { name } '.repeat(151)} }`)).toMatch(/302 fields and fragments; 300 are allowed/)
    expect((await running.ask(`{ ${'me { name } '.repeat(150)} }`, { token })).status).toBe(200)
  })
  it('refuse six operations in one batch and run five', async () => {
    const send = (count: number) =>
      fetch(`${running.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(Array.from({ length: count }, () => ({ query: '{ me { name } }' }))),
      })
    const five = await send(5)
    expect([five.status, await five.json()]).toEqual([
      200,
      Array.from({ length: 5 }, () => ({ data: { me: { name: 'alice' } } })),
    ])
    const six = await send(6)
    const body = (await six.json()) as { errors: { extensions: { code: string } }[] }
    expect([six.status, body.errors[0]?.extensions.code]).toEqual([413, 'REQUEST_TOO_LARGE'])
  })
  it('refuse a member of a batch that is no object or a subscription, and run the others', async () => {
    const subscription = { query: 'subscription { ticks(count: 2) }' }
    const answer = await fetch(`${running.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify([null, subscription, { query: '{ me { name } }' }]),
    })
    const codes = ((await answer.json()) as { data?: unknown; errors?: { extensions: { code: string } }[] }[]).map(
      ({ data, errors }) => data ?? errors?.[0]?.extensions.code,
    )
    expect([answer.status, codes]).toEqual([200, ['INVALID_REQUEST', 'INVALID_REQUEST', { me: { name: 'alice' } }]])
  })
})

describe('a mutation', () => {
  it('runs by POST', async () => {
    expect((await running.ask('mutation { add(name: "x") { id } }', { token })).body).toEqual({
      data: { add: { id: '1' } },
    })
  })
  it('does not run by GET', async () => {
    const answer = await fetch(
      `${running.url}/graphql?query=${encodeURIComponent('mutation { add(name: "x") { id } }')}`,
      { headers: { authorization: `Bearer ${token}` } },
    )
    expect(answer.status).toBe(405)
  })
})

describe('the type of an answer', () => {
  const post = (accept: string, query: string): Promise<Response> =>
    fetch(`${running.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, accept },
      body: JSON.stringify({ query }),
    })
  it('is the one that was asked for, and decides the status of what was refused', async () => {
    for (const [accept, query, status, type] of [
      ['application/graphql-response+json', '{ me { name } }', 200, 'application/graphql-response+json'],
      ['application/graphql-response+json', '{ ech }', 400, 'application/graphql-response+json'],
      ['application/json', '{ me { name } }', 200, 'application/json'],
      ['application/json', '{ ech }', 200, 'application/json'],
      ['*/*', '{ me { name } }', 200, 'application/'],
      [
        'application/graphql-response+json; charset=utf-8, application/json; charset=utf-8',
        '{ me { name } }',
        200,
        'application/graphql-response+json',
      ],
    ] as const) {
      const answer = await post(accept, query)
      expect([accept, query, answer.status]).toEqual([accept, query, status])
      expect(answer.headers.get('content-type')).toContain(type)
      expect(await answer.json()).toBeTypeOf('object')
    }
  })
  it('cannot be one that GraphQL does not know', async () => {
    const answer = await post('image/png', '{ me { name } }')
    expect(answer.status).toBe(406)
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { http: { status: 406 } } }] })
  })
})

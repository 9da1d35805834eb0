/** The clients that people have: urql and Apollo's, each with its own Accept header and its own way to follow a subscription. */
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { cacheExchange, Client, fetchExchange } from '@urql/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '#src/platform/secrets.ts'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await running.token()
})
afterAll(() => running.stop())

const urqlAccept =
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed'

describe('urql', () => {
  const client = (accept?: string): Client =>
    new Client({
      url: `${running.url}/graphql`,
      exchanges: [cacheExchange, fetchExchange],
      fetchSubscriptions: true,
      preferGetMethod: false,
      fetchOptions: () => ({ headers: { authorization: `Bearer ${token}`, ...(accept ? { accept } : {}) } }),
    })
  const ticks = (client: Client): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      const seen: unknown[] = []
      client.subscription('subscription { ticks(count: 3) }', {}).subscribe(({ data, error, hasNext }) => {
        if (error) return reject(error)
        if (data && seen.at(-1) !== data) seen.push(data)
        if (!hasNext) resolve(seen)
      })
    })

  it('queries, changes and follows', async () => {
    expect(await client().query('{ me { name } }', {}).toPromise()).toMatchObject({
      data: { me: { name: 'alice' } },
      error: undefined,
    })
    expect(await client().mutation('mutation { add(name: "x") { id } }', {}).toPromise()).toMatchObject({
      data: { add: { id: '1' } },
      error: undefined,
    })
  })

  it.each([undefined, 'multipart/mixed', 'text/event-stream'])(
    'follows a subscription, accepting %s',
    async (accept) => {
      expect((await ticks(client(accept))).map((data) => (data as { ticks: number }).ticks).filter(Boolean)).toEqual([
        1, 2, 3,
      ])
    },
  )

  it('is told of a failing sibling, and keeps the data of the other', async () => {
    const { data, error } = await client().mutation('mutation { add(name: "x") { id } fail { id } }', {}).toPromise()
    expect([data, error?.graphQLErrors[0]?.extensions['code']]).toMatchObject([
      { add: { id: '1' }, fail: null },
      'NOT_FOUND',
    ])
  })

  it('gets consistent headers in every form of answer', async () => {
    for (const accept of [urqlAccept, 'multipart/mixed', 'text/event-stream', 'application/json']) {
      for (const query of ['{ me { name } }', '{ ech }', 'subscription { ticks(count: 2) }']) {
        const answer = await fetch(`${running.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, accept },
          body: JSON.stringify({ query }),
        })
        expect([
          accept,
          query,
          answer.headers.has('content-length') && answer.headers.has('transfer-encoding'),
        ]).toEqual([accept, query, false])
        expect(await answer.text()).toContain(
          query.includes('ech')
            ? 'Cannot query field'
            : query.includes('me')
              ? 'alice'
              : accept === 'application/json'
                ? 'text/event-stream and multipart/mixed'
                : '"ticks":2',
        )
      }
    }
  })
})

describe('Apollo’s client', () => {
  it('queries, changes, and follows a subscription over HTTP by its own multipart protocol', async () => {
    const client = new ApolloClient({
      link: new HttpLink({ uri: `${running.url}/graphql`, headers: { authorization: `Bearer ${token}` } }),
      cache: new InMemoryCache(),
    })
    expect((await client.query({ query: gql('{ me { name } }') })).data).toMatchObject({ me: { name: 'alice' } })
    expect((await client.mutate({ mutation: gql('mutation { add(name: "x") { id } }') })).data).toMatchObject({
      add: { id: '1' },
    })
    const seen: unknown[] = []
    await new Promise<void>((complete, error) =>
      client
        .subscribe({ query: gql('subscription { ticks(count: 3) }') })
        .subscribe({ next: ({ data }) => seen.push(data), complete, error }),
    )
    expect(seen).toEqual([{ ticks: 1 }, { ticks: 2 }, { ticks: 3 }])
  })
})

describe('Apollo’s persisted queries', () => {
  const query = '{ me { name } }'
  const hash = sha256(query).toString('hex')
  const extensions = { persistedQuery: { version: 1, sha256Hash: hash } }
  const refusal = {
    errors: [
      {
        message: 'PersistedQueryNotSupported',
        extensions: {
          code: 'PERSISTED_QUERY_NOT_SUPPORTED',
          http: { status: 200 },
          requestId: expect.stringMatching(/^req_/),
        },
      },
    ],
  }

  it.each([false, true])(
    'fall back to the whole document, which its link then always sends (by GET: %s)',
    async (useGETForHashedQueries) => {
      const sent: (string | undefined)[] = []
      const link = ApolloLink.from([
        new PersistedQueryLink({ sha256: (text) => sha256(text).toString('hex'), useGETForHashedQueries }),
        new HttpLink({
          uri: `${running.url}/graphql`,
          headers: { authorization: `Bearer ${token}` },
          fetch: (input, init) => {
            const body = init?.body
              ? (JSON.parse(init.body as string) as { query?: string })
              : { query: new URL(input as string).searchParams.get('query') ?? undefined }
            sent.push(body.query)
            return fetch(input, init)
          },
        }),
      ])
      const client = new ApolloClient({ link, cache: new InMemoryCache() })
      const ask = (): Promise<unknown> =>
        client.query({ query: gql(query), fetchPolicy: 'no-cache' }).then(({ data }) => data)
      expect([await ask(), await ask()]).toMatchObject([{ me: { name: 'alice' } }, { me: { name: 'alice' } }])
      expect(sent.map((document) => document !== undefined)).toEqual([false, true, true])
    },
  )

  it('are answered as Apollo’s server does: 200, its sentence and its code, by POST and by GET, with a token and without', async () => {
    for (const headers of [{}, { authorization: `Bearer ${token}` }] as Record<string, string>[]) {
      const posted = await fetch(`${running.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ extensions }),
      })
      expect([posted.status, await posted.json()]).toEqual([200, refusal])
      const got = await fetch(`${running.url}/graphql?extensions=${encodeURIComponent(JSON.stringify(extensions))}`, {
        headers,
      })
      expect([got.status, await got.json()]).toEqual([200, refusal])
    }
  })

  it('that include the document are run', async () => {
    const answer = await fetch(`${running.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, extensions }),
    })
    expect(await answer.json()).toEqual({ data: { me: { name: 'alice' } } })
  })

  it('leave other requests without a document a mistake', async () => {
    for (const body of [{}, { extensions: {} }, { extensions: { persistedQuery: null } }]) {
      const answer = await fetch(`${running.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      })
      expect(answer.status).toBe(400)
    }
  })
})

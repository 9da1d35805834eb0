/** The web process's app on a port of its own, with a small schema, for the tests of the gateway. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { buildSchema, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql'
import type { Context } from '#schema/builder.ts'
import { issueToken } from '#src/identity/issuer.ts'
import { allow } from '#src/platform/access.ts'
import type { Role } from '#src/platform/access/permissions.ts'
import { readConfig } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import { buildApp, type RegisterSurfaces } from '#src/gateway/app.ts'
import { createDatabase, type TestPostgres } from '../support/postgres.ts'
import { freePort } from '../support/ports.ts'

/** A gateway that listens. */
export type RunningApp = {
  app: FastifyInstance
  services: Services
  port: number
  url: string
  /** A token for this person; valid one hour unless said otherwise. */
  token: (user?: string, organization?: string, role?: Role, ttlSeconds?: number) => Promise<string>
  /** Sends a GraphQL document by POST. */
  ask: (
    query: string,
    options?: { token?: string; variables?: unknown; headers?: Record<string, string> },
  ) => Promise<{ status: number; headers: Headers; body: GraphqlBody }>
  stop: () => Promise<void>
}

/** The shape of every GraphQL answer. */
export type GraphqlBody = {
  data?: Record<string, unknown> | null
  errors?: {
    message: string
    path?: string[]
    extensions: { code: string; requestId: string; http?: { status: number } }
  }[]
}

/** Starts one. `settings` are environment variables, as in docs/operating.md. */
export async function startApp({
  settings = {},
  schema = smallSchema(),
  surfaces,
  on,
  host = '127.0.0.1',
}: {
  settings?: Record<string, string>
  schema?: GraphQLSchema
  surfaces?: RegisterSurfaces
  on?: TestPostgres
  host?: string
} = {}): Promise<RunningApp> {
  const database = await createDatabase(on)
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-gateway-'))
  const port = Number(settings['PORT'] ?? (await freePort()))
  const config = readConfig({ PORT: String(port), BERTH_DATA_DIR: dataDir, BERTH_LOG_LEVEL: 'error', ...settings })
  const services = await openServices(config, database.url, 'web')
  const app = await buildApp({ services, schema, surfaces })
  await app.listen({ port, host })
  const url = `http://127.0.0.1:${port}`
  return {
    app,
    services,
    port,
    url,
    token: async (user = 'alice', organization = 'acme', role = 'owner', ttlSeconds = 3600) =>
      (await issueToken(services, { user, organization, role, ttlSeconds, newNames: { make: true } })).token,
    ask: async (query, { token, variables, headers = {} } = {}) => {
      const answer = await fetch(`${url}/graphql`, {
        method: 'POST',
        body: JSON.stringify({ query, variables }),
        headers: {
          'content-type': 'application/json',
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...headers,
        },
      })
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as GraphqlBody }
    },
    stop: async () => {
      await app.close()
      await services.close()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** How many streams of the small schema's `changes` are open in this process, for tests that they end. */
export const open = { changes: 0 }

/** A schema with one of everything the gateway must handle. */
export function smallSchema(): GraphQLSchema {
  const schema = buildSchema(`
    type Query {
      me: Me
      items(first: Int, after: String): ItemConnection
      shared: String
      echo(text: String): String
      broken: String
      missing: String
    }
    type Mutation { add(name: String!): Item  fail: Item }
    type Subscription { ticks(count: Int!): Int!  changes(id: ID!): Int!  failing: Int!  refused: Int! }
    type Me { name: String! }
    type Item { id: ID! name: String! items(first: Int): ItemConnection! }
    type ItemConnection { edges: [ItemEdge!]! nodes: [Item!]! pageInfo: PageInfo! }
    type ItemEdge { cursor: String! node: Item! }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
  `)
  const resolve = (type: string, field: string, resolver: GraphQLFieldResolver<unknown, Context>): void => {
    const found = schema.getType(type)
    if (!found || !('getFields' in found)) throw new Error(`no type ${type}`)
    ;(found.getFields()[field] as { resolve?: unknown }).resolve = resolver // graphql-js allows it before the first execution
  }
  const follow = (
    field: string,
    source: (args: Record<string, unknown>, context: Context) => AsyncIterable<unknown>,
  ): void => {
    const found = schema.getSubscriptionType()?.getFields()[field]
    if (!found) throw new Error(`no subscription ${field}`)
    found.subscribe = (_root: unknown, args: Record<string, unknown>, context: Context) => source(args, context)
    found.resolve = (event: unknown) => event
  }
  const page = { edges: [], nodes: [{ id: '1', name: 'one' }], pageInfo: { hasNextPage: false, endCursor: null } }
  resolve('Query', 'me', (_root, _args, context) => {
    allow(context.caller, 'account:read')
    return { name: 'alice' }
  })
  resolve('Query', 'items', () => page)
  resolve('Item', 'items', () => page)
  resolve('Query', 'echo', (_root, { text }) => text)
  resolve('Query', 'broken', () => {
    throw new Error('the secret reason')
  })
  resolve('Query', 'missing', () => {
    throw notFound('thing')
  })
  resolve('Query', 'shared', () => 'for everybody')
  const shared = schema.getQueryType()?.getFields()['shared']
  if (shared) shared.extensions = { open: true }
  resolve('Mutation', 'fail', () => {
    throw notFound('thing')
  })
  resolve('Mutation', 'add', (_root, { name }, { caller }) => {
    allow(caller, 'vms:write')
    return { id: '1', name }
  })
  follow('ticks', async function* ({ count }) {
    for (let tick = 1; tick <= Number(count); tick++) yield tick
  })
  follow('refused', () => {
    throw notFound('thing')
  })
  follow('failing', async function* () {
    yield 1
    throw new Error('the secret reason')
  })
  follow('changes', async function* ({ id }, { caller, pubsub, signal }) {
    allow(caller, 'vms:read')
    open.changes++
    try {
      let seen = 0
      yield seen
      for await (const _ of pubsub.subscribe('thing', String(id), signal ?? new AbortController().signal)) yield ++seen
    } finally {
      open.changes--
    }
  })
  return schema
}

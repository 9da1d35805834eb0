/** What answers at `/mcp`: a tool is an operation on the graph as its caller, and counts as one. */
import { Readable } from 'node:stream'
import { createMcpHandler, type AuthInfo } from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator } from '#schema/context.ts'
import { keyOfUrl } from '#src/drivers/objects/store.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { readScope, type Scope } from '#src/mcp/scope.ts'
import { createMcpServer } from '#src/mcp/server.ts'
import type { Ask, Work } from '#src/mcp/tool.ts'
import type { Caller } from '#src/platform/access.ts'
import { lesserRole } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import type { Services } from '#src/platform/services.ts'
import { readInstance } from '#src/resources/identity/instance.ts'
import { writeUpload } from '#src/resources/infra/uploads/writes.ts'
import { showError } from '../graphql-errors.ts'
import type { GraphqlCall, Operations } from '../graphql-operations.ts'
import { leaving } from '../graphql-single.ts'

/** Streams that wait for changes of the lists of tools, which do not change. */
const subscriptionsMax = 64

type Served = { scope: Scope; work: Work }

/** What it needs; `authenticator` says who is let in. */
export type McpParts = { services: Services; operations: Operations; authenticator: Authenticator }

/** Answers the requests of callers who were let in. */
export type ToolServing = {
  answer: (request: FastifyRequest, reply: FastifyReply, caller: Caller) => Promise<FastifyReply>
  close: () => Promise<void>
}

/** Makes the process's. */
export function createToolServing(parts: McpParts): ToolServing {
  const { version } = readInstance(parts.services)
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const { scope, work } = authInfo!.extra as Served // what `answer` below gives
      return createMcpServer(version, scope, work)
    },
    {
      maxRequestBodySize: limits.graphqlBodyBytes,
      maxSubscriptions: subscriptionsMax,
      onerror: (error) => log.debug({ err: error }, 'a request to the tool server was refused'),
    },
  )
  return {
    close: () => handler.close(),
    async answer(request, reply, caller) {
      const gone = leaving(reply)
      const scope = readScope(request.query)
      const work = workAs(scope.isReadOnly ? looking(caller) : caller, request, gone.signal, parts, scope)
      const authInfo: AuthInfo = { token: '', clientId: '', scopes: [], extra: { scope, work } satisfies Served }
      const response = await handler.fetch(
        new Request('http://localhost/mcp', {
          method: request.method,
          headers: headersOf(request),
          signal: gone.signal,
          ...(request.rawBody ? { body: new Uint8Array(request.rawBody) } : {}),
        }),
        { authInfo },
      )
      reply.code(response.status).header('cache-control', 'no-store')
      reply.headers(Object.fromEntries(response.headers))
      return reply.send(response.body ? Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]) : '')
    },
  }
}

function headersOf({ headers }: FastifyRequest): Headers {
  const given = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && name !== 'authorization' && name !== 'content-length') given.set(name, value)
  return given
}

/** The caller with the least role: some that a query asks for, such as the address of a preview, is more than looking. */
function looking(caller: Caller): Caller {
  if (caller.kind !== 'person') return caller
  return {
    ...caller,
    role: caller.role && lesserRole(caller.role, 'viewer'),
    memberships: new Map([...caller.memberships].map(([id, role]) => [id, lesserRole(role, 'viewer')])),
  }
}

/** What tools may do: all that the caller may, and nothing else. */
function workAs(
  caller: Caller,
  request: FastifyRequest,
  signal: AbortSignal,
  { services, operations }: McpParts,
  { projectId }: Scope,
): Work {
  const call: GraphqlCall = {
    ...services,
    caller,
    requestId: request.id,
    signal,
    address: request.clientAddress,
    answer: {},
  }
  const ask: Ask = async (query, variables = {}) => {
    const result = await operations.run({ query, variables: withoutAbsent(variables) }, call)
    if (Symbol.asyncIterator in result) throw new BerthError('invalid_request', 'Subscriptions are not run here.')
    const [error] = result.errors ?? []
    if (error) throw showError(error, request.id).error
    return (result.data ?? {}) as Record<string, unknown> // an operation's data is an object
  }
  return {
    ask,
    projectId,
    store: (bytes) => store(ask, services, bytes),
    async count() {
      await spendRequest(services.limiter, caller, false)
    },
  }
}

/** What is undefined is not sent: the graph tells it from null. */
function withoutAbsent(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, given]) => given !== undefined)
      .map(([name, given]) => [name, isPlain(given) ? withoutAbsent(given) : given]),
  )
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function store(ask: Ask, services: Services, bytes: Buffer): Promise<string> {
  const { createUpload } = await ask('mutation { createUpload(input: {}) { upload { binaryUrl } } }')
  const { binaryUrl } = (createUpload as { upload: { binaryUrl: string } }).upload
  const key = keyOfUrl(objectStore(services), binaryUrl)
  if (key === undefined) throw new Error('an upload without a place')
  await writeUpload(services, key, Readable.from([bytes]), bytes.length)
  return binaryUrl
}

/**
 * The checks of every operation before it runs, whether it came by HTTP, in a batch or by web socket: its size, its
 * caller, and the caller's rate limit.
 */
import { GraphQLError, getOperationAST, Kind, type DocumentNode, type GraphQLSchema } from 'graphql'
import type { Context } from '#schema/builder.ts'
import { BerthError } from '#src/platform/errors.ts'
import { checkJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { rateLimited } from '#src/platform/metrics.ts'
import { spendRequest, type Allowance } from '#src/platform/rate-limits.ts'
import type { Documents } from './graphql-documents.ts'
import { persistedQueryNotSupported } from './graphql-errors.ts'
import { isForEverybody } from './open-operations.ts'
import { measureOperation, refuseLarge, refuseLong } from './operation-size.ts'

/** One request: the context of resolvers, the content of the body, and the headers of the answer. */
export type GraphqlCall = Context & {
  sent?: unknown
  address: string
  answer: { allowance?: Allowance; headers?: Record<string, string> }
}

/** The parameters of a request, not yet validated. */
export type Params = { query?: unknown; operationName?: unknown; variables?: unknown; extensions?: unknown }

/**
 * Checks and counts an operation before it runs.
 * @returns its document; undefined if none was sent, which yoga refuses with its own message.
 * @throws BerthError, or GraphQLError for a document that does not parse.
 */
export async function admitOperation(
  schema: GraphQLSchema,
  documents: Documents,
  params: Params,
  call: GraphqlCall,
): Promise<DocumentNode | undefined> {
  if (typeof params !== 'object' || params === null)
    throw new BerthError('invalid_request', 'Each member of a batch must be a JSON object with "query".')
  if (typeof params.query !== 'string') return refusePersisted(params)
  checkJson(params, true)
  const variables =
    typeof params.variables === 'object' && params.variables !== null
      ? (params.variables as Record<string, unknown>)
      : {}
  const document = documents.read(params.query)
  const operation = getOperationAST(document, textOrNone(params.operationName))
  call.answer.allowance = await spend(call, operation?.operation === 'mutation')
  refuseLong(document)
  if (!operation)
    throw call.caller.kind === 'nobody' ? call.caller.refusal : noOperation(document, params.operationName)
  if (operation.operation === 'subscription' && Array.isArray(call.sent))
    throw new BerthError('invalid_request', 'A batch holds queries and mutations. Send a subscription by itself.')
  const size = measureOperation(schema, document, operation, variables)
  refuseLarge(size)
  if (call.caller.kind !== 'nobody') return document
  // As in REST: authentication comes before errors in the document.
  if (!isForEverybody(schema, document, operation)) throw call.caller.refusal
  if (size.readsSchema) await call.limiter.spend(`schema:address:${call.address}`, limits.anonymousPerMinute)
  return document
}

/** The 400 for a request that does not name an operation of its document. */
function noOperation({ definitions }: DocumentNode, operationName: unknown): BerthError {
  const operations = definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION).length
  return new BerthError(
    'invalid_request',
    operations === 0
      ? 'The document has no operation. Add a query or a mutation.'
      : textOrNone(operationName) === undefined
        ? `The document has ${operations} operations. Name the one to run in "operationName".`
        : 'The document has no operation with the name given in "operationName".',
  )
}

/** A text, or undefined for anything else. */
export function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/**
 * Answers a request with only the hash of a document as Apollo's clients expect from a server without persisted
 * queries: they then send the whole document. The code, the sentence and the status 200 are Apollo's.
 * @throws GraphQLError for such a request.
 */
function refusePersisted({ query, extensions }: Params): undefined {
  if (query !== undefined && query !== null && query !== '') return
  if (
    typeof extensions !== 'object' ||
    extensions === null ||
    !('persistedQuery' in extensions) ||
    !extensions.persistedQuery
  )
    return
  throw new GraphQLError('PersistedQueryNotSupported', {
    extensions: { code: persistedQueryNotSupported, http: { status: 200 } },
  })
}

/** Counts the operation against its caller's rate limit, which REST shares. */
async function spend({ caller, limiter, address }: GraphqlCall, changes: boolean): Promise<Allowance> {
  try {
    // Without credentials nothing can be read, so this only protects the processor, and is less strict than for a public REST route.
    if (caller.kind === 'nobody') return await limiter.spend(`other:address:${address}`, limits.otherPerMinute)
    return await spendRequest(limiter, caller, changes)
  } catch (error) {
    if (error instanceof BerthError && error.code === 'rate_limited') rateLimited.inc({ surface: 'graphql' })
    throw error
  }
}

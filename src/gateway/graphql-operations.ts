/**
 * The one way of every operation, whether it came alone, in a batch, by GET, as a stream or by web socket: it is admitted
 * (its size, its caller, the caller's rate limit, its validity), and then executed.
 */
import {
  createSourceEventStream,
  GraphQLError,
  getOperationAST,
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql'
import { mapAsyncIterator } from 'graphql/execution/mapAsyncIterator.js'
import type { Context } from '#schema/builder.ts'
import { BerthError } from '#src/platform/errors.ts'
import { checkJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { rateLimited } from '#src/platform/metrics.ts'
import { spendRequest, type Allowance } from '#src/platform/rate-limits.ts'
import { wrongVariable } from './graphql-checks.ts'
import { createDocuments, type Documents } from './graphql-documents.ts'
import { isForEverybody } from './open-operations.ts'
import { measureOperation, refuseLarge, refuseLong } from './operation-size.ts'

/**
 * One request: the context of resolvers, the content of the body, and the headers of the answer. `isGet`: whether it
 * came by GET, which changes nothing.
 */
export type GraphqlCall = Context & {
  sent?: unknown
  isGet?: boolean
  address: string
  answer: { allowance?: Allowance; headers?: Record<string, string> }
}

/** One operation whose members have the right types. */
export type OperationParams = {
  query: string
  operationName?: string | null
  variables?: Record<string, unknown> | null
  extensions?: object | null
}

/** The errors that refuse an operation, as its result. */
type Refused = { errors: readonly GraphQLError[] }

/** What came of an operation: its result, or a subscription's events. */
export type Outcome = ExecutionResult | AsyncGenerator<ExecutionResult>

/** Admits and executes the operations of one schema. */
export type Operations = {
  /** Checks and counts an operation: what is to be executed, or why it is not. */
  admit(params: OperationParams, call: GraphqlCall): Promise<ExecutionArgs | Refused>
  /** Executes what was admitted. Variables are checked first, because graphql's errors would quote them. */
  execute(admitted: ExecutionArgs): Outcome | Promise<Outcome>
  /** Both. @throws what `execute` throws. */
  run(params: OperationParams, call: GraphqlCall): Promise<Outcome>
}

/** Makes the way of a schema's operations. */
export function createOperations(schema: GraphQLSchema): Operations {
  const documents = createDocuments(schema)
  const admit: Operations['admit'] = async (params, call) => {
    try {
      const document = await admitDocument(schema, documents, params, call)
      const errors = documents.validate(document, call.caller.kind !== 'nobody')
      if (errors.length > 0) return { errors }
      const { operationName, variables } = params
      return { schema, document, contextValue: call, operationName, variableValues: variables }
    } catch (error) {
      return { errors: [error as GraphQLError] } // whatever it is: showError reads it
    }
  }
  const execute: Operations['execute'] = (admitted) => {
    const wrong = wrongVariable(admitted)
    if (wrong) return { errors: [wrong] }
    const operation = getOperationAST(admitted.document, admitted.operationName)
    return operation?.operation === OperationTypeNode.SUBSCRIPTION ? follow(admitted) : documents.run(admitted)
  }
  const follow = async (admitted: ExecutionArgs): Promise<Outcome> => {
    const source = await createSourceEventStream(admitted)
    if (!(Symbol.asyncIterator in source)) return source
    return mapAsyncIterator(source, (rootValue) => documents.run({ ...admitted, rootValue }))
  }
  return {
    admit,
    execute,
    async run(params, call) {
      const admitted = await admit(params, call)
      return 'errors' in admitted ? admitted : execute(admitted)
    },
  }
}

/** What refuses an operation before its document is validated. @throws BerthError, or GraphQLError for what does not parse. */
async function admitDocument(
  schema: GraphQLSchema,
  documents: Documents,
  params: OperationParams,
  call: GraphqlCall,
): Promise<DocumentNode> {
  checkJson(params, true)
  const document = documents.read(params.query)
  const operation = getOperationAST(document, params.operationName)
  const changes = operation?.operation === OperationTypeNode.MUTATION
  call.answer.allowance = await spend(call, changes)
  refuseLong(document)
  if (!operation)
    throw call.caller.kind === 'nobody' ? call.caller.refusal : noOperation(document, params.operationName)
  if (operation.operation === OperationTypeNode.SUBSCRIPTION && Array.isArray(call.sent))
    throw new BerthError('invalid_request', 'A batch holds queries and mutations. Send a subscription by itself.')
  const size = measureOperation(schema, document, operation, params.variables ?? {})
  refuseLarge(size)
  // As in REST: authentication comes before errors in the document.
  if (call.caller.kind === 'nobody') {
    if (!isForEverybody(schema, document, operation)) throw call.caller.refusal
    if (size.readsSchema) await call.limiter.spend(`schema:address:${call.address}`, limits.anonymousPerMinute)
  }
  if (changes && call.isGet) throw notByGet()
  return document
}

/** The 400 for a request that does not name an operation of its document. */
function noOperation({ definitions }: DocumentNode, operationName: string | null | undefined): BerthError {
  const operations = definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION).length
  return new BerthError(
    'invalid_request',
    operations === 0
      ? 'The document has no operation. Add a query or a mutation.'
      : (operationName ?? undefined) === undefined
        ? `The document has ${operations} operations. Name the one to run in "operationName".`
        : 'The document has no operation with the name given in "operationName".',
  )
}

/** The 405 that the specification of GraphQL over HTTP requires. */
function notByGet(): GraphQLError {
  return new GraphQLError('Can only perform a mutation operation from a POST request.', {
    extensions: { http: { status: 405, headers: { Allow: 'POST' } } },
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

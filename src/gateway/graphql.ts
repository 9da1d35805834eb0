/**
 * The GraphQL engine of the public endpoint: one set of checks and limits before every operation, whether it came by
 * HTTP or by web socket. REST documents run elsewhere (rest-compat/run.ts), on the same resolvers.
 */
import {
  getOperationAST,
  GraphQLError,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Context } from '#schema/builder.ts'
import { BerthError } from '#src/platform/errors.ts'
import { checkJson } from '#src/platform/json/body.ts'
import { bodyText } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { rateLimited } from '#src/platform/metrics.ts'
import { spendRequest, type Allowance } from '#src/platform/rate-limits.ts'
import { parseDocument, validateBriefly, wrongVariable } from './graphql-checks.ts'
import { persistedQueryNotSupported, showError, showResult } from './graphql-errors.ts'
import { multipartForm, multipartResponse } from './multipart.ts'
import { isForEverybody } from './open-operations.ts'
import { measureOperation, refuseLarge, refuseLong } from './operation-size.ts'

/** One request: what resolvers are given, what the body said, and what the answer's headers should say. */
export type GraphqlCall = Context & {
  sent?: unknown
  address: string
  answer: { allowance?: Allowance; headers?: Record<string, string> }
}

/** What a client asked for, not yet trusted. */
export type Params = { query?: unknown; operationName?: unknown; variables?: unknown; extensions?: unknown }

/** The public GraphQL engine. */
export type Engine = {
  yoga: YogaServerInstance<GraphqlCall, object>
  /** Checks and counts an operation before it runs. @throws BerthError, or GraphQLError for a document that does not parse. */
  admit(params: Params, call: GraphqlCall): Promise<void>
}

/** Longest document that is kept parsed, in characters, and how many are: both bound the memory. */
const keptDocumentLength = 16_384
const keptDocumentsMax = 500

/** Makes the engine of a schema. */
export function createEngine(schema: GraphQLSchema): Engine {
  const documents = createDocumentCache()
  const admit = (params: Params, call: GraphqlCall): Promise<void> => admitOperation(schema, documents, params, call)
  const yoga = createYoga<GraphqlCall>({
    schema,
    graphqlEndpoint: '/graphql',
    batching: { limit: limits.graphqlBatch },
    maskedErrors: false, // ours are shown by showError, which knows the request
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    maxRequestBodySize: false, // Fastify has read and measured the body already
    logging: {
      debug() {
        /* too much */
      },
      info: (...words) => log.debug({ words: words.map(String) }, 'graphql'),
      warn: (...words) => log.warn({ words: words.map(String) }, 'graphql'),
      error: () => {
        /* showError logs what is ours to mend */
      },
    },
    parserAndValidationCache: {
      documentCache: documents,
      errorCache: {
        get: () => undefined,
        set: () => {
          /* a wrong document is rare and read again */
        },
      },
      validationCache: false /* checkOperations knows the valid ones */,
    },
    plugins: [gatewayPlugin(admit), checkOperations()],
  })
  return { yoga, admit }
}

function gatewayPlugin(admit: Engine['admit']): Plugin<object, GraphqlCall> {
  return {
    // The body was read by the same strict reader as every other body of Berth.
    onRequestParse: ({ request, serverContext, setRequestParser, requestParser }) => {
      if (requestParser && request.method === 'POST') setRequestParser(() => readSent(serverContext.sent) as never) // yoga checks each member's shape next
      if (request.method === 'GET') setRequestParser(() => readQueryString(request.url) as never) // the same
    },
    onParams: ({ params, context }) => admit(params as Params, context as unknown as GraphqlCall), // yoga's type of its own argument forgets the server's part
    onResultProcess: async ({ request, result, setResult, setResultProcessor, serverContext }) => {
      if (Symbol.asyncIterator in result) {
        const form = multipartForm(request.headers.get('accept'))
        if (form)
          setResultProcessor(
            (events) => multipartResponse(events as AsyncIterable<ExecutionResult>, form),
            'multipart/mixed',
          ) // the result just below
        return setResult(showEvents(result as AsyncIterable<ExecutionResult>, serverContext.requestId))
      }
      if (Array.isArray(result))
        return setResult(await Promise.all(result.map((one: ExecutionResult) => answerOf(one, serverContext))))
      setResult(await answerOf(result as ExecutionResult, serverContext)) // neither a stream nor a batch
    },
  }
}

/** Validation that tells a bounded number of findings, and variables that are looked at before graphql quotes them. */
function checkOperations(): Plugin<object, GraphqlCall> {
  const valid = new WeakSet<DocumentNode>()
  const refuse = ({
    args,
    setResultAndStopExecution,
  }: {
    args: ExecutionArgs
    setResultAndStopExecution: (result: { errors: GraphQLError[] }) => void
  }): void => {
    const error = wrongVariable(args)
    if (error) setResultAndStopExecution({ errors: [error] })
  }
  return {
    onValidate: ({ params: { documentAST }, context, setResult, setValidationFn }) => {
      const document = documentAST as DocumentNode // yoga leaves its type open
      if (valid.has(document)) return setResult([])
      setValidationFn(validateBriefly((context as unknown as GraphqlCall).caller.kind !== 'nobody')) // yoga's type forgets the server's part
      return ({ valid: isValid }) => {
        if (isValid) valid.add(document)
      }
    },
    onExecute: (execution) => refuse(execution as never), // yoga's types for the same things
    onSubscribe: (execution) => refuse(execution as never),
  }
}

async function admitOperation(
  schema: GraphQLSchema,
  documents: DocumentCache,
  params: Params,
  call: GraphqlCall,
): Promise<void> {
  if (typeof params !== 'object' || params === null)
    throw new BerthError('invalid_request', 'Each member of a batch must be a JSON object with "query".')
  if (typeof params.query !== 'string') return refusePersisted(params) // yoga refuses the others in its own words
  checkJson(params, true)
  const variables =
    typeof params.variables === 'object' && params.variables !== null
      ? (params.variables as Record<string, unknown>)
      : {}
  const document = documents.read(params.query)
  const operation = getOperationAST(
    document,
    typeof params.operationName === 'string' ? params.operationName : undefined,
  )
  call.answer.allowance = await spend(call, operation?.operation === 'mutation')
  refuseLong(document)
  if (!operation) return
  const size = measureOperation(schema, document, operation, variables)
  refuseLarge(size)
  if (call.caller.kind !== 'nobody') return
  // As REST does: who calls is asked before what is wrong with the document is told.
  if (!isForEverybody(schema, document, operation)) throw call.caller.refusal
  if (size.readsSchema) await call.limiter.spend(`schema:address:${call.address}`, limits.anonymousPerMinute)
}

/**
 * Answers a document that is named by its hash only as Apollo's clients expect of a server that keeps none: they send it
 * again, whole. The code, the sentence and the status 200 are theirs.
 * @throws GraphQLError for such a request.
 */
function refusePersisted({ query, extensions }: Params): void {
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

/** Counts the operation against its caller's minute, which is REST's too. */
async function spend({ caller, limiter, address }: GraphqlCall, changes: boolean): Promise<Allowance> {
  try {
    // Nobody may read anything, so this guards the processor only, and is not as tight as a public REST route.
    if (caller.kind === 'nobody') return await limiter.spend(`other:address:${address}`, limits.otherPerMinute)
    return await spendRequest(limiter, caller, changes)
  } catch (error) {
    if (error instanceof BerthError && error.code === 'rate_limited') rateLimited.inc({ surface: 'graphql' })
    throw error
  }
}

/** A result as yoga sends it: yoga takes the status from the errors, and would leave that out of what is shown. */
async function answerOf(result: ExecutionResult, { requestId, answer }: GraphqlCall): Promise<ExecutionResult> {
  if (!result.errors?.length) {
    const text = String(await bodyText(result))
    return { ...result, stringify: () => text } as ExecutionResult // yoga's own extension of a result
  }
  const shown = result.errors.map((error) => showError(error, requestId))
  const whole = JSON.stringify({ ...result, errors: shown.map((one) => one.error) })
  for (const { headers } of shown) answer.headers = { ...answer.headers, ...headers }
  // What ran was answered, whatever it found: 200. What was refused before it ran tells by its status. A subscription
  // whose source failed has no data, but its error has a place.
  const ran = 'data' in result || result.errors.some((error) => error.path !== undefined)
  const errors = shown.map(
    ({ error, status, bySpecification }) =>
      new GraphQLError(error.message, { extensions: ran ? {} : { http: { status, spec: bySpecification } } }),
  )
  return { ...result, errors, stringify: () => whole } as ExecutionResult // yoga's own extension of a result
}

async function* showEvents(
  results: AsyncIterable<ExecutionResult>,
  requestId: string,
): AsyncGenerator<ExecutionResult> {
  for await (const result of results) {
    const whole = String(await bodyText(showResult(result, requestId)))
    yield { ...result, stringify: () => whole } as ExecutionResult // yoga's own extension of a result
  }
}

function readSent(sent: unknown): Params | Params[] {
  if (typeof sent !== 'object' || sent === null)
    throw new BerthError('invalid_request', 'Send a JSON object with "query", and "variables" where it takes some.')
  return sent
}

function readQueryString(url: string): Params {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  const json = (name: string): unknown => {
    const text = query.get(name)
    if (!text) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new BerthError('invalid_request', `The parameter ${name} is not valid JSON.`)
    }
  }
  return {
    query: query.get('query') ?? undefined,
    operationName: query.get('operationName') ?? undefined,
    variables: json('variables'),
    extensions: json('extensions'),
  }
}

type DocumentCache = {
  read(source: string): DocumentNode
  get(source: string): DocumentNode | undefined
  set(source: string, document: DocumentNode): void
}

/** Documents by their text, the least recently used leaving first. */
function createDocumentCache(): DocumentCache {
  const kept = new Map<string, DocumentNode>()
  const get = (source: string): DocumentNode | undefined => {
    const document = kept.get(source)
    if (document) {
      kept.delete(source)
      kept.set(source, document)
    }
    return document
  }
  const set = (source: string, document: DocumentNode): void => {
    if (source.length > keptDocumentLength) return
    kept.set(source, document)
    if (kept.size > keptDocumentsMax) kept.delete(kept.keys().next().value ?? '')
  }
  return {
    get,
    set,
    read(source) {
      const known = get(source)
      if (known) return known
      const document = parseDocument(source)
      set(source, document)
      return document
    },
  }
}

/**
 * The engine of the public endpoint: yoga, which speaks GraphQL over HTTP, before the one way of all operations
 * (graphql-operations.ts). REST documents run elsewhere (rest-compat/run.ts), on the same resolvers.
 */
import { GraphQLError, type ExecutionResult, type GraphQLSchema } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { yogaAnswer, yogaEvents } from './graphql-answers.ts'
import { persistedQueryNotSupported } from './graphql-errors.ts'
import { createOperations, type GraphqlCall, type OperationParams, type Operations } from './graphql-operations.ts'
import { multipartForm, multipartResponse } from './multipart.ts'

/** The public GraphQL engine. */
export type Engine = {
  yoga: YogaServerInstance<GraphqlCall, object>
  operations: Operations
}

/** Makes the engine of a schema. */
export function createEngine(schema: GraphQLSchema): Engine {
  const operations = createOperations(schema)
  const yoga = createYoga<GraphqlCall>({
    graphqlEndpoint: '/graphql',
    batching: { limit: limits.graphqlBatch },
    maskedErrors: false, // done by showError, which knows the request
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    maxRequestBodySize: false, // Fastify has already read and measured the body
    logging: {
      debug() {
        /* too much */
      },
      info: (...words) => log.debug({ words: words.map(String) }, 'graphql'),
      warn: (...words) => log.warn({ words: words.map(String) }, 'graphql'),
      error: () => {
        /* showError logs our own faults */
      },
    },
    parserAndValidationCache: false, // it parses none
    plugins: [handOver(operations)],
  })
  return { yoga, operations }
}

/** What yoga does: it reads what came by HTTP, checks the members, and sends results. Operations are executed as everywhere. */
function handOver(operations: Operations): Plugin<object, GraphqlCall> {
  return {
    // The body was parsed by the same strict parser as every other body.
    onRequestParse: ({ request, serverContext, setRequestParser, requestParser }) => {
      if (requestParser && request.method === 'POST') setRequestParser(() => readSent(serverContext.sent) as never) // yoga checks each member's shape next
      if (request.method === 'GET') setRequestParser(() => readQueryString(request.url) as never) // the same
    },
    onParams: ({ params: sent, setParamsHandler }) => {
      checkMembers(sent)
      // Once yoga has checked the others.
      setParamsHandler(({ params, context }) => operations.run(params as OperationParams, wholeOf(context)))
    },
    onResultProcess: async ({ request, result, setResult, setResultProcessor, serverContext }) => {
      if (Symbol.asyncIterator in result) {
        const form = multipartForm(request.headers.get('accept'))
        if (form)
          setResultProcessor(
            (events) => multipartResponse(events as AsyncIterable<ExecutionResult>, form),
            'multipart/mixed',
          ) // the result just below
        return setResult(yogaEvents(result as AsyncIterable<ExecutionResult>, serverContext))
      }
      if (Array.isArray(result))
        return setResult(await Promise.all(result.map((one: ExecutionResult) => yogaAnswer(one, serverContext))))
      setResult(await yogaAnswer(result as ExecutionResult, serverContext)) // neither a stream nor a batch
    },
  }
}

/** The context as an object that can be copied: of a member of a batch, yoga makes one that inherits from the request's. */
function wholeOf(context: object): GraphqlCall {
  return { ...Object.getPrototypeOf(context), ...context } as GraphqlCall // yoga's type of it forgets the server's part
}

/**
 * What yoga does not check of a member, or in other words. A request with only the hash of a document is answered as
 * Apollo's clients expect from a server without persisted queries: they then send the whole document. The code, the
 * sentence and the status 200 are Apollo's.
 * @throws BerthError invalid_request, GraphQLError.
 */
function checkMembers(sent: unknown): void {
  if (typeof sent !== 'object' || sent === null)
    throw new BerthError('invalid_request', 'Each member of a batch must be a JSON object with "query".')
  const { query, operationName, extensions } = sent as Params
  if (typeof (operationName ?? '') !== 'string')
    throw new BerthError('invalid_request', 'Send "operationName" as a text, or leave it out.')
  if ((query ?? '') !== '' || typeof extensions !== 'object' || extensions === null) return
  if ('persistedQuery' in extensions && extensions.persistedQuery)
    throw new GraphQLError('PersistedQueryNotSupported', {
      extensions: { code: persistedQueryNotSupported, http: { status: 200 } },
    })
}

/** The members of a request, not yet checked. */
type Params = { query?: unknown; operationName?: unknown; variables?: unknown; extensions?: unknown }

function readSent(sent: unknown): Params | Params[] {
  if (typeof sent !== 'object' || sent === null)
    throw new BerthError(
      'invalid_request',
      'Send a JSON object with "query", and with "variables" if the operation has any.',
    )
  return sent
}

const queryNames = new Set(['query', 'operationName', 'variables', 'extensions', 'token'])

function readQueryString(url: string): Params {
  const { searchParams: query } = new URL(url, 'http://localhost')
  for (const name of query.keys()) {
    if (!queryNames.has(name))
      throw new BerthError('invalid_request', unknownKeySentence('query parameter', name, queryNames))
    if (query.getAll(name).length > 1)
      throw new BerthError('invalid_request', `The query parameter ${name} is there more than once. Send it once.`)
  }
  const json = (name: string): unknown => {
    const text = query.get(name)
    if (!text) return undefined
    try {
      return parseExactly(text)
    } catch (error) {
      if (error instanceof BerthError) throw error
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

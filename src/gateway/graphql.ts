/**
 * The GraphQL engine of the public endpoint: one set of checks and limits before every operation, whether it came by
 * HTTP or by web socket. REST documents run elsewhere (rest-compat/run.ts), on the same resolvers.
 */
import { GraphQLError, type DocumentNode, type ExecutionArgs, type ExecutionResult, type GraphQLSchema } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { admitOperation, textOrNone, type GraphqlCall, type Params } from './graphql-admission.ts'
import { plainAnswer, yogaAnswer, yogaEvents, type PlainAnswer } from './graphql-answers.ts'
import { wrongVariable } from './graphql-checks.ts'
import { createDocuments, type Documents } from './graphql-documents.ts'
import { multipartForm, multipartResponse } from './multipart.ts'

/** One query or mutation whose members have the right types. */
export type SingleParams = {
  query: string
  operationName?: string | null
  variables?: Record<string, unknown> | null
  extensions?: object | null
}

/** The public GraphQL engine. */
export type Engine = {
  yoga: YogaServerInstance<GraphqlCall, object>
  /** Checks and counts an operation before it runs. @throws BerthError, or GraphQLError for a document that does not parse. */
  admit(params: Params, call: GraphqlCall): Promise<void>
  /**
   * Admits, executes and serializes one query or mutation like yoga, but without its request and response objects. Not
   * for subscriptions.
   * @param isPlain as plainAnswer.
   */
  answer(params: SingleParams, call: GraphqlCall, isPlain: boolean): Promise<PlainAnswer>
}

/** Makes the engine of a schema. */
export function createEngine(schema: GraphQLSchema): Engine {
  const documents = createDocuments(schema)
  const admit: Engine['admit'] = async (params, call) => void (await admitOperation(schema, documents, params, call))
  const yoga = createYoga<GraphqlCall>({
    schema,
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
    parserAndValidationCache: {
      documentCache: {
        get: (source) => documents.find(source),
        set: () => {
          /* documents are cached at admission */
        },
      },
      errorCache: {
        get: () => undefined,
        set: () => {
          /* invalid documents are rare, and parsed again */
        },
      },
      validationCache: false /* valid ones are in documents */,
    },
    plugins: [gatewayPlugin(admit), checkOperations(documents)],
  })
  return {
    yoga,
    admit,
    answer: async (params, call, isPlain) =>
      plainAnswer(await runSingle(schema, documents, params, call), call, isPlain),
  }
}

/** Runs one operation through all checks. A refusal becomes an error in the result. */
async function runSingle(
  schema: GraphQLSchema,
  documents: Documents,
  params: SingleParams,
  call: GraphqlCall,
): Promise<ExecutionResult> {
  try {
    const document = await admitOperation(schema, documents, params, call)
    if (!document) throw new BerthError('invalid_request', 'Send a document as "query".')
    const findings = documents.validate(document, call.caller.kind !== 'nobody')
    if (findings.length > 0) return { errors: findings }
    return await runChecked(documents, {
      schema,
      document,
      contextValue: call,
      operationName: textOrNone(params.operationName),
      variableValues: params.variables ?? undefined,
    })
  } catch (error) {
    return { errors: [error as GraphQLError] } // whatever it is: showError reads it
  }
}

/**
 * Executes an admitted operation of a valid document. Variables are checked first, because graphql's errors would quote
 * them.
 */
function runChecked(documents: Documents, parts: ExecutionArgs): ExecutionResult | Promise<ExecutionResult> {
  const wrong = wrongVariable(parts)
  return wrong ? { errors: [wrong] } : documents.run(parts)
}

function gatewayPlugin(admit: Engine['admit']): Plugin<object, GraphqlCall> {
  return {
    // The body was parsed by the same strict parser as every other body.
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
        return setResult(yogaEvents(result as AsyncIterable<ExecutionResult>, serverContext.requestId))
      }
      if (Array.isArray(result))
        return setResult(await Promise.all(result.map((one: ExecutionResult) => yogaAnswer(one, serverContext))))
      setResult(await yogaAnswer(result as ExecutionResult, serverContext)) // neither a stream nor a batch
    },
  }
}

/** Validation with a bounded number of errors, and execution as for every other operation. */
function checkOperations(documents: Documents): Plugin<object, GraphqlCall> {
  return {
    onValidate: ({ params: { documentAST }, context, setResult }) => {
      const { caller } = context as unknown as GraphqlCall // yoga's type forgets the server's part
      setResult(documents.validate(documentAST as DocumentNode, caller.kind !== 'nobody') as GraphQLError[]) // yoga leaves its type open
    },
    onExecute: ({ setExecuteFn }) => setExecuteFn(((parts: ExecutionArgs) => runChecked(documents, parts)) as never), // yoga's types for the same things
    onSubscribe: ({ args, setResultAndStopExecution }) => {
      const wrong = wrongVariable(args as ExecutionArgs)
      if (wrong) setResultAndStopExecution({ errors: [wrong] } as never) // as above
    },
  }
}

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

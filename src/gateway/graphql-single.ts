/**
 * The fast path for one query or mutation by POST, which is nearly every request: from Fastify to the engine and back,
 * without yoga.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { claimKey } from '#rest-compat/answers.ts'
import { noting, type Caller } from '#src/platform/access.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import type { Services } from '#src/platform/services.ts'
import { plainAnswer, type PlainAnswer } from './graphql-answers.ts'
import type { GraphqlCall, OperationParams, Operations } from './graphql-operations.ts'

type Parts = { services: Services; operations: Operations }

/** Answers one query or mutation without yoga's request and response objects, which cost more than most operations. */
export async function answerSingle(
  request: FastifyRequest,
  reply: FastifyReply,
  { services, operations }: Parts,
  caller: Caller,
  single: Single,
): Promise<FastifyReply> {
  let gone: AbortController | undefined
  const call: GraphqlCall = {
    ...services,
    caller,
    requestId: request.id,
    address: request.clientAddress,
    answer: {},
    // Few resolvers check whether the client has disconnected, and a signal for every request costs 7 % of the throughput.
    get signal() {
      return (gone ??= leaving(reply)).signal
    },
  }
  return send(reply, call, await answerOf(operations, single, call), single.type)
}

/**
 * Answers a mutation with an `Idempotency-Key`, which runs once in 24 hours: the same again gets the stored answer, as long
 * as its caller is still permitted to do what it did. One of which nothing was done may be sent again.
 */
export async function answerOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  { services, operations }: Parts,
  { known, key }: { known: Caller; key: string | string[] },
  single: Single,
): Promise<FastifyReply> {
  const { caller, grants } = noting(known)
  // Without a signal: a client that leaves comes back for the answer.
  const call: GraphqlCall = { ...services, caller, requestId: request.id, address: request.clientAddress, answer: {} }
  const claim = await claimKey(services, caller, key, request, grants)
  if (claim.kept) {
    call.answer.allowance = await spendRequest(services.limiter, caller, true)
    const { status, body: text } = claim.kept
    return send(reply.header('idempotent-replayed', 'true'), call, { status, text: text ?? '' }, single.type)
  }
  let answer: PlainAnswer
  try {
    answer = await answerOf(operations, single, call)
  } catch (error) {
    await claim.release()
    throw error
  }
  // Before it is sent: whoever has the answer may ask again at once.
  if (answer.isDone) await claim.keep({ status: answer.status, body: answer.text })
  else await claim.release()
  return send(reply, call, answer, single.type)
}

async function answerOf(operations: Operations, { params, type }: Single, call: GraphqlCall): Promise<PlainAnswer> {
  const result = await operations.run(params, call)
  if (Symbol.asyncIterator in result) throw new Error('a subscription has more than a single answer')
  return plainAnswer(result, call, type === plainType)
}

function send(
  reply: FastifyReply,
  { answer: { allowance, headers } }: GraphqlCall,
  { status, text }: { status: number; text: string | Buffer },
  type: SingleType,
): FastifyReply {
  if (allowance) setAllowance(reply, allowance)
  if (headers) reply.headers(headers)
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', `${type}; charset=utf-8`)
    .send(text)
}

/** Fires when the client has disconnected, or has its answer. */
export function leaving(reply: FastifyReply): AbortController {
  const gone = new AbortController()
  if (reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  return gone
}

/** A request that needs none of yoga's request handling, and the content type of its answer. */
export type Single = { params: OperationParams; type: SingleType }
export type SingleType = (typeof singleTypes)[number]
const plainType = 'application/json'
const singleTypes = ['application/graphql-response+json', plainType] as const

/** Whether it may be a mutation: a document without the word has none. */
export function mayChange({ params: { query } }: Single): boolean {
  return query.includes('mutation')
}

/**
 * Reads a POST of one query or mutation whose members have the right types; null for everything else, which yoga
 * handles: batches, streams, and invalid requests.
 */
export function singleOf({ method, headers, body }: FastifyRequest): Single | null {
  if (method !== 'POST' || typeof body !== 'object' || body === null || Array.isArray(body)) return null
  for (const name in body) if (!memberNames.has(name)) return null
  const { query, operationName, variables, extensions } = body as Record<keyof OperationParams, unknown>
  // A document without the word has no subscription.
  if (typeof query !== 'string' || query === '' || query.includes('subscription')) return null
  if (!isAbsent(operationName) && typeof operationName !== 'string') return null
  if (!isAbsent(variables) && !isObject(variables)) return null
  if (!isAbsent(extensions) && !isObject(extensions)) return null
  const type = singleType(headers.accept)
  return type && { params: body as OperationParams, type } // checked member by member
}

const memberNames = new Set(['query', 'operationName', 'variables', 'extensions'])

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value)
}

/**
 * The content type that yoga would choose for this `Accept`: the first supported one; for `*`, application/json. Null
 * for none.
 */
function singleType(accept: string | undefined): SingleType | null {
  if (!accept || accept === '*/*' || accept === 'application/json') return 'application/json'
  let chosen: SingleType | null = null
  for (const one of accept.replace(/\s/g, '').toLowerCase().split(',').reverse()) {
    const [asked, ...parameters] = one.split(';')
    const charset = parameters.find((parameter) => parameter.includes('charset='))
    if (charset !== undefined && charset !== 'charset=utf-8') continue
    for (const type of singleTypes) if (asked === type || asked === '*/*' || asked === 'application/*') chosen = type
  }
  return chosen
}

/**
 * The operations of a web socket: each one is checked as over HTTP before it runs, and ending it also ends what it is
 * waiting for.
 */
import { GraphQLError, type ExecutionArgs, type ExecutionResult } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import { noting } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { actingInNamed } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import type { GraphqlCall } from './graphql-operations.ts'
import { showError } from './graphql-errors.ts'
import type { GraphqlParts } from './graphql-http.ts'
import type { Operation, Peer, Socket } from './socket-callers.ts'

/** Admits one operation: what is to be executed, or the errors that refuse it. */
export async function begin(
  socket: Socket,
  id: string,
  payload: SubscribePayload,
  parts: GraphqlParts,
): Promise<readonly GraphQLError[] | ExecutionArgs> {
  const peer = socket.extra
  const gone = new AbortController()
  const requestId = newId('request')
  const refuse = (errors: readonly unknown[]): readonly GraphQLError[] => {
    finish(peer, id)
    return errors.map((error) => showError(error, requestId).error)
  }
  try {
    const call = await enter(peer, id, { requestId, gone }, parts)
    if (call.caller.kind === 'nobody' && peer.credential !== undefined) throw call.caller.refusal
    const admitted = await parts.engine.operations.admit(payload, call)
    return 'errors' in admitted ? refuse(admitted.errors) : admitted
  } catch (error) {
    return refuse([error])
  }
}

/**
 * Adds an operation to the socket, with the caller's current rights.
 * @throws BerthError rate_limited when the socket has the maximum number, including those being started.
 */
async function enter(
  peer: Peer,
  id: string,
  { requestId, gone }: { requestId: string; gone: AbortController },
  { services, authenticator }: GraphqlParts,
): Promise<GraphqlCall> {
  if (peer.open.size + peer.beginning >= limits.socketOperations)
    throw new BerthError(
      'rate_limited',
      `${limits.socketOperations} operations are running on this socket, which is the limit. Complete one first.`,
      { retryAfterSeconds: 1 },
    )
  peer.beginning++
  try {
    const known = await authenticator.authenticate(peer.credential)
    const { caller, grants } = noting(actingInNamed(known, peer.organizationId))
    const call: GraphqlCall = { ...services, caller, requestId, signal: gone.signal, address: peer.address, answer: {} }
    if (peer.socket.readyState !== peer.socket.OPEN) gone.abort()
    const whose = caller.kind === 'nobody' ? peer.address : callerName(caller)
    const over = beginStream('websocket-operation', `operations of ${whose}`, limits.socketOperationsPerCaller)
    finish(peer, id) // one that the client has completed, and whose end is on its way
    peer.open.set(id, { call, grants, gone, refusal: null, over })
    return call
  } finally {
    peer.beginning--
  }
}

/**
 * The same events, but ending them also aborts the wait for the next one; a plain generator would end only after it. When
 * they end because the caller lost a permission, the last event says so.
 */
export function abortable(
  events: AsyncGenerator<ExecutionResult>,
  operation: Operation | undefined,
): AsyncGenerator<ExecutionResult> {
  const gone = operation?.gone
  let isReported = false
  return {
    next: async () => {
      const next = await events.next()
      const refusal = operation?.refusal
      if (!refusal || isReported) return refusal ? { done: true, value: undefined } : next
      isReported = true
      return { done: false, value: { errors: [new GraphQLError(refusal.message, { originalError: refusal })] } }
    },
    return: (value) => {
      gone?.abort()
      return events.return(value)
    },
    throw: (error) => {
      gone?.abort()
      return events.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return(undefined)
    },
  }
}

/** Ends an operation, if it is still open, and everything it is waiting for. */
export function finish({ open }: Peer, id: string): void {
  const entry = open.get(id)
  if (!entry) return
  open.delete(id)
  entry.over()
  entry.gone.abort()
}

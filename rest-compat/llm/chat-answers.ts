/**
 * What both chat routes have in common: authorize the caller, send the chat to the model, and send its answer as it
 * comes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerOf } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowIn, type Caller } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import type { Config } from '#src/platform/config.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { limits } from '#src/platform/limits.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import { admitChat, callerLeft, type Admission } from '#src/resources/llm/chats.ts'
import { startCompletion, type Completion, type CompletionOrder } from '#src/resources/llm/chats/completions.ts'
import { claimKey, send, type Claim } from '../answers.ts'
import type { Handler, HandWritten, SurfaceParts } from '../routes.ts'
import { ChatEnd, createRunningChats } from './chat-ends.ts'
import { attemptHeaders } from './envelope.ts'
import { bodyLength, holdBody } from '#src/platform/json/held-bodies.ts'
import { sendChat, streamHeaders } from './chat-streams.ts'
import type { FailureText, StreamText } from './chunks.ts'

/** A parsed request: the chat, how to write its stream, and how to write the body of an answer that is not streamed. */
export type ReadChat = Pick<CompletionOrder, 'model' | 'request'> & {
  /** Whether the model is asked for a stream, and its caller for an answer that is not streamed. */
  isJoined?: boolean
  text: (completion: Completion) => StreamText
  whole: (completion: Completion) => Promise<string | Buffer>
}

/** What differs between the two routes. */
export type ChatRoute = {
  route: CompletionOrder['route']
  headers: Readonly<Record<string, string>>
  failure: FailureText
  read: (config: Config, body: unknown) => ReadChat
}

type Admitted = Admission & { caller: Caller; credential: string }
/** A request with what `admit` found out, which `handle` needs. */
type AdmittedRequest = FastifyRequest & { admitted?: Admitted }

/** Makes the handler of a chat route. */
export function chatHandler({ route, headers, failure, read }: ChatRoute): HandWritten['make'] {
  return ({ services, authenticator, stopping }) => {
    const running = createRunningChats(stopping)

    const handle: Handler = async (request, reply) => {
      const { payer, caller, credential } = admittedOf(request, reply)
      const chat = read(services.config, request.body)
      const isStream = isStreamed(chat)
      const over = isStream ? beginStream('chat', `chat:${callerName(caller)}`, limits.chatStreamsPerCaller) : nothing
      const end = new ChatEnd(reply.raw, running, stopping)
      const unwatch = isStream
        ? watchCaller(
            authenticator,
            credential,
            (now) => void allowIn(now, 'chat:write', payer.organizationId),
            (refused) => end.interrupt(refused),
          )
        : nothing
      try {
        const key = request.headers['idempotency-key']
        const claim = key === undefined ? undefined : await claimKey(services, caller, key, request)
        if (claim?.kept) return await sendKept(reply, chat, headers, claim.kept.body)
        const starting = startCompletion(
          services,
          { payer, model: chat.model, request: chat.request, route },
          end.gone.signal,
        )
        if (isStream) return await sendChat(request, reply, starting, chat.text, { headers, failure, end, claim })
        return await sendWhole(reply, chat, starting, claim)
      } catch (error) {
        throw end.reason ?? (end.gone.signal.aborted ? callerLeft : error)
      } finally {
        end.over()
        unwatch()
        over()
      }
    }
    return { admit: makeAdmit({ services, authenticator }), handle }
  }
}

/** Makes what admits a caller who wants a model's answer, before the body is read. */
export function makeAdmit({
  services,
  authenticator,
}: Pick<SurfaceParts, 'services' | 'authenticator'>): ReturnType<HandWritten['make']>['admit'] {
  return async (request: AdmittedRequest, reply) => {
    const credential = bearerOf(request.headers)
    const authenticated = authenticator.authenticate(credential)
    const caller = authenticated instanceof Promise ? await authenticated : authenticated
    const admission = admitChat({ caller, limiter: services.limiter })
    const { payer, allowance } = admission instanceof Promise ? await admission : admission
    setAllowance(reply, allowance)
    holdBody(payer.organizationId, bodyLength(request.headers) ?? 0, reply.raw, 'key_rate_limited')
    request.admitted = { payer, allowance, caller, credential: credential ?? '' }
  }
}

/** What was found out when the caller was admitted. @throws BerthError key_rate_limited for a body that is too much. */
export function admittedOf(request: AdmittedRequest, reply: FastifyReply): Admitted {
  if (!request.admitted) throw new Error('a chat was handled that was never admitted')
  if (bodyLength(request.headers) === undefined)
    holdBody(request.admitted.payer.organizationId, request.rawBody?.length ?? 0, reply.raw, 'key_rate_limited') // it came in chunks
  return request.admitted
}

function isStreamed({ request, isJoined = false }: ReadChat): boolean {
  return request.stream && !isJoined
}

const nothing = (): void => undefined

async function sendWhole(
  reply: FastifyReply,
  chat: ReadChat,
  starting: Promise<Completion>,
  claim: Claim | undefined,
): Promise<FastifyReply> {
  let body: string | Buffer
  try {
    const completion = await starting
    reply.headers(attemptHeaders(completion.upstream, completion.attempts))
    body = await chat.whole(completion)
  } catch (error) {
    await claim?.release() // nothing was sent: the same key may be used again
    throw error
  }
  await claim?.keep({ status: 200, body })
  return send(reply, 200, body)
}

/** Sends the response stored under an Idempotency-Key; a stored stream is sent as one text. */
function sendKept(
  reply: FastifyReply,
  chat: ReadChat,
  headers: Readonly<Record<string, string>>,
  body: string | null,
): FastifyReply {
  reply.header('idempotent-replayed', 'true')
  return isStreamed(chat)
    ? reply
        .code(200)
        .headers({ ...streamHeaders, ...headers })
        .send(body ?? '')
    : send(reply, 200, body)
}

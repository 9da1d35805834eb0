/**
 * A caller's chat with a model: permission, rate limit, payer; and collecting the whole answer of a chat that is not
 * streamed.
 */
import { allow } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Allowance } from '#src/platform/rate-limits.ts'
import type { Call } from '#src/platform/services.ts'
import { endOf, WholeAnswer, type FinishReason, type ModelEvent, type Usage } from '#src/drivers/models/model.ts'
import { readChatRequest } from './chats/requests.ts'
import { startCompletion, type Completion } from './chats/completions.ts'
import type { Payer } from './billing.ts'

/** The payer, and the caller's remaining rate limit. */
export type Admission = { payer: Payer; allowance: Allowance }

/** No client reads this error; it keeps closed connections out of the log of failures. */
export const callerLeft = new BerthError('invalid_request', 'The connection ended before the answer did.')

/**
 * Admits a chat: an API key with `chat:stateless`, whose organization pays, or a person with the role member or higher.
 * A promise only when the database must be asked.
 * @throws BerthError 401, 403, key_rate_limited after 600 in a minute.
 */
export function admitChat({ caller, limiter }: Pick<Call, 'caller' | 'limiter'>): Admission | Promise<Admission> {
  const { organizationId, keyId, userId } = allow(caller, 'chat:write')
  const payer = { organizationId, keyId, userId }
  const spent = limiter.spend(`chat:${callerName(caller)}`, limits.chatsPerMinute)
  if (!(spent instanceof Promise)) return { payer, allowance: spent }
  return spent.then(
    (allowance) => ({ payer, allowance }),
    (error: unknown) => {
      if (!(error instanceof BerthError) || error.code !== 'rate_limited') throw error
      throw new BerthError('key_rate_limited', error.message, error.details)
    },
  )
}

/**
 * Runs the chat in a body of `POST /v1/chat/completions`.
 * @throws BerthError 400 for the body, and what admitChat and startCompletion throw.
 */
export async function askChat(
  call: Call,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Completion> {
  const { payer } = await admitChat(call)
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== undefined)) // GraphQL's null is REST's absent
  const { model, request } = readChatRequest(call.config, given)
  return startCompletion(call, { payer, model, request, route: 'graphql' }, signal)
}

/** A whole answer, without its reasoning. */
export type ChatAnswer = {
  completion: Completion
  text: string
  refusal: string
  logprobs: TokenLogprobs | null
  finishReason: FinishReason
  usage: Usage
}

/** The log probabilities of an answer's and of a refusal's tokens, in OpenAI's shape. */
export type TokenLogprobs = { content: unknown[]; refusal: unknown[] }

/** Waits for the whole answer. @throws BerthError when the upstream cuts it off. */
export async function collectChat(completion: Completion): Promise<ChatAnswer> {
  const { events } = completion
  const content: AnswerContent = { text: '', refusal: '', logprobs: null }
  let last: readonly ModelEvent[] = []
  if (events instanceof WholeAnswer) last = events.events
  else {
    for await (const batch of events) {
      add(content, last)
      last = batch
    }
  }
  add(content, last)
  const { finishReason, usage } = endOf(last)
  return { completion, ...content, finishReason, usage }
}

type AnswerContent = Pick<ChatAnswer, 'text' | 'refusal' | 'logprobs'>

function add(content: AnswerContent, events: readonly ModelEvent[]): void {
  for (const event of events) {
    if (event.type !== 'text') continue
    if (event.refusal) content.refusal += event.text
    else content.text += event.text
    if (event.logprobs) {
      content.logprobs ??= { content: [], refusal: [] }
      for (const token of event.logprobs) content.logprobs[event.refusal ? 'refusal' : 'content'].push(token)
    }
  }
}

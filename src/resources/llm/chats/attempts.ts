/**
 * Tries a model's upstreams in order until one answers, some of them twice. Only before the first byte: an answer that
 * has started is never restarted, because the caller has seen it.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { askUpstream } from '#src/drivers/models/ask.ts'
import { WholeAnswer, type ModelAnswer, type ModelEvent, type ModelRequest } from '#src/drivers/models/model.ts'
import { knowsAll } from '#src/drivers/models/known-parameters.ts'
import { BerthError, type ErrorCode } from '#src/platform/errors.ts'
import type { Model, ModelUpstream } from '#src/resources/llm/models/rows.ts'

/** One attempt at one upstream: its slug, and the result. */
export type Attempt = { upstream: string; status: 'ok' | ErrorCode }

/** What an upstream answered, and the attempts until then. */
export type Answered<Answer> = { upstream: string; attempts: readonly Attempt[]; answer: Answer }

const attemptsMax = 4
/** An upstream that fails quickly may be retried; one that ran into the timeout is not. */
const triesPerUpstream: Partial<Record<ErrorCode, number>> = {
  upstream_error: 2,
  upstream_overloaded: 2,
  upstream_rate_limited: 2,
  upstream_timeout: 1,
}
const waitMsFirst = 200
const waitMsMax = 1_000

/**
 * Called when an upstream has accepted the request, from when on it costs money, with its events about usage before the
 * answer begins.
 */
export type HearUpstream = (upstream: string, events: readonly ModelEvent[]) => void

/**
 * The first answer from those of the model's upstreams that support everything the request needs.
 * @throws BerthError the last upstream's error if none answered, or immediately an error that is the request's own
 * fault.
 */
export function askInTurn(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  hear: HearUpstream,
): Promise<Answered<ModelAnswer>> {
  const isPlain = request.needed === undefined && request.native === undefined
  const able = isPlain ? model.upstreams : model.upstreams.filter(({ kind }) => knowsAll(kind, request))
  return inTurn(able, (one) => begin(one, request, signal, hear), signal)
}

/**
 * The first answer of these upstreams, whatever they are asked.
 * @throws BerthError like askInTurn.
 */
export async function inTurn<Answer>(
  upstreams: readonly ModelUpstream[],
  ask: (upstream: ModelUpstream) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answered<Answer>> {
  const attempts: Attempt[] = []
  let last: BerthError | undefined
  for (let place = 0; place < upstreams.length; place++) {
    const upstream = upstreams[place]! // within its length
    const isLast = place === upstreams.length - 1
    for (let tries = 1; attempts.length < attemptsMax; tries++) {
      try {
        const answer = await ask(upstream)
        attempts.push({ upstream: upstream.target.slug, status: 'ok' })
        return { upstream: upstream.target.slug, attempts, answer }
      } catch (error) {
        if (!(error instanceof BerthError) || signal.aborted) throw error
        const triesMax = triesPerUpstream[error.code]
        if (triesMax === undefined) throw error
        attempts.push({ upstream: upstream.target.slug, status: error.code })
        last = error
        const waitMs = waitBefore(error, tries)
        // The next upstream may work immediately; only the last one is worth waiting for.
        if (tries >= triesMax || waitMs > waitMsMax || (!isLast && error.code === 'upstream_rate_limited')) break
        await wait(waitMs, undefined, { signal })
      }
    }
  }
  throw last
    ? new BerthError(last.code, last.message, { ...last.details, attempts })
    : new Error('a model without upstreams was asked')
}

function waitBefore(error: BerthError, tries: number): number {
  const { retryAfterSeconds } = error.details
  return typeof retryAfterSeconds === 'number' ? retryAfterSeconds * 1000 : waitMsFirst * 2 ** (tries - 1)
}

/**
 * Tries one upstream, and waits for its first event: if it answers 200 and then fails, another one can still be tried.
 */
async function begin(
  { kind, target }: ModelUpstream,
  request: ModelRequest,
  signal: AbortSignal,
  hear: HearUpstream,
): Promise<ModelAnswer> {
  const begun = await askUpstream(kind)(target, request, signal)
  if (begun instanceof WholeAnswer) return begun
  hear(target.slug, [])
  const answer = begun[Symbol.asyncIterator]()
  const held: ModelEvent[] = []
  for (;;) {
    const { value, done } = await answer.next()
    if (done)
      throw new BerthError('upstream_error', `The upstream ${target.slug} ended without an answer.`, {
        upstream: target.slug,
      })
    held.push(...value)
    if (value.some((event) => event.type !== 'usage')) return resumed(held, answer)
    hear(target.slug, value)
  }
}

/** The events that were already read, then the rest. */
function resumed(held: readonly ModelEvent[], rest: AsyncIterator<readonly ModelEvent[]>): ModelAnswer {
  let first: readonly ModelEvent[] | null = held
  const iterator: AsyncIterator<readonly ModelEvent[]> = {
    next() {
      if (!first) return rest.next()
      const value = first
      first = null
      return Promise.resolve({ value, done: false })
    },
    return: () => rest.return?.() ?? Promise.resolve({ value: undefined, done: true }),
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

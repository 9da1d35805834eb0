/**
 * Trying a trigger with an event: what would become of it, found by the code that decides fires, in a transaction that
 * is taken back.
 */
import { allow, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { signedRequestLimits } from '#src/platform/limits/signed-requests.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { inSavepoint } from '#src/platform/postgres/savepoints.ts'
import type { Call } from '#src/platform/services.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import { eventOf } from './events.ts'
import { eventName } from './kickoff-text.ts'
import { findMismatch, isOfItsRepository, listens, type Mismatch } from './matching.ts'
import { routePayload, type Payload } from './payloads.ts'
import { whyNoAccess } from './repositories.ts'
import { findDelivery, fireRows, ofOwnTriggers, triggerRows, type SkipReason, type Trigger } from './rows.ts'
import { startFire, type Outcome } from './starting.ts'

/** What to try a trigger with: the event of an earlier fire, or one of the caller's own. */
export type TrialInput = { fireId?: string | null; event?: string | null; payload?: unknown }

/** What would become of the event; `reason` says why it starts nothing, and `kickoff` what the session is told. */
export type Trial = {
  outcome: 'start' | 'skip' | 'fail' | 'no_fire'
  skipReason: SkipReason | null
  errorType: string | null
  reason: string | null
  kickoff: Kickoff | null
}

type Tried = Payload & { delivery: string }

/**
 * Says what an event would do, without doing it. The limits of a minute are not looked at.
 * @throws BerthError not_found, invalid_request; as the driver when the code host does not answer.
 */
export async function tryTrigger(call: Call, publicId: string, input: TrialInput): Promise<Trial> {
  const scope = allow(call.caller, 'triggers:write')
  const trigger = await triggerRows.read(call.db, publicId, ownedByCaller(scope))
  const tried = await readTried(call, scope, input)
  if (typeof tried === 'string') return nothing('no_fire', tried)
  const unheard = whyUnheard(trigger, tried)
  if (unheard !== null) return nothing('no_fire', unheard)
  const noAccess = await whyNoAccess(call, trigger)
  if (noAccess !== null) return { ...nothing('fail', noAccess), errorType: 'repository_access_error' }
  const mismatch = await findMismatch(trigger.filters, tried)
  return describe(await startAndTakeBack(call, scope, publicId, tried, mismatch), tried, mismatch)
}

/** Everything that a start writes is in its transaction, with its jobs and webhooks; and its notices go with it. */
async function startAndTakeBack(
  call: Call,
  scope: Scope,
  publicId: string,
  tried: Tried,
  mismatch: Mismatch,
): Promise<Outcome> {
  return transaction(call.db, async (tx) => {
    const trigger = await triggerRows.read(tx, publicId, ownedByCaller(scope), sql`for no key update`)
    return inSavepoint(
      tx,
      () => false,
      () => startFire(call, tx, { trigger, fire: tried }, tried, { mismatch, isTooOften: false }),
    )
  })
}

function describe(outcome: Outcome, tried: Tried, mismatch: Mismatch): Trial {
  if (outcome.error) return { ...nothing('fail', outcome.error.message), errorType: outcome.error.type }
  if (outcome.skipReason)
    return {
      ...nothing('skip', sentenceOf(outcome.skipReason, tried, mismatch)),
      skipReason: outcome.skipReason,
    }
  return { outcome: 'start', skipReason: null, errorType: null, reason: null, kickoff: outcome.kickoff }
}

function nothing(outcome: Trial['outcome'], reason: string): Trial {
  return { outcome, skipReason: null, errorType: null, reason, kickoff: null }
}

/** The event, or why no trigger would hear of it. @throws BerthError not_found, invalid_request. */
async function readTried(call: Call, scope: Scope, input: TrialInput): Promise<Tried | string> {
  const [fireId, event, payload] = [input.fireId ?? null, input.event ?? null, input.payload ?? null]
  if (fireId !== null && event === null && payload === null) return ofFire(call, scope, fireId)
  if (fireId !== null || event === null || payload === null)
    throw new BerthError(
      'invalid_request',
      'Give either fireId, or both event and payload: the X-GitHub-Event and the body of a delivery.',
    )
  if (event.length > signedRequestLimits.headerLength || !/^[a-z_]+$/.test(event))
    throw new BerthError(
      'invalid_request',
      'event must be as in X-GitHub-Event, such as `pull_request`; its action is in the payload.',
      { field: 'event' },
    )
  if (typeof payload !== 'object' || Array.isArray(payload))
    throw new BerthError('invalid_request', 'payload must be an object: the body of a delivery.', { field: 'payload' })
  const routed = routePayload(event, payload)
  return routed ? { ...routed, delivery: 'a-trial' } : `No trigger can name \`${event}\`, or payload has no repository.`
}

async function ofFire(call: Call, scope: Scope, fireId: string): Promise<Tried> {
  const fire = await fireRows.read(call.db, fireId, ofOwnTriggers(scope))
  if (!fire.shown)
    throw new BerthError(
      'invalid_request',
      'The event of this fire was never shown to you: it is not decided yet, or you could not write to its repository.',
      { field: 'fireId' },
    )
  const { routed } = await findDelivery(call.db, fire)
  return { event: eventOf(fire.event), action: fire.action, repo: fire.repo, routed, delivery: fire.delivery }
}

/** Why the trigger would not hear of this event, as the receiver chooses who does. */
function whyUnheard(trigger: Trigger, { event, action, repo, routed }: Tried): string | null {
  if (!listens(trigger, event, action))
    return `The trigger is not for \`${eventName(event, action)}\`. Its events are ${trigger.events.join(', ')}.`
  if (isOfItsRepository(trigger, repo, routed)) return null
  const known = trigger.repositoryId === null ? '' : `, with the id ${trigger.repositoryId}`
  return `The event is of ${repo}, and the trigger is for ${trigger.repo}${known}.`
}

const sentences: Readonly<Record<Exclude<SkipReason, 'filter_mismatch'>, string>> = {
  trigger_disabled: 'The trigger is disabled. Enable it with updateTrigger.',
  deployment_paused: 'Its deployment is paused or archived.',
  ref_deleted: 'The push deleted the branch or tag, so there is nothing to work on.',
  fork_pull_request: 'The code is of a fork. filters.allowForks lets it count.',
  untrusted_author: 'The author is none of filters.authorAssociations.',
  bot_sender: 'A bot caused it. filters.allowBots lets it count.',
  self_caused: 'Berth’s own app caused it.',
  rate_limited: 'Too many came within a minute.',
}

function sentenceOf(reason: SkipReason, { routed: { facts } }: Tried, mismatch: Mismatch): string {
  if (reason === 'untrusted_author')
    return `${sentences[reason]} GitHub calls them ${facts.association}: name that if their texts are to count.`
  if (reason !== 'filter_mismatch') return sentences[reason]
  switch (mismatch) {
    case 'branches':
      return facts.branch === null
        ? 'filters.branches does not match: the event is of no branch.'
        : `filters.branches does not match the branch ${facts.branch}.`
    case 'labels':
      return facts.labels.length === 0
        ? 'filters.labels does not match: there are none.'
        : `filters.labels matches none of ${facts.labels.slice(0, 10).join(', ')}.`
    case 'comment_prefix':
      return 'filters.commentPrefix does not match: the text begins otherwise.'
    default:
      return `filters.paths matches none of the ${facts.paths.length} files that were changed.`
  }
}

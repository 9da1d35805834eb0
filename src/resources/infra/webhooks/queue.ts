/**
 * What is due, and what became of it. A worker claims deliveries by a lease, and its result counts only while that claim
 * is the row's latest: what a killed worker had begun is sent again.
 */
import { fromNow, now } from '#src/platform/clock.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { transition, transitionAll } from '#src/platform/states.ts'
import { webhookLimits, webhookRetrySeconds } from './limits.ts'
import {
  deliveryStates,
  type DisabledReason,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookEvent,
} from './rows.ts'

/** The notice that an endpoint has another attempt; the id is the endpoint's. */
export const attemptsTopic = 'webhook_attempt'

/** A claimed delivery, and what it needs. */
export type ClaimedDelivery = Pick<WebhookDelivery, 'id' | 'endpointId' | 'claim'> & {
  url: string
  sealedSecret: Buffer
  sealedPreviousSecret: Buffer | null
  event: WebhookEvent
}

/**
 * Claims deliveries that are due, at most so many. Workers claim one after the other, so that the limits of endpoints and
 * organizations hold for all of them together. Of those that wait, the organizations that have the fewest under way come
 * first; an endpoint whose latest attempt failed gets one at a time.
 */
export async function claimDeliveries(db: Db, most: number): Promise<ClaimedDelivery[]> {
  const { atOncePerEndpoint, atOncePerOrganization, leaseSeconds } = webhookLimits
  const [at, lease] = [now(), fromNow(leaseSeconds * 1000)]
  return transaction(db, async (tx) => {
    await sql`select pg_advisory_xact_lock(${lockNumbers.webhookClaims})`.execute(tx)
    const rows = await findAll<Omit<ClaimedDelivery, 'event'> & Omit<WebhookEvent, 'id'> & { eventId: string }>(
      tx,
      sql`
      with recursive waiting as (
        (select endpoint_id, next_attempt_at from webhook_deliveries where status = 'pending' order by endpoint_id, next_attempt_at limit 1)
        union all
        select following.* from waiting, lateral (select endpoint_id, next_attempt_at from webhook_deliveries
          where status = 'pending' and endpoint_id > waiting.endpoint_id order by endpoint_id, next_attempt_at limit 1) following),
      ready as (
        select e.id, e.organization_id, case when e.failures > 0 then 1 else ${atOncePerEndpoint} end - (
            select count(*) from webhook_deliveries where organization_id = e.organization_id and endpoint_id = e.id and claimed_until > ${at}) as room,
          (select count(*) from webhook_deliveries where organization_id = e.organization_id and claimed_until > ${at}) as under_way
        from waiting join webhook_endpoints e on e.id = waiting.endpoint_id
        where waiting.next_attempt_at <= ${at} and e.enabled and (e.held_until is null or e.held_until <= ${at})),
      due as (
        select d.id, ready.under_way + row_number() over (partition by ready.organization_id order by d.next_attempt_at) as turn
        from ready, lateral (select id, next_attempt_at from webhook_deliveries where endpoint_id = ready.id and status = 'pending' and next_attempt_at <= ${at}
          order by next_attempt_at limit greatest(ready.room, 0) for update skip locked) d)
      update webhook_deliveries d set claim = claim + 1, claimed_until = ${lease}, next_attempt_at = ${lease}
      from webhook_endpoints e, webhook_events v
      where d.id = any(array(select id from due where turn <= ${atOncePerOrganization} order by turn limit ${most}))
        and e.id = d.endpoint_id
        and v.id = d.event_id
      returning d.id, d.endpoint_id, d.claim, e.url, e.sealed_secret,
        case when e.previous_secret_until > ${at} then e.sealed_previous_secret end as sealed_previous_secret,
        v.id as event_id, v.organization_id, v.type, v.subject_id, v.details, v.created_at`,
    )
    return rows.map(({ eventId, organizationId, type, subjectId, details, createdAt, ...claimed }) => ({
      ...claimed,
      event: { id: eventId, organizationId, type, subjectId, details, createdAt },
    }))
  })
}

/** Gives a claim back before there is a result: another worker makes the attempt at once. */
export async function releaseDelivery(db: Db, { id, claim }: Pick<ClaimedDelivery, 'id' | 'claim'>): Promise<void> {
  await change(
    db,
    sql`update webhook_deliveries set claimed_until = null, next_attempt_at = ${now()} where id = ${id} and claim = ${claim} and status = 'pending'`,
  )
}

/**
 * What an attempt came to.
 * @property problem why it failed, as a sentence; null when it did not.
 * @property answer the beginning of what a refusal said.
 */
export type AttemptResult = {
  startedAt: Date
  durationMs: number
  responseStatus: number | null
  problem: string | null
  answer: string | null
}

/**
 * Records an attempt, and what follows from it: the next one, the end of the delivery, or of the endpoint. A result whose
 * claim does not count any more changes nothing.
 */
export async function recordAttempt(db: Db, claimed: ClaimedDelivery, result: AttemptResult): Promise<void> {
  await transaction(db, async (tx) => {
    const endpoint = await findOne<WebhookEndpoint>(
      tx,
      sql`select * from webhook_endpoints where id = ${claimed.endpointId} for no key update`,
    )
    if (!endpoint) return
    const delivery = await findOne<WebhookDelivery>(
      tx,
      sql`select * from webhook_deliveries where id = ${claimed.id} and claim = ${claimed.claim} for no key update`,
    )
    if (!delivery || delivery.claimedUntil === null) return
    const ended = endOf(endpoint, delivery, result)
    await writeDelivery(tx, delivery, result, ended)
    const after = await writeEndpoint(tx, endpoint, result)
    await writeAttempt(tx, { delivery, position: after.eventPosition }, result, ended.status)
    if (result.responseStatus === 410) await disableEndpoint(tx, after, 'gone')
    else if (after.failures >= webhookLimits.failuresMax) await disableEndpoint(tx, after, 'failures')
    publish(tx, attemptsTopic, endpoint.id)
  })
}

/** Disables an endpoint: what waits for it has failed, and can be replayed once it is enabled again. */
export async function disableEndpoint(
  tx: Tx,
  { id, enabled }: Pick<WebhookEndpoint, 'id' | 'enabled'>,
  reason: DisabledReason,
): Promise<void> {
  if (!enabled) return
  await change(
    tx,
    sql`update webhook_endpoints set enabled = false, disabled_reason = ${reason}, disabled_at = now(), held_until = null, updated_at = now() where id = ${id}`,
  )
  await transitionAll(
    tx,
    deliveryStates,
    sql`endpoint_id = ${id}`,
    'failed',
    sql`next_attempt_at = null, finished_at = now(), problem = coalesce(problem || ' ', '') || ${disabledSentence}`,
  )
}

const disabledSentence = 'The endpoint was disabled meanwhile.'

/** The status of a delivery after an attempt, and when the next one is. */
function endOf(
  endpoint: WebhookEndpoint,
  { status, tries }: WebhookDelivery,
  { problem }: AttemptResult,
): { status: WebhookDelivery['status']; nextAttemptAt: Date | null } {
  if (problem === null) return { status: 'succeeded', nextAttemptAt: null }
  const waitSeconds = webhookRetrySeconds[tries + 1] // after the first try, the second entry
  if (status !== 'pending' || !endpoint.enabled || waitSeconds === undefined)
    return { status: 'failed', nextAttemptAt: null }
  return { status: 'pending', nextAttemptAt: fromNow(waitSeconds * 1000) }
}

async function writeDelivery(
  tx: Tx,
  before: WebhookDelivery,
  { responseStatus, problem }: AttemptResult,
  { status, nextAttemptAt }: ReturnType<typeof endOf>,
): Promise<void> {
  const set = sql`tries = tries + 1, attempts = attempts + 1, claimed_until = null, next_attempt_at = ${nextAttemptAt},
    response_status = ${responseStatus}, problem = ${problem}, finished_at = ${status === 'pending' ? null : now()}`
  if (status === before.status) await change(tx, sql`update webhook_deliveries set ${set} where id = ${before.id}`)
  else await transition(tx, deliveryStates, before.id, status, set)
}

/** A success ends a series of failures; each failure lets the endpoint rest for longer. */
async function writeEndpoint(
  tx: Tx,
  { id, failures }: WebhookEndpoint,
  { problem }: AttemptResult,
): Promise<WebhookEndpoint> {
  const inARow = problem === null ? 0 : failures + 1
  return getOne<WebhookEndpoint>(
    tx,
    sql`
    update webhook_endpoints set failures = ${inARow}, last_problem = ${problem ?? sql`last_problem`},
      held_until = ${inARow === 0 ? null : fromNow(inARow * webhookLimits.holdSeconds * 1000)},
      event_position = event_position + 1
      where id = ${id}
      returning *`,
  )
}

async function writeAttempt(
  tx: Tx,
  { delivery: { id, endpointId, attempts }, position }: { delivery: WebhookDelivery; position: number },
  { startedAt, durationMs, responseStatus, problem, answer }: AttemptResult,
  status: WebhookDelivery['status'],
): Promise<void> {
  const number = attempts + 1
  await change(
    tx,
    sql`
    insert into webhook_attempts (delivery_id, number, endpoint_id, position, status, started_at, duration_ms, response_status, problem, answer)
    values (${id}, ${number}, ${endpointId}, ${position}, ${status}, ${startedAt}, ${durationMs}, ${responseStatus}, ${problem}, ${answer})`,
  )
  if (number > webhookLimits.attemptsKept)
    await change(
      tx,
      sql`delete from webhook_attempts where delivery_id = ${id} and number <= ${number - webhookLimits.attemptsKept}`,
    )
}

/**
 * The receiver of what a code host delivers. A delivery is answered once its fires and their jobs are committed; what is
 * delivered again only counts.
 */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { readDeliveryHeader } from '#src/drivers/code-host/deliveries.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import { log } from '#src/platform/log.ts'
import { findFullRoom } from '#src/platform/metrics/rooms.ts'
import { findAll, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { trySpend } from '#src/platform/rate-limits.ts'
import { isSignatureForm, isSignedBy } from '#src/platform/secrets/webhook-signatures.ts'
import type { Services } from '#src/platform/services.ts'
import { fireJob } from './jobs.ts'
import { triggerLimits } from './limits.ts'
import { listens } from './matching.ts'
import { readPayload, type Payload } from './payloads.ts'
import type { Trigger } from './rows.ts'

/** A request of a code host, not believed yet. */
export type Delivered = {
  signature: string | undefined
  event: string | undefined
  delivery: string | undefined
  contentType: string | undefined
  body: Buffer
}

/** What became of it: how many fires were recorded. Null for a ping. */
export type DeliveryAnswer = { deliveryId: string; fires: number } | null

type Secrets = Pick<Services['config'], 'githubWebhookSecret' | 'githubWebhookSecretPrevious'>

/**
 * Refuses, before a body is read, what no body could make right: no secret is set, or the signature is none.
 * @throws BerthError unauthorized.
 */
export function checkSignatureForm({ githubWebhookSecret }: Secrets, signature: string | undefined): void {
  if (githubWebhookSecret === null)
    throw new BerthError(
      'unauthorized',
      'This installation takes no webhooks: its operator has not set GITHUB_WEBHOOK_SECRET.',
    )
  if (!isSignatureForm(signature)) throw notSigned()
}

/**
 * Takes a delivery; only its signature lets it in.
 * @throws BerthError unauthorized, the same whatever is wrong; invalid_request; request_too_large.
 */
export async function receiveDelivery(services: Services, given: Delivered): Promise<DeliveryAnswer> {
  checkSignature(services.config, given)
  const type = given.contentType?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json')
    throw new BerthError('invalid_request', 'Set the content type of the webhook to application/json.')
  const event = readDeliveryHeader('X-GitHub-Event', given.event)
  const deliveryId = readDeliveryHeader('X-GitHub-Delivery', given.delivery)
  if (event === 'ping') return null
  const payload = await readPayload(event, given.body)
  if (!payload) return { deliveryId, fires: 0 }
  return { deliveryId, fires: await recordDelivery(services, { deliveryId, payload, body: given.body }) }
}

/** Both secrets are tried, whichever fits, so that the time says nothing of them. */
function checkSignature(secrets: Secrets, { body, signature }: Delivered): void {
  checkSignatureForm(secrets, signature)
  const all = [secrets.githubWebhookSecret, secrets.githubWebhookSecretPrevious].filter((one) => one !== null)
  const fitting = all.map((secret) => isSignedBy(secret, body, signature)).filter(Boolean)
  if (fitting.length === 0) throw notSigned()
}

function notSigned(): BerthError {
  return new BerthError(
    'unauthorized',
    'X-Hub-Signature-256 is not the signature of this body with the secret of this installation. Set the webhook’s secret to its GITHUB_WEBHOOK_SECRET.',
  )
}

type Listening = Pick<Trigger, 'id' | 'organizationId' | 'events'>
type Given = { deliveryId: string; payload: Payload; body: Buffer }

async function recordDelivery(services: Services, given: Given): Promise<number> {
  const listening = await findListening(services.db, given.payload)
  let fires = 0
  let refusal: string | null = null
  for (const [organizationId, triggers] of Map.groupBy(listening, (one) => one.organizationId)) {
    const fault = await findRefusal(services, organizationId)
    if (fault !== null) {
      refusal = fault
      continue
    }
    const keeps = await keepsPayload(services.db, organizationId, given.body.length)
    fires += await transaction(services.db, (tx) =>
      recordFires(services, tx, { ...given, organizationId, triggers, keeps }),
    )
  }
  if (refusal !== null)
    throw new BerthError('rate_limited', `${refusal} Deliver this again later: only what was not taken fires.`, {
      retryAfterSeconds: 60,
    })
  return fires
}

/** The triggers that listen to this event in this repository, those that were made first first. */
async function findListening(db: Db, { event, action, repo, routed: { repositoryId } }: Payload): Promise<Listening[]> {
  const names = action === null ? [event] : [event, `${event}.${action}`]
  const found = await findAll<Listening>(
    db,
    sql`
    select id, organization_id, events from triggers
    where (repository_id = ${repositoryId}::bigint or (repository_id is null and repo_key = ${repo.toLowerCase()})) and events && ${names}::text[]
    order by id limit ${triggerLimits.firesPerDelivery}`,
  )
  if (found.length === triggerLimits.firesPerDelivery)
    log.warn(
      { repo, most: found.length },
      'an event may be for more triggers than one delivery fires; the newest hear nothing',
    )
  return found.filter((trigger) => listens(trigger, event, action))
}

/** One organization's deliveries must not fill the disk of all. The code host is not told whose room is full. */
async function findRefusal(services: Services, organizationId: string): Promise<string | null> {
  const { limiter } = services
  if ((await findFullRoom(services, organizationId, 'deliveries')) !== null) {
    log.warn({ organizationId }, 'deliveries for triggers of an organization have filled its room; more is refused')
    return 'The triggers of an organization have stored as much as they may.'
  }
  if (await trySpend(limiter, `trigger-deliveries:${organizationId}`, triggerLimits.deliveriesPerMinute)) return null
  log.warn({ organizationId }, 'more was delivered for triggers of an organization than is taken; it is refused')
  return 'More was delivered in the last minute than the triggers of an organization take.'
}

const countedMs = 60_000
const counted = createBoundedMap<string, { bytes: number; untilMs: number }>({ entriesMax: 10_000 })

/** Whether the payload is kept. Each process counts what is kept once a minute, and adds what it kept since. */
async function keepsPayload(db: Db, organizationId: string, bytes: number): Promise<boolean> {
  if (bytes > triggerLimits.payloadBytes) return false
  let known = counted.get(organizationId)
  if (!known || performance.now() > known.untilMs) {
    const kept = await getOne<{ bytes: number }>(
      db,
      sql`
        select coalesce(sum(octet_length(payload)), 0)::float8 as bytes
        from trigger_deliveries
        where organization_id = ${organizationId} and payload is not null`,
    )
    counted.set(organizationId, (known = { bytes: kept.bytes, untilMs: performance.now() + countedMs }))
  }
  if (known.bytes + bytes > triggerLimits.organizationPayloadBytes) return false
  known.bytes += bytes
  return true
}

type Recorded = Given & { organizationId: string; triggers: readonly Listening[]; keeps: boolean }

/** The delivery, a fire for each trigger, and their jobs. @returns how many fires are new. */
async function recordFires(services: Services, tx: Tx, given: Recorded): Promise<number> {
  const { deliveryId, organizationId, payload, triggers, body, keeps } = given
  const { event, action, repo, routed } = payload
  const waiting = await countWaiting(tx, organizationId)
  // Two that are delivered at once meet here, and the later one finds the row of the other.
  const { id } = await getOne<{ id: string }>(
    tx,
    sql`
    insert into trigger_deliveries as known (id, organization_id, delivery, event, action, routed, payload)
    values (${newUuid()}, ${organizationId}, ${deliveryId}, ${event}, ${action}, ${JSON.stringify(routed)}::jsonb, ${keeps ? body : null})
    on conflict (organization_id, delivery) do update set delivery = known.delivery returning id`,
  )
  const fires = await findAll<{ id: string; isNew: boolean }>(
    tx,
    sql`
    insert into trigger_fires as known (id, trigger_id, organization_id, delivery_row_id, delivery, event, action, repo)
    select fire.id, t.id, ${organizationId}::uuid, ${id}::uuid, ${deliveryId}, ${event}, ${action}, ${repo}
    from unnest(${triggers.map(() => newUuid())}::uuid[], ${triggers.map((one) => one.id)}::uuid[]) fire (id, trigger_id)
    join triggers t on t.id = fire.trigger_id order by t.id for key share of t
    on conflict (trigger_id, delivery_row_id) do update set redelivery_count = known.redelivery_count + 1
    returning id, redelivery_count = 0 as is_new`,
  )
  const fresh = fires.filter(({ isNew }) => isNew)
  // Organizations take turns: everybody's first fire that waits is before anybody's second.
  await services.jobs.enqueueEach(
    tx,
    fireJob,
    fresh.map((fire, index) => ({ data: { fireId: fire.id }, priority: -(waiting + index) })),
  )
  return fresh.length
}

/** How many fires of an organization are not decided yet, as far as they are counted. */
async function countWaiting(tx: Tx, organizationId: string): Promise<number> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`
      select count(*)
      from (select from trigger_fires
        where organization_id = ${organizationId} and status = 'pending'
        limit ${triggerLimits.waitingCounted}) waiting`,
  )
  return count
}

/** Forgets payloads, and later fires with what was delivered. For housekeeping. */
export async function forgetDeliveries(db: Db): Promise<void> {
  const { payloadDays, firesDays, firesKept, sweptAtOnce } = triggerLimits
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`update trigger_deliveries set payload = null where id in (
      select id from trigger_deliveries where payload is not null and received_at < now() - ${payloadDays} * interval '1 day' limit ${sweptAtOnce})`,
  )
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`delete from trigger_fires where id in (
      select id from trigger_fires where received_at < now() - ${firesDays} * interval '1 day' and status <> 'pending' limit ${sweptAtOnce})`,
  )
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`delete from trigger_fires where id in (
      select f.id from trigger_fires f join triggers t on t.id = f.trigger_id where f.position <= t.event_position - ${firesKept} limit ${sweptAtOnce})`,
  )
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`delete from trigger_deliveries where id in (
      select d.id from trigger_deliveries d where d.received_at < now() - interval '1 hour'
        and not exists (select from trigger_fires f where f.delivery_row_id = d.id) limit ${sweptAtOnce})`,
  )
}

/** How long events for triggers stay. */
export const deliveryRetention: readonly Retention[] = [
  {
    what: 'Events for triggers, with their fires',
    until: `payloads after ${triggerLimits.payloadDays} days; fires after ${triggerLimits.firesDays}, or when the trigger has ${triggerLimits.firesKept} newer ones`,
    forget: ({ db }) => forgetDeliveries(db),
  },
]

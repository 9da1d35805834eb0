/** Fires: one for each event that came for a trigger. Deciding them, listing them, and following them. */
import { isDeepStrictEqual } from 'node:util'
import { allow, allowAnywhere, ownedByCaller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Upkeep } from '#src/platform/jobs/upkeep.ts'
import { isGiven, type Loaded, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { trySpend } from '#src/platform/rate-limits.ts'
import { states, transition } from '#src/platform/states.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import type { Call, Services } from '#src/platform/services.ts'
import { startsNothing } from '#src/resources/agents/deployments/rows.ts'
import { checkAtWork } from '#src/resources/agents/sessions/rows.ts'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import { triggerLimits } from './limits.ts'
import { findMismatch, isOfItsRepository, whySkipped } from './matching.ts'
import type { Routed } from './payloads.ts'
import { whyNoAccess } from './repositories.ts'
import { findTriggerDeployment, startFire, type Outcome } from './starting.ts'
import {
  findDelivery,
  findFireRow,
  findTriggerRow,
  fireRows,
  lockPending,
  ofOwnTriggers,
  triggerRows,
  triggerTopic,
  type FireStatus,
  type Trigger,
  type TriggerFire,
} from './rows.ts'

const fireStates = states<FireStatus>('trigger_fires', 'fire', {
  pending: ['started', 'skipped', 'failed'],
  started: [],
  skipped: [],
  failed: [],
})

const movedAway = 'The trigger is for another repository since, so this event is not told. Create a trigger for each.'

/**
 * Decides a fire, once, however often this runs: its session and its status are committed together.
 * @throws BerthError when the code host does not answer, or the organization has no room now: then it is tried again.
 */
export async function decideFire(services: Services, fireId: string): Promise<void> {
  const fire = await findFireRow(services.db, fireId)
  const trigger = fire && (await findTriggerRow(services.db, fire.triggerId))
  if (!fire || !trigger || fire.status !== 'pending') return
  const delivery = await findDelivery(services.db, fire)
  // Who may see one repository may not see what another, which the trigger was for before, delivered.
  const isIts = (now: Trigger): boolean => isOfItsRepository(now, fire.repo, delivery.routed)
  const noAccess = isIts(trigger) ? await whyNoAccess(services, trigger) : movedAway
  if (noAccess !== null) {
    const error = { type: 'repository_access_error', message: noAccess }
    return transaction(services.db, async (tx) => {
      const held = await lockPending(tx, fireId)
      if (held) await finish(tx, held, { error }, null)
    })
  }
  const isPaused = startsNothing(await findTriggerDeployment(services.db, trigger))
  let { filters } = trigger
  let mismatch = await findMismatch(filters, delivery)
  const mayStart = whySkipped(trigger, isPaused, delivery, services.config, mismatch) === null
  if (mayStart) await checkAtWork(services.config, services.db, trigger.organizationId) // before a start is counted
  const isTooOften = mayStart && (await comesTooOften(services, trigger))
  for (let tries = 0; tries < triggerLimits.judgedAgainMax; tries++) {
    const changed = await transaction(services.db, async (tx) => {
      const held = await lockPending(tx, fireId)
      if (!held) return null
      if (!isIts(held.trigger)) {
        await finish(tx, held, { error: { type: 'repository_access_error', message: movedAway } }, null)
        return null
      }
      if (!isDeepStrictEqual(held.trigger.filters, filters)) return held.trigger.filters
      const outcome = await startFire(services, tx, held, delivery, { mismatch, isTooOften })
      if (outcome.error && outcome.mustWait) throw outcome.mustWait
      await finish(tx, held, outcome, delivery.routed)
      return null
    })
    if (changed === null) return
    filters = changed // meanwhile; looked at anew while nothing is locked
    mismatch = await findMismatch(filters, delivery)
  }
  throw new Error('a trigger is changed all the time, so its fire is not decided yet')
}

/** Spent outside of a transaction, in which the limiter would need a second connection. */
async function comesTooOften({ limiter }: Pick<Services, 'limiter'>, trigger: Trigger): Promise<boolean> {
  return !(
    (await trySpend(limiter, `trigger-starts:${trigger.id}`, triggerLimits.startsPerMinute)) &&
    (await trySpend(limiter, `trigger-starts:${trigger.organizationId}`, triggerLimits.organizationStartsPerMinute))
  )
}

/** Ends a fire that is locked with its trigger, and tells whoever follows. @param routed what its owner may see of the event. */
async function finish(
  tx: Tx,
  { trigger, fire }: { trigger: Trigger; fire: TriggerFire },
  { sessionId, skipReason, error }: Outcome,
  routed: Routed | null,
): Promise<void> {
  const status = sessionId ? 'started' : skipReason ? 'skipped' : 'failed'
  const next = await findOne<Pick<Trigger, 'eventPosition'>>(
    tx,
    sql`update triggers set event_position = event_position + 1, last_fired_at = case when ${status} = 'started' then now() else last_fired_at end
      where id = ${trigger.id} returning event_position`,
  )
  await transition(
    tx,
    fireStates,
    fire.id,
    status,
    sql`session_id = ${sessionId ?? null}, skip_reason = ${skipReason ?? null}, error = ${error ? JSON.stringify(error) : null}::jsonb,
      position = ${next?.eventPosition ?? 0}, finished_at = now(), shown = ${routed !== null}, ref = ${routed?.ref ?? null}, sha = ${routed?.sha ?? null},
      number = ${routed?.number ?? null}, sender = ${routed && JSON.stringify(routed.sender)}::jsonb`,
  )
  publish(tx, triggerTopic, trigger.id)
  if (status !== 'failed')
    await emitWebhookEvent(tx, trigger.organizationId, {
      type: status === 'started' ? 'trigger.fired' : 'trigger.skipped',
      id: encodeId('triggerFire', fire.id),
      details: { trigger_id: encodeId('trigger', trigger.id) },
    })
}

/** Fires that could not be decided for long have failed. For housekeeping. */
export async function giveUpFires(db: Db): Promise<void> {
  const left = await findAll<Pick<TriggerFire, 'id'>>(
    db,
    sql`
      select id
      from trigger_fires
      where status = 'pending' and received_at < now() - ${triggerLimits.undecidedMinutes} * interval '1 minute'
      limit ${triggerLimits.sweptAtOnce}`,
  )
  const error = {
    type: 'upstream_error',
    message:
      'For an hour, the code host did not say whether you may see this event, or your organization had no room for another session. Start the agent yourself; what is delivered again fires nothing.',
  }
  for (const { id } of left) {
    await transaction(db, async (tx) => {
      const held = await lockPending(tx, id)
      if (held) await finish(tx, held, { error }, null)
    })
  }
}

/** The fire of this id. @throws BerthError not_found. */
export async function getFire(call: Call, publicId: string): Promise<TriggerFire> {
  return fireRows.read(call.db, publicId, ofOwnTriggers(allow(call.caller, 'triggers:read')))
}

/** The fires of these stored ids that are of the caller's triggers. */
export async function findFires(call: Call, ids: readonly string[]): Promise<TriggerFire[]> {
  return fireRows.find(call.db, ids, ofOwnTriggers(allowAnywhere(call.caller, 'triggers:read')))
}

/** Conditions of a list of fires; all must hold. */
export type FireFilter = { statuses?: readonly FireStatus[] | null }

/** The fires of a trigger, or of all the caller's triggers, newest first. @throws BerthError not_found, invalid_request. */
export async function pageFires(
  call: Call,
  publicId: string | null | undefined,
  window: PageWindow,
  filter?: FireFilter | null,
): Promise<Page<TriggerFire>> {
  const scope = allow(call.caller, 'triggers:read')
  const statuses = filter?.statuses ?? null
  const within = sql`(${statuses}::text[] is null or status = any(${statuses}::text[]))`
  if (!isGiven(publicId))
    return fireRows.page(
      call.db,
      window,
      sql`organization_id = ${scope.organizationId} and ${ofOwnTriggers(scope)} and ${within}`,
    )
  const { id } = await triggerRows.read(call.db, publicId, ownedByCaller(scope))
  return fireRows.page(call.db, window, sql`trigger_id = ${id} and ${within}`)
}

/** The fires of each of these triggers, by stored ids, newest first. @throws BerthError invalid_request. */
export async function pageFiresOfEach(
  call: Call,
  triggerIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<TriggerFire>> {
  const reach = allowAnywhere(call.caller, 'triggers:read')
  return fireRows.pageOfEach(call.db, window, {
    parents: sql`select id from triggers where id = any(${triggerIds}::uuid[]) and ${ownedByCaller(reach)}`,
    parentName: 'trigger',
    chosen: sql`trigger_id = parent.id`,
  })
}

/**
 * The payload of a fire as it was delivered, by its stored id; null where its owner may not see it, or it is no longer kept.
 * @param bytesMax how large it may be.
 * @throws BerthError invalid_request for a larger one.
 */
export async function findPayload(call: Call, fireId: string, bytesMax: number): Promise<Loaded<Buffer | null>> {
  const reach = allowAnywhere(call.caller, 'triggers:read')
  const found = await findOne<{ bytes: number; payload: Buffer | null }>(
    call.db,
    sql`
    select octet_length(d.payload) as bytes, case when octet_length(d.payload) <= ${bytesMax} then d.payload end as payload
    from trigger_fires f join trigger_deliveries d on d.id = f.delivery_row_id
    where f.id = ${fireId} and f.shown and d.payload is not null and ${ofOwnTriggers(reach)}`,
  )
  if (found?.payload === null)
    throw new BerthError('invalid_request', 'These payloads are too many for one operation. Ask for fewer at once.')
  return { loaded: found?.payload ?? null, bytes: found?.bytes ?? 0 }
}

/** A fire that was decided, followed by its position. */
export type DecidedFire = TriggerFire & { position: number }

/**
 * The fires of a trigger that were decided after the cursor (the latest one without), then others as they are decided;
 * ends when the trigger is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first fire.
 */
export async function followFires(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<DecidedFire>> {
  const scope = allow(call.caller, 'triggers:read')
  const { id, eventPosition: latest } = await triggerRows.read(call.db, publicId, ownedByCaller(scope))
  return followRows<DecidedFire>(call, id, after, {
    topic: triggerTopic,
    rows: sql`trigger_fires where trigger_id = ${id}`,
    owner: sql`triggers where id = ${id}`,
    position: latest - 1,
    latest,
  })
}

/** What workers do for events that no trigger has decided about. */
export const fireUpkeep: readonly Upkeep[] = [
  { every: 60, doing: 'giving up undecided events of triggers', work: ({ db }) => giveUpFires(db) },
]

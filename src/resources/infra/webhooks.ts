/** Outbound webhooks: the endpoints that an organization has told of what happens. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, owned } from '#src/platform/access.ts'
import { fromNow } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { readsOf } from '#src/platform/nouns.ts'
import { change, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { newWebhookSecret } from '#src/platform/secrets/webhook-signatures.ts'
import type { Call } from '#src/platform/services.ts'
import { refuseNulls } from '#src/platform/shapes.ts'
import { isLocalhostName, normalHost, refusalOf } from '#src/drivers/addresses.ts'
import { isOpenedUrl } from '#src/drivers/outbound.ts'
import { readServerUrl } from '#src/drivers/outbound-fetch.ts'
import type { WebhookEventType } from './webhooks/event-types.ts'
import { webhookLimits } from './webhooks/limits.ts'
import { attemptsTopic, disableEndpoint } from './webhooks/queue.ts'
import { endpointRows, lockEndpoint, sealSecret, type WebhookEndpoint } from './webhooks/rows.ts'

/** The input of an endpoint: absent means unchanged. Null `eventTypes`: all of them. */
export type EndpointInput = {
  url?: string | null
  description?: string | null
  eventTypes?: readonly WebhookEventType[] | null
  enabled?: boolean | null
}

/** How callers read endpoints. */
export const webhookEndpointReads = readsOf(endpointRows, { may: 'webhooks:read', whose: owned })

/** An endpoint with its secret, which is shown only when it is made. */
export type EndpointWithSecret = { endpoint: WebhookEndpoint; secret: string }

/**
 * Adds an endpoint.
 * @throws BerthError invalid_request; rate_limited when the organization may have no more.
 */
export async function createWebhookEndpoint(call: Call, input: EndpointInput): Promise<EndpointWithSecret> {
  const { organizationId, userId } = allow(call.caller, 'webhooks:write')
  const url = readUrl(call.config, input.url ?? '')
  const [description, eventTypes] = [readDescription(input.description ?? null), readTypes(input.eventTypes ?? null)]
  const [id, secret, enabled] = [newUuid(), newWebhookSecret(), readEnabled(input.enabled, true)]
  return transaction(call.db, async (tx) => {
    await checkCount(tx, organizationId, { table: 'webhook_endpoints', most: webhookLimits.endpointsMax })
    const endpoint = await getOne<WebhookEndpoint>(
      tx,
      sql`
      insert into webhook_endpoints (id, organization_id, user_id, url, description, event_types, sealed_secret, enabled, disabled_reason, disabled_at)
      values (${id}, ${organizationId}, ${userId}, ${url}, ${description}, ${eventTypes}::text[], ${sealSecret(call.sealer, id, secret)}, ${enabled},
        ${enabled ? null : 'manual'}, ${enabled ? null : sql`now()`}) returning *`,
    )
    return { endpoint, secret }
  })
}

/**
 * Changes an endpoint; absent fields stay. Disabling it ends what waits for it; enabling it again forgives its failures.
 * @throws BerthError not_found, invalid_request.
 */
export async function updateWebhookEndpoint(
  call: Call,
  publicId: string,
  input: EndpointInput,
): Promise<WebhookEndpoint> {
  const scope = allow(call.caller, 'webhooks:write')
  return transaction(call.db, async (tx) => {
    const before = await lockEndpoint(tx, scope, publicId)
    if (changesNothing(input)) return before
    const url = input.url === undefined ? before.url : readUrl(call.config, input.url ?? '')
    const description = input.description === undefined ? before.description : readDescription(input.description)
    const eventTypes = input.eventTypes === undefined ? before.eventTypes : readTypes(input.eventTypes)
    const enabled = readEnabled(input.enabled, before.enabled)
    if (!enabled) await disableEndpoint(tx, before, 'manual')
    const anew = enabled && (!before.enabled || url !== before.url)
    return getOne<WebhookEndpoint>(
      tx,
      sql`
      update webhook_endpoints set url = ${url}, description = ${description}, event_types = ${eventTypes}::text[], updated_at = now()
        ${enabled ? sql`, enabled = true, disabled_reason = null, disabled_at = null` : sql``}
        ${anew ? sql`, failures = 0, held_until = null, last_problem = null` : sql``}
      where id = ${before.id} returning *`,
    )
  })
}

/**
 * Gives an endpoint another secret. The one before signs too for some hours, so that receivers can be changed without a gap;
 * of two that were replaced within that time, only the later one.
 * @param previousSecretHours 0 to 168; 24 when absent. 0: the old secret ends at once, as for one that others know.
 * @throws BerthError not_found, invalid_request.
 */
export async function rotateWebhookSecret(
  call: Call,
  publicId: string,
  previousSecretHours: number | null | undefined,
): Promise<EndpointWithSecret> {
  const scope = allow(call.caller, 'webhooks:write')
  const hours = previousSecretHours ?? webhookLimits.previousSecretHours
  if (!Number.isInteger(hours) || hours < 0 || hours > webhookLimits.previousSecretHoursMax)
    throw new BerthError(
      'invalid_request',
      `previousSecretHours must be a whole number from 0 to ${webhookLimits.previousSecretHoursMax}.`,
      { field: 'previousSecretHours' },
    )
  const secret = newWebhookSecret()
  return transaction(call.db, async (tx) => {
    const { id } = await lockEndpoint(tx, scope, publicId)
    const endpoint = await getOne<WebhookEndpoint>(
      tx,
      sql`
      update webhook_endpoints set sealed_secret = ${sealSecret(call.sealer, id, secret)}, sealed_previous_secret = ${hours > 0 ? sql`sealed_secret` : null},
        previous_secret_until = ${hours > 0 ? fromNow(hours * 3_600_000) : null}, updated_at = now() where id = ${id} returning *`,
    )
    return { endpoint, secret }
  })
}

/** Deletes an endpoint with its deliveries. @throws BerthError not_found. */
export async function deleteWebhookEndpoint(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'webhooks:write')
  await transaction(call.db, async (tx) => {
    const { id } = await lockEndpoint(tx, scope, publicId, sql`for update`)
    await change(tx, sql`delete from webhook_endpoints where id = ${id}`)
    publish(tx, attemptsTopic, id) // followers find it deleted
  })
}

/** An address that may be posted to. What a name resolves to is looked at again before every connection. */
function readUrl(config: Config, given: string): string {
  const { text } = readServerUrl(config, given, 'url')
  const url = new URL(text)
  const host = normalHost(url.hostname)
  const rule = host === null || isLocalhostName(host) ? 'loopback' : ruleOf(host)
  if (rule !== null && !isOpenedUrl(config.privateHosts, url))
    throw new BerthError(
      'invalid_request',
      'url must lead to a public address; this one is private. An operator can open a host in BERTH_PRIVATE_HOSTS.',
      { field: 'url' },
    )
  return text
}

/** The rule that refuses an address; null for a name, which is not resolved here. */
function ruleOf(host: string): string | null {
  const rule = refusalOf(host)
  return rule === 'malformed' ? null : rule
}

function readDescription(given: string | null): string | null {
  if (given === null || (given.length <= limits.descriptionLength && !given.includes('\0'))) return given
  throw new BerthError(
    'invalid_request',
    `description must be text of at most ${limits.descriptionLength} characters, or null.`,
    { field: 'description' },
  )
}

function readEnabled(enabled: boolean | null | undefined, usual: boolean): boolean {
  refuseNulls({ enabled })
  return enabled ?? usual
}

/** Each type once. */
function readTypes(given: readonly WebhookEventType[] | null): WebhookEventType[] | null {
  if (given === null) return null
  if (given.length > 0) return [...new Set(given)]
  throw new BerthError(
    'invalid_request',
    'eventTypes must name at least one type. Leave it out, or send null, for all of them; to have none, set enabled to false.',
    { field: 'eventTypes' },
  )
}

/**
 * The events of a vault and its credentials: written with the change, followed from any position without gaps or
 * repeats.
 */
import { allow } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { encodeId } from '#src/platform/ids.ts'
import { change, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import { webhookEventTypes, type WebhookEventType } from '#src/resources/infra/webhooks/event-types.ts'
import { readVault } from './rows.ts'

/** The types of events, in the words of Anthropic's webhooks; `refreshed` and `updated` are ours. */
export const vaultEventTypes = [
  'vault.created',
  'vault.updated',
  'vault.archived',
  'vault_credential.created',
  'vault_credential.updated',
  'vault_credential.archived',
  'vault_credential.deleted',
  'vault_credential.refreshed',
  'vault_credential.refresh_failed',
] as const
/** The type of a vault's event. */
export type VaultEventType = (typeof vaultEventTypes)[number]

/** An event of a vault; ids are stored uuids, positions grow by one. */
export type VaultEvent = Row<'vault_events', { type: VaultEventType }>

/** Adds an event in the transaction of its change; the oldest are deleted when there are too many. */
export async function addVaultEvent(
  tx: Tx,
  vaultId: string,
  type: VaultEventType,
  credentialId: string | null = null,
): Promise<void> {
  const vault = await findOne<Pick<Row<'vaults'>, 'organizationId'>>(
    tx,
    sql`
    with next as (update vaults set event_position = event_position + 1 where id = ${vaultId} returning organization_id, event_position as position),
      added as (insert into vault_events (vault_id, position, type, credential_id) select ${vaultId}, position, ${type}, ${credentialId} from next)
    select organization_id from next`,
  )
  await change(
    tx,
    sql`
      delete from vault_events
      where vault_id = ${vaultId}
        and position <= (select event_position from vaults where id = ${vaultId}) - ${limits.vaultEventsKept}`,
  )
  publish(tx, 'vault', vaultId)
  if (vault && isNotified(type)) await notifyOfVault(tx, vault.organizationId, type, vaultId, credentialId)
}

function isNotified(type: VaultEventType): type is Extract<VaultEventType, WebhookEventType> {
  return type in webhookEventTypes
}

/** Tells webhook endpoints what happened to a vault, or to a credential in it. */
export async function notifyOfVault(
  tx: Tx,
  organizationId: string,
  type: Extract<WebhookEventType, `vault${string}`>,
  vaultId: string,
  credentialId: string | null = null,
): Promise<void> {
  const vault = encodeId('vault', vaultId)
  await emitWebhookEvent(
    tx,
    organizationId,
    credentialId === null
      ? { type, id: vault }
      : { type, id: encodeId('credential', credentialId), details: { vault_id: vault } },
  )
}

/**
 * The vault's events after the cursor (its latest one without), then new ones as they come; ends when it is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first event.
 */
export async function followVault(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<VaultEvent>> {
  const scope = allow(call.caller, 'vaults:read')
  const vault = await readVault(call.db, scope, publicId)
  return followRows<VaultEvent>(call, vault.id, after, {
    topic: 'vault',
    rows: sql`vault_events where vault_id = ${vault.id}`,
    owner: sql`vaults where id = ${vault.id}`,
    position: vault.eventPosition - 1,
    latest: vault.eventPosition,
  })
}

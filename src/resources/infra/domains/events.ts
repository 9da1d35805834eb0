/** The events of a domain, followed from any position without gaps or repeats. */
import { sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import { getDomainRow, type DomainEvent } from './rows.ts'
import { domainsTopic } from './states.ts'

/**
 * The domain's events after the cursor (its latest one without), then new ones as they come; ends when it is deleted.
 * @throws BerthError invalid_domain, not_found, forbidden; invalid_request for a text that is not a cursor. All before the
 * first event.
 */
export async function followDomain(
  call: Call & { signal?: AbortSignal },
  given: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<DomainEvent>> {
  const { id, eventPosition: last } = await getDomainRow(call, 'domains:read', given)
  return followRows<DomainEvent>(call, id, after, {
    topic: domainsTopic,
    rows: sql`domain_events where domain_id = ${id}`,
    owner: sql`domains where id = ${id}`,
    position: last - 1,
  })
}

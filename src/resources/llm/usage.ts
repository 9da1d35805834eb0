/** The usage and cost of an organization's requests to models: individually, and summed by key, model and day. */
import type { RawBuilder } from 'kysely'
import { allowAnywhere, owned } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { eventPosition, type Direction, type Page, type PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import { readDays, readDimensions, shownGroups, sumLimits } from '#src/platform/shapes/sums.ts'
import { nanoUsdPerUsd, type RequestRoute, type RequestStatus, requestsTopic } from './billing.ts'

/** Tokens and money: US dollars as text with nine decimals. */
export type Totals = {
  requests: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  costUsd: string
}

/** What sums are grouped by. Groups by key include, with `userId`, people who used no key. */
export type UsageGroupBy = 'key' | 'model' | 'day'
/** Sums of one key or person, model, day, or of two of these; the others are null. */
export type UsageGroup = Totals & {
  keyId: string | null
  userId: string | null
  model: string | null
  day: string | null
}
/** Sums over a range of days (UTC, inclusive), in total and in groups. */
export type InferenceUsage = { from: string; to: string; totals: Totals; groups: UsageGroup[]; hasMoreGroups: boolean }

/** A row of the ledger as it is shown; money in US dollars. */
export type ShownRequest = Pick<
  Row<'inference_requests', { route: RequestRoute; status: RequestStatus }>,
  | 'id'
  | 'organizationId'
  | 'keyId'
  | 'userId'
  | 'model'
  | 'upstream'
  | 'route'
  | 'sessionId'
  | 'status'
  | 'inputTokens'
  | 'outputTokens'
  | 'cacheReadTokens'
  | 'cacheWriteTokens'
  | 'reasoningTokens'
  | 'startedAt'
  | 'endedAt'
> &
  Pick<Totals, 'costUsd'>
/** A settled request, with its position among those of its organization. */
export type SettledRequest = ShownRequest & { position: number }

const sums = sql`coalesce(sum(requests), 0) as requests, coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
  coalesce(sum(cache_read_tokens), 0) as cache_read_tokens, coalesce(sum(cache_write_tokens), 0) as cache_write_tokens,
  coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
  round(coalesce(sum(cost_nano_usd), 0) / ${nanoUsdPerUsd}::numeric, 9)::text as cost_usd`

const groupColumns = {
  key: sql`substring(payer from '^key:(.*)') as key_id, substring(payer from '^user:(.*)') as user_id`,
  model: sql`model`,
  day: sql`day::text as day`,
}
const noGroup = { key: sql`null as key_id, null as user_id`, model: sql`null as model`, day: sql`null as day` }

/** What is summed. Days such as `2026-11-21`; `keyId`, `modelId`: only requests with this key, to this model. */
export type UsageQuestion = {
  organizationId?: string | null
  from?: string | null
  to?: string | null
  dimensions?: readonly UsageGroupBy[] | null
  filter?: { keyId?: string | null; modelId?: string | null } | null
}

/**
 * Sums of the organization's requests that started on these days; by default this month, 366 days at most. Groups are in the
 * order of days where they have any, then by cost, highest first; 5,000 at most.
 * @throws BerthError forbidden, invalid_request.
 */
export async function sumUsage(call: Call, question: UsageQuestion): Promise<InferenceUsage> {
  const { organizationId, filter } = question
  const scope = allowInGiven(call.caller, 'inference-usage:read', organizationId)
  const { from, to } = readDays(question)
  const dimensions = readDimensions(question.dimensions)
  const { keyId, modelId } = filter ?? {}
  const these = sql`
    from inference_days
    where ${owned(scope)} and day between ${from}::date and ${to}::date
      and (${keyId ?? null}::text is null or payer = 'key:' || ${keyId ?? null}) and (${modelId ?? null}::text is null or model = ${modelId ?? null})`
  const by = (one: UsageGroupBy): RawBuilder<unknown> => (dimensions.includes(one) ? groupColumns : noGroup)[one]
  const [totals, groups] = await Promise.all([
    getOne<Totals>(call.db, sql`select ${sums} ${these}`),
    dimensions.length === 0
      ? []
      : findAll<UsageGroup>(
          call.db,
          sql`
      select ${by('key')}, ${by('model')}, ${by('day')}, ${sums} ${these}
      group by 1, 2, 3, 4
      order by 4, sum(cost_nano_usd) desc, sum(requests) desc, 1, 2, 3
      limit ${sumLimits.groupsMax + 1}`,
        ),
  ])
  return { from, to, totals, ...shownGroups(groups) }
}

const shownColumns = sql`
  id, organization_id, key_id, user_id, model, upstream, route, session_id, status, input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, reasoning_tokens,
  round(cost_nano_usd / ${nanoUsdPerUsd}::numeric, 9)::text as cost_usd, started_at, ended_at`

const requestRows = rowsOf<ShownRequest>('inferenceRequest', 'inference_requests', 'request', shownColumns)

/** Conditions of a list of requests. */
export type RequestFilter = { keyId?: string | null; modelId?: string | null; status?: RequestStatus | null }

/** The organization's requests, newest first. @throws BerthError forbidden, invalid_request. */
export async function pageRequests(
  call: Call,
  publicOrganizationId: string | null | undefined,
  window: PageWindow,
  filter?: RequestFilter | null,
  direction?: Direction,
): Promise<Page<ShownRequest>> {
  const scope = allowInGiven(call.caller, 'inference-usage:read', publicOrganizationId)
  const { keyId, modelId, status } = filter ?? {}
  const chosen = sql.join(
    [
      owned(scope),
      ...(typeof keyId === 'string' ? [sql`key_id = ${keyId}`] : []),
      ...(typeof modelId === 'string' ? [sql`model = ${modelId}`] : []),
      ...(typeof status === 'string' ? [sql`status = ${status}`] : []),
    ],
    sql` and `,
  )
  return requestRows.page(call.db, window, chosen, direction)
}

/** The requests of these stored ids that are the organization's. */
export async function findRequests(call: Call, ids: readonly string[]): Promise<ShownRequest[]> {
  const reach = allowAnywhere(call.caller, 'inference-usage:read')
  return requestRows.find(call.db, ids, owned(reach))
}

/**
 * The organization's requests as they are settled: those after the cursor, then live ones; without a cursor, only new
 * ones. A lost request that ends after all comes twice.
 * @throws BerthError forbidden, invalid_request, before the first.
 */
export async function followRequests(
  call: Call & { signal?: AbortSignal },
  publicOrganizationId: string | null | undefined,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<SettledRequest>> {
  const { organizationId } = allowInGiven(call.caller, 'inference-usage:read', publicOrganizationId)
  const position = after
    ? eventPosition(after)
    : (
        await getOne<{ position: number }>(
          call.db,
          sql`
    select coalesce(max(settled_position), 0) as position from inference_accounts where organization_id = ${organizationId}`,
        )
      ).position
  return eventsAfter(call, organizationId, position, {
    topic: requestsTopic,
    isLast: () => false,
    isOver: async () => false,
    read: (behind, most) =>
      findAll<SettledRequest>(
        call.db,
        sql`
      select ${shownColumns}, settled_position as position
      from inference_requests
      where organization_id = ${organizationId} and settled_position > ${behind}
      order by settled_position limit ${most}`,
      ),
  })
}

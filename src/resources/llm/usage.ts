/** The usage and cost of an organization's requests to models: individually, and summed by key, model or day. */
import { allowAnywhere, owned } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { eventPosition, type Direction, type Page, type PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { eventsAfter } from '#src/platform/streams/row-events.ts'
import type { Call } from '#src/platform/services.ts'
import { monthOf, nanoUsdPerUsd, type RequestRoute, type RequestStatus, requestsTopic } from './billing.ts'

const daysMax = 366
const groupsMax = 1_000
const dayMs = 86_400_000

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
/** Sums of one key, person, model or day; the others are null. */
export type UsageGroup = Totals & {
  keyId: string | null
  userId: string | null
  model: string | null
  day: string | null
}
/** Sums over a range of days (UTC, inclusive), in total and in groups. */
export type InferenceUsage = { from: string; to: string; totals: Totals; groups: UsageGroup[] }

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
  coalesce(sum(cache_read_tokens), 0) as cache_read_tokens, coalesce(sum(cache_write_tokens), 0) as cache_write_tokens, coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
  round(coalesce(sum(cost_nano_usd), 0) / ${nanoUsdPerUsd}::numeric, 9)::text as cost_usd`

const groupColumns = {
  key: sql`substring(payer from '^key:(.*)') as key_id, substring(payer from '^user:(.*)') as user_id, null as model, null as day`,
  model: sql`null as key_id, null as user_id, model, null as day`,
  day: sql`null as key_id, null as user_id, null as model, day::text as day`,
}

/**
 * Sums of the organization's requests that started on these days; by default this month.
 * @param input days such as `2026-11-21`, a range of at most 366; groups are ordered by cost, highest first, days in
 * order, 1,000 at most.
 * @throws BerthError forbidden, invalid_request.
 */
export async function sumUsage(
  call: Call,
  input: { organizationId?: string | null; from?: string | null; to?: string | null; groupBy?: UsageGroupBy | null },
): Promise<InferenceUsage> {
  const scope = allowInGiven(call.caller, 'inference-usage:read', input.organizationId)
  const to = readDay('to', input.to ?? timestamp(nowMs()).slice(0, 10))
  const from = readDay('from', input.from ?? monthOf(Date.parse(to)).start)
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1
  if (days < 1 || days > daysMax)
    throw new BerthError('invalid_request', `from must not be after to, and they span ${daysMax} days at most.`)
  const these = sql`from inference_days where ${owned(scope)} and day between ${from}::date and ${to}::date`
  const groupBy = input.groupBy ?? null
  const [totals, groups] = await Promise.all([
    getOne<Totals>(call.db, sql`select ${sums} ${these}`),
    groupBy === null
      ? []
      : findAll<UsageGroup>(
          call.db,
          sql`
      select ${groupColumns[groupBy]}, ${sums} ${these} group by 1, 2, 3, 4 order by ${groupBy === 'day' ? sql`day` : sql`sum(cost_nano_usd) desc, sum(requests) desc, 1, 2, 3`} limit ${groupsMax}`,
        ),
  ])
  return { from, to, totals, groups }
}

const shownColumns = sql`id, organization_id, key_id, user_id, model, upstream, route, session_id, status, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
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
      select ${shownColumns}, settled_position as position from inference_requests where organization_id = ${organizationId} and settled_position > ${behind} order by settled_position limit ${most}`,
      ),
  })
}

function readDay(name: string, text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(ms) || timestamp(ms).slice(0, 10) !== text)
    throw new BerthError('invalid_request', `${name} must be a day such as 2026-11-21.`)
  return text
}

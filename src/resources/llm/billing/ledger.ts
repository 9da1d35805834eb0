/**
 * The ledger: one row for each request to a model, daily sums beside it, and its cost charged to the process's leases.
 * A batch of rows is one statement, and takes effect once however often it is sent: it has a number, and only its
 * process's next number has an effect. So the charge is always the difference to what was charged before.
 */
import type { RawBuilder } from 'kysely'
import type { Usage } from '#src/drivers/models/model.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { timestamp } from '#src/platform/clock.ts'
import { sql } from '#src/platform/postgres.ts'

/** Who pays for a request: an organization, and the key or the person that sent it. */
export type Payer = { organizationId: string; keyId: string | null; userId: string | null }

/** The endpoint at which a request arrived, or what Berth made it for. */
export type RequestRoute =
  | 'chat.completions'
  | 'chat'
  | 'messages'
  | 'responses'
  | 'embeddings'
  | 'graphql'
  | 'agent'
  | 'memories'

/** The status of a request in the ledger; `lost` was open when its process died. */
export const requestStatuses = ['open', 'completed', 'cut_by_client', 'cut_by_upstream', 'failed', 'lost'] as const
export type RequestStatus = (typeof requestStatuses)[number]

/** A request as the ledger should have it; `written` is what the ledger already has. Milliseconds since the epoch. */
export type LedgerRow = {
  readonly id: string
  readonly payer: Payer
  readonly model: string
  readonly route: RequestRoute
  /** The session of an agent's request; null for every other one. */
  readonly sessionId: string | null
  readonly startedMs: number
  endedMs: number
  status: RequestStatus
  upstream: string | null
  usage: Usage
  costNanoUsd: number
  written: { usage: Usage; costNanoUsd: number } | null
  /** The batch in which it waits; null once that was sent. */
  batch: { readonly done: Promise<void> } | null
  /** Called just before it is written. */
  charge(): void
  /** Called when it is written, with the additional cost. */
  paid(nanoUsd: number): void
}

/** What a flush returns: what is left of each lease that it charged. No rows: its number was not the next. */
export type FlushAnswer = { organizationId: string | null; heldNanoUsd: number }

/** The notice after which an organization's requests should be read again. */
export const requestsTopic = 'inference_requests'

type Sums = { requests: number; tokens: [number, number, number, number, number]; costNanoUsd: number }
type Day = Sums & { organizationId: string; day: string; model: string; payer: string }
type Organization = { settled: number; costNanoUsd: number }

/**
 * Makes the statement that writes these rows as they are now.
 * @param number the number of this batch, counted by the process.
 */
export function makeFlush(processId: string, number: number, rows: readonly LedgerRow[]): RawBuilder<FlushAnswer> {
  const organizations = new Map<string, Organization>()
  const days = new Map<string, Day>()
  const places = rows.map((row) => {
    const organization = sumOrganization(organizations, row)
    sumDay(days, row)
    return row.status === 'open' ? null : ++organization.settled
  })
  const ids = [...organizations.keys()].sort() // the same order in all processes, so that they do not deadlock
  const sums = ids.map((id) => organizations.get(id)!) // its own keys
  return sql<FlushAnswer>`
    with turn as (
      update inference_processes set flushes = ${number}, seen_at = now() where id = ${processId} and flushes = ${number - 1} returning id
    ), numbered as (
      insert into inference_accounts as a (organization_id, settled_position)
      select o.id, o.settled from turn, unnest(${list(ids)}::uuid[], ${list(sums.map((one) => one.settled))}::bigint[]) as o (id, settled)
      on conflict (organization_id) do update set settled_position = a.settled_position + excluded.settled_position
      returning organization_id, settled_position
    ), written as (${writeRows(
      processId,
      rows,
      places.map((place, at) =>
        place === null ? null : organizations.get(rows[at]!.payer.organizationId)!.settled - place,
      ),
    )}
    ), summed as (${writeDays([...days.keys()].sort().map((key) => days.get(key)!))}
    ), paid as (
      insert into credit_leases as l (process_id, organization_id, amount_nano_usd)
      select ${processId}::uuid, n.organization_id, -c.cost
      from numbered n
      join unnest(${list(ids)}::uuid[], ${list(sums.map((one) => one.costNanoUsd))}::bigint[]) as c (id,
        cost) on c.id = n.organization_id
      where c.cost <> 0
      on conflict (process_id, organization_id) do update set amount_nano_usd = l.amount_nano_usd + excluded.amount_nano_usd
      returning organization_id, amount_nano_usd
    )
    select organization_id, amount_nano_usd as held_nano_usd from paid union all select null, 0 from turn`
}

/**
 * The rows themselves.
 * @param behind for each row, how many settled rows of its organization follow it in this batch; null for an open one.
 */
function writeRows(
  processId: string,
  rows: readonly LedgerRow[],
  behind: readonly (number | null)[],
): RawBuilder<unknown> {
  return sql`
      insert into inference_requests (organization_id, id, key_id, user_id, model, upstream, route, status,
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd, process_id,
        settled_position, started_at, ended_at, session_id)
      select u.organization_id, u.id, u.key_id, u.user_id, u.model, u.upstream, u.route, u.status,
        u.input, u.output, u.cache_read, u.cache_write, u.reasoning, u.cost, ${processId}::uuid, n.settled_position - u.behind,
        ${momentOf('u.started_ms')}, ${momentOf('u.ended_ms')}, u.session_id
      from numbered n join unnest(
        ${column(rows, (row) => row.payer.organizationId)}::uuid[], ${column(rows, (row) => row.id)}::uuid[],
        ${column(rows, (row) => quoted(row.payer.keyId))}::text[], ${column(rows, (row) => row.payer.userId)}::uuid[],
        ${column(rows, (row) => quoted(row.model))}::text[], ${column(rows, (row) => quoted(row.upstream))}::text[],
        ${column(rows, (row) => quoted(row.route))}::text[], ${column(rows, (row) => row.status)}::text[],
        ${column(rows, (row) => row.usage.inputTokens)}::bigint[], ${column(rows, (row) => row.usage.outputTokens)}::bigint[],
        ${column(rows, (row) => row.usage.cacheReadTokens)}::bigint[], ${column(rows, (row) => row.usage.cacheWriteTokens)}::bigint[],
        ${column(rows, (row) => row.usage.reasoningTokens)}::bigint[], ${column(rows, (row) => row.costNanoUsd)}::bigint[],
        ${list(behind)}::bigint[], ${column(rows, (row) => row.startedMs)}::bigint[],
        ${column(rows, (row) => (row.status === 'open' ? null : row.endedMs))}::bigint[], ${column(rows, (row) => row.sessionId)}::uuid[]
      ) as u (organization_id, id, key_id, user_id, model, upstream, route, status, input, output, cache_read, cache_write,
      reasoning, cost, behind, started_ms, ended_ms, session_id)
        on u.organization_id = n.organization_id
      on conflict (organization_id, id) do update set upstream = excluded.upstream, status = excluded.status,
        input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cache_read_tokens = excluded.cache_read_tokens,
        cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens, cost_nano_usd = excluded.cost_nano_usd,
        settled_position = excluded.settled_position, ended_at = excluded.ended_at`
}

function writeDays(days: readonly Day[]): RawBuilder<unknown> {
  const tokens = (at: 0 | 1 | 2 | 3 | 4): string => list(days.map((day) => day.tokens[at]))
  return sql`
      insert into inference_days as d (organization_id, day, model, payer, requests, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd)
      select u.* from turn, unnest(
        ${list(days.map((one) => one.organizationId))}::uuid[], ${list(days.map((one) => one.day))}::date[],
        ${list(days.map((one) => quoted(one.model)))}::text[],
        ${list(days.map((one) => quoted(one.payer)))}::text[], ${list(days.map((one) => one.requests))}::bigint[],
        ${tokens(0)}::bigint[], ${tokens(1)}::bigint[], ${tokens(2)}::bigint[], ${tokens(3)}::bigint[], ${tokens(4)}::bigint[],
        ${list(days.map((one) => one.costNanoUsd))}::bigint[]
      ) as u
      on conflict (organization_id, day, model, payer) do update set requests = d.requests + excluded.requests,
        input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
        cache_read_tokens = d.cache_read_tokens + excluded.cache_read_tokens, cache_write_tokens = d.cache_write_tokens + excluded.cache_write_tokens,
        reasoning_tokens = d.reasoning_tokens + excluded.reasoning_tokens, cost_nano_usd = d.cost_nano_usd + excluded.cost_nano_usd`
}

/** The name of the payer in daily sums. */
export function payerName({ keyId, userId }: Payer): string {
  return keyId !== null ? `key:${keyId}` : userId !== null ? `user:${userId}` : 'system'
}

function sumOrganization(organizations: Map<string, Organization>, row: LedgerRow): Organization {
  const { organizationId } = row.payer
  let organization = organizations.get(organizationId)
  if (!organization) organizations.set(organizationId, (organization = { settled: 0, costNanoUsd: 0 }))
  organization.costNanoUsd += row.costNanoUsd - (row.written?.costNanoUsd ?? 0)
  return organization
}

function sumDay(days: Map<string, Day>, { payer, model, startedMs, usage, costNanoUsd, written }: LedgerRow): void {
  const { organizationId } = payer
  const day = dayOf(startedMs)
  const name = payerName(payer)
  const key = `${organizationId} ${day} ${name} ${model}`
  let sums = days.get(key)
  if (!sums)
    days.set(
      key,
      (sums = { organizationId, day, model, payer: name, requests: 0, tokens: [0, 0, 0, 0, 0], costNanoUsd: 0 }),
    )
  const { tokens } = sums
  sums.requests += written ? 0 : 1
  sums.costNanoUsd += costNanoUsd - (written?.costNanoUsd ?? 0)
  tokens[0] += usage.inputTokens - (written?.usage.inputTokens ?? 0)
  tokens[1] += usage.outputTokens - (written?.usage.outputTokens ?? 0)
  tokens[2] += usage.cacheReadTokens - (written?.usage.cacheReadTokens ?? 0)
  tokens[3] += usage.cacheWriteTokens - (written?.usage.cacheWriteTokens ?? 0)
  tokens[4] += usage.reasoningTokens - (written?.usage.reasoningTokens ?? 0)
}

/** A column of milliseconds since the epoch as a timestamp. Numbers are cheaper to write and to read than RFC 3339. */
function momentOf(column: 'u.started_ms' | 'u.ended_ms'): RawBuilder<unknown> {
  return sql`timestamptz 'epoch' + ${sql.ref(column)} * interval '1 millisecond'`
}

const dayMs = 24 * 60 * 60 * 1000
let knownDay = { number: NaN, text: '' }

/** The UTC day of a time, `2026-11-21`. */
function dayOf(ms: number): string {
  const number = Math.floor(ms / dayMs)
  if (number !== knownDay.number) knownDay = { number, text: timestamp(ms).slice(0, 10) }
  return knownDay.text
}

/**
 * An array literal for Postgres. Built here because the driver's own serialization takes as long as the rest of a
 * flush.
 */
function list(items: readonly (string | number | null)[]): string {
  let text = '{'
  for (let at = 0; at < items.length; at++) text += (at === 0 ? '' : ',') + (items[at] ?? 'NULL')
  return `${text}}`
}

/** The same of one value of each row. */
function column(rows: readonly LedgerRow[], of: (row: LedgerRow) => string | number | null): string {
  let text = '{'
  for (let at = 0; at < rows.length; at++) text += (at === 0 ? '' : ',') + (of(rows[at]!) ?? 'NULL') // within its length
  return `${text}}`
}

const quotedTexts = createBoundedMap<string, string>({ entriesMax: 10_000 })

/** A text as an item of such a literal. */
function quoted(text: string | null): string | null {
  if (text === null) return null
  let safe = quotedTexts.peek(text) // hot path: the order of use is not tracked
  if (safe === undefined) {
    safe = `"${text.replaceAll('\0', '').toWellFormed().replace(/["\\]/g, '\\$&')}"`
    quotedTexts.set(text, safe)
  }
  return safe
}

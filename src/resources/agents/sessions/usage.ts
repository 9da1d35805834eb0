/** A session's usage and budget: counted in the transaction that logs the usage. */
import { z } from 'zod'
import { nowMs } from '#src/platform/clock.ts'
import { findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'
import { nanoUsdPerUsd } from '#src/resources/llm/billing.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import type { NewEvent } from './log.ts'
import type { Session } from './rows.ts'

/** What is added to a session's usage: whole numbers of tokens and requests, and nano-dollars. */
export type UsageAdded = Partial<
  Pick<
    Session,
    | 'inputTokens'
    | 'outputTokens'
    | 'cacheReadInputTokens'
    | 'cacheCreation5mInputTokens'
    | 'cacheCreation1hInputTokens'
    | 'webSearchRequests'
    | 'webFetchRequests'
    | 'costNanoUsd'
  >
>

/** Adds to a session's usage. @returns the changed session; undefined when it is deleted. */
export async function addUsage(tx: Tx, id: string, added: UsageAdded): Promise<Session | undefined> {
  return findOne<Session>(
    tx,
    sql`
    update sessions set input_tokens = input_tokens + ${added.inputTokens ?? 0}, output_tokens = output_tokens + ${added.outputTokens ?? 0},
      cache_read_input_tokens = cache_read_input_tokens + ${added.cacheReadInputTokens ?? 0},
      cache_creation_5m_input_tokens = cache_creation_5m_input_tokens + ${added.cacheCreation5mInputTokens ?? 0},
      cache_creation_1h_input_tokens = cache_creation_1h_input_tokens + ${added.cacheCreation1hInputTokens ?? 0},
      web_search_requests = web_search_requests + ${added.webSearchRequests ?? 0}, web_fetch_requests = web_fetch_requests + ${added.webFetchRequests ?? 0},
      cost_nano_usd = cost_nano_usd + ${added.costNanoUsd ?? 0}
    where id = ${id} returning *`,
  )
}

/** The event with a session's usage so far. */
export function usageEvent(session: Session): NewEvent {
  return { type: 'session.usage', data: { usage: usageOf(session), budget: budgetOf(session) } }
}

/**
 * What a session may still spend, in nano-dollars: the least of what is left of its own budget and of those of the sessions
 * on whose behalf it was started. Against each counts what was spent by all that were started on its behalf. Null: no limit.
 */
export async function findBudgetLeft(
  db: Db,
  { id, spendsFrom }: Pick<Session, 'id' | 'spendsFrom'>,
): Promise<number | null> {
  const { left } = await getOne<{ left: number | null }>(
    db,
    sql`
    select (min(budget_nano_usd - cost_nano_usd - coalesce((
      select sum(started.cost_nano_usd)
      from sessions started
      where started.spends_from <> '{}' and started.spends_from @> array[sessions.id]),
        0)))::bigint as left
    from sessions where id = any(${[id, ...spendsFrom]}::uuid[]) and budget_nano_usd is not null`,
  )
  return left
}

/** Whether a session has reached its spending limit. */
export async function isBudgetReached(
  db: Db,
  session: Pick<Session, 'id' | 'budgetNanoUsd' | 'spendsFrom'>,
): Promise<boolean> {
  if (session.budgetNanoUsd === null && session.spendsFrom.length === 0) return false
  const left = await findBudgetLeft(db, session)
  return left !== null && left <= 0
}

/** An amount as callers see it. */
type ShownMoney = { amount: string; currency: 'USD' }

/** The usage as callers see it. */
export type ShownUsage = {
  input_tokens: number
  output_tokens: number
  cache_read_input_tokens: number
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number }
  server_tool_use: { web_search_requests: number; web_fetch_requests: number }
  active_seconds: number
  list_cost: ShownMoney
}

/** The times as callers see them. */
export type ShownStats = { active_seconds: number; duration_seconds: number }

/** A budget as callers see it. */
export type ShownBudget = { type: 'limit'; max_list_cost: ShownMoney }

/** What a session counts, and since when it runs. */
export type Counted = Required<UsageAdded> & Pick<Session, 'activeMs' | 'runningSince'>

/** A session's usage so far. */
export function usageOf(session: Counted): ShownUsage {
  return {
    input_tokens: session.inputTokens,
    output_tokens: session.outputTokens,
    cache_read_input_tokens: session.cacheReadInputTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: session.cacheCreation5mInputTokens,
      ephemeral_1h_input_tokens: session.cacheCreation1hInputTokens,
    },
    server_tool_use: { web_search_requests: session.webSearchRequests, web_fetch_requests: session.webFetchRequests },
    active_seconds: activeSeconds(session),
    list_cost: { amount: dollars(session.costNanoUsd), currency: 'USD' },
  }
}

/** Seconds of running time, and since the start; both stop when the session ends. */
export function statsOf(session: Session): ShownStats {
  const endMs = session.status === 'terminated' ? Date.parse(session.updatedAt) : nowMs()
  return {
    active_seconds: activeSeconds(session),
    duration_seconds: inSeconds(Math.max(0, endMs - Date.parse(session.createdAt))),
  }
}

/** A session's spending limit; null when there is none. */
export function budgetOf({ budgetNanoUsd }: Pick<Session, 'budgetNanoUsd'>): ShownBudget | null {
  return budgetNanoUsd === null
    ? null
    : { type: 'limit', max_list_cost: { amount: dollars(budgetNanoUsd), currency: 'USD' } }
}

const amount = z.string().regex(/^\d{1,9}(?:\.\d{1,9})?$/, 'it must be dollars in decimal digits, such as "2.50"')
const currency: z.ZodType<'USD', string> = z.literal('USD')
const budgetShape = oneOf({ limit: input({ max_list_cost: input({ amount, currency }) }) })

/** What a session may spend, as callers say it. */
export type BudgetInput = z.input<typeof budgetShape>

/** Reads a budget, in nano-dollars; null without one. @throws BerthError invalid_request. */
export function readBudget(given: BudgetInput | null | undefined): number | null {
  if (given === undefined || given === null) return null
  return Math.round(Number(readShape(budgetShape, given, 'budget').max_list_cost.amount) * nanoUsdPerUsd)
}

function dollars(nanoUsd: number): string {
  const [whole = '0', fraction = ''] = (nanoUsd / nanoUsdPerUsd).toFixed(9).split('.')
  return `${whole}.${withoutEnding(fraction, '0').padEnd(2, '0')}`
}

function activeSeconds({ activeMs, runningSince }: Pick<Session, 'activeMs' | 'runningSince'>): number {
  return inSeconds(activeMs + (runningSince ? Math.max(0, nowMs() - Date.parse(runningSince)) : 0))
}

function inSeconds(ms: number): number {
  return Math.round(ms) / 1000
}

/** Whether an event starts a session, and if not, why: the reasons in their fixed order. */
import { eventOf, filteredEvents, type EventName } from './events.ts'
import { matchesAny } from './globs.ts'
import type { Facts, Routed } from './payloads.ts'
import type { SkipReason, Trigger, TriggerFilters } from './rows.ts'

/** The app of this installation at the code host: what it caused starts nothing. */
export type OwnApp = { codeHostApp: string | null; codeHostClientId: string | null }

/** Whether a trigger is for this event at all: only then there is a fire. */
export function listens({ events }: Pick<Trigger, 'events'>, event: string, action: string | null): boolean {
  return events.includes(event) || (action !== null && events.includes(`${event}.${action}`))
}

/** Whether an event is of the trigger's repository: by the code host's id of it, or by its name where only that is known. */
export function isOfItsRepository(
  trigger: Pick<Trigger, 'repositoryId' | 'repoKey'>,
  repo: string,
  { repositoryId }: Pick<Routed, 'repositoryId'>,
): boolean {
  return trigger.repositoryId === null
    ? trigger.repoKey === repo.toLowerCase()
    : trigger.repositoryId === (repositoryId ?? null)
}

/** The filter that does not match an event; null: all do. */
export type Mismatch = keyof typeof filteredEvents | null

/**
 * Why an event for which the trigger listens starts nothing; null when it does, unless it comes too often.
 * @param mismatch what `findMismatch` says of these filters, which takes time: it is found while no row is locked.
 */
export function whySkipped(
  trigger: Pick<Trigger, 'enabled' | 'filters'>,
  isPaused: boolean,
  { routed }: { routed: Routed },
  app: OwnApp,
  mismatch: Mismatch,
): SkipReason | null {
  const { filters } = trigger
  const { facts, sender } = routed
  const isBot = sender.type === 'Bot' || sender.login.endsWith('[bot]')
  if (!trigger.enabled) return 'trigger_disabled'
  if (isPaused) return 'deployment_paused'
  if (facts.isDeletion) return 'ref_deleted'
  if (mismatch !== null) return 'filter_mismatch'
  if (facts.isFork && !filters.allow_forks) return 'fork_pull_request'
  if (facts.association !== null && !(filters.author_associations as string[]).includes(facts.association))
    return 'untrusted_author'
  if (isBot && !filters.allow_bots) return 'bot_sender'
  return isOwn(app, routed) ? 'self_caused' : null
}

/** The filter that does not match. One narrows the events that have what it looks at, and leaves others alone. */
export async function findMismatch(
  filters: TriggerFilters,
  { event: name, routed: { facts } }: { event: string; routed: { facts: Facts } },
): Promise<Mismatch> {
  const event = eventOf(name)
  const concerns = (filter: keyof typeof filteredEvents): boolean =>
    (filteredEvents[filter] as readonly EventName[]).includes(event)
  const { branches, paths, labels, comment_prefix: prefix } = filters
  if (branches && concerns('branches') && !(await matchesAny(facts.branch === null ? [] : [facts.branch], branches)))
    return 'branches'
  if (labels && concerns('labels') && !sharesLabel(facts.labels, labels)) return 'labels'
  if (prefix !== null && concerns('comment_prefix') && !(facts.comment ?? '').trimStart().startsWith(prefix))
    return 'comment_prefix'
  if (!paths || !concerns('paths') || facts.hasMorePaths || (await matchesAny(facts.paths, paths))) return null
  return 'paths'
}

/** Labels differ by more than case at the code host. */
function sharesLabel(given: readonly string[], wanted: readonly string[]): boolean {
  const lower = new Set(wanted.map((label) => label.toLowerCase()))
  return given.some((label) => lower.has(label.toLowerCase()))
}

/** Caused by our own app: as itself, or for a person by their connected account. */
function isOwn({ codeHostApp, codeHostClientId }: OwnApp, { sender, facts }: Routed): boolean {
  if (codeHostApp !== null && sender.login.toLowerCase() === `${codeHostApp.toLowerCase()}[bot]`) return true
  return facts.apps.some((app) => app === codeHostApp || app === codeHostClientId)
}

/** The events of a code host that triggers can name, in GitHub's words. */
import { BerthError } from '#src/platform/errors.ts'
import { triggerLimits } from './limits.ts'

/** Each event with the actions that can be named; an event without actions has none. The event's name alone is all of them. */
export const eventKinds = {
  push: [],
  pull_request: ['opened', 'synchronize', 'reopened', 'ready_for_review', 'labeled', 'closed'],
  pull_request_review: ['submitted'],
  pull_request_review_comment: ['created'],
  issues: ['opened', 'labeled', 'assigned'],
  issue_comment: ['created'],
  release: ['published'],
  workflow_run: ['completed'],
  check_suite: ['completed'],
} as const satisfies Record<string, readonly string[]>

/** The name of an event. */
export type EventName = keyof typeof eventKinds

/** Every name that a trigger can have in `events`. */
export const eventNames: readonly string[] = Object.entries(eventKinds).flatMap(([event, actions]) => [
  event,
  ...actions.map((action) => `${event}.${action}`),
])

/** Which events have what a filter looks at. */
export const filteredEvents = {
  branches: [
    'push',
    'pull_request',
    'pull_request_review',
    'pull_request_review_comment',
    'workflow_run',
    'check_suite',
  ],
  paths: ['push'],
  labels: ['pull_request', 'pull_request_review', 'pull_request_review_comment', 'issues', 'issue_comment'],
  comment_prefix: ['issue_comment', 'pull_request_review', 'pull_request_review_comment'],
} as const satisfies Record<string, readonly EventName[]>

/** The event of a name that may have an action. */
export function eventOf(name: string): EventName {
  return name.split('.')[0] as EventName // one of the names above
}

/** Reads the events of a trigger, each once. @throws BerthError invalid_request naming the first that is not known. */
export function readEvents(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > triggerLimits.eventsMax)
    throw new BerthError('invalid_request', `events must be a list of 1 to ${triggerLimits.eventsMax} events.`, {
      field: 'events',
    })
  for (const [index, event] of given.entries()) {
    if (typeof event !== 'string' || !eventNames.includes(event))
      throw new BerthError('invalid_request', `events[${index}] is not known. Name one of ${eventNames.join(', ')}.`, {
        field: 'events',
      })
  }
  return [...new Set(given as string[])] // checked above
}

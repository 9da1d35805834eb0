/**
 * Outcomes in their session's row: what a client defined with `user.define_outcome`, and its state. They change
 * together with the events about them. Names and results are those of Anthropic's API.
 */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** How an outcome ended. */
export type OutcomeEnd = 'satisfied' | 'max_iterations_reached' | 'failed' | 'interrupted'

/** An outcome in its session's row; keys as on the wire. `iteration` counts from 0. */
export type Outcome = {
  outcome_id: string
  description: string
  max_iterations: number
  result: 'pending' | 'running' | 'evaluating' | OutcomeEnd
  iteration: number
  explanation: string | null
  completed_at: string | null
}

/** A change of an outcome. */
export type OutcomeChange = { id: string; change: Partial<Outcome> }

type WithOutcomes = { outcomes: readonly Outcome[] }

const iterationsUsual = 3

/** The outcomes that these events define. */
export function definedBy(
  events: readonly { type: string; data?: Readonly<Record<string, unknown>> | undefined }[],
): Outcome[] {
  return events
    .filter(({ type }) => type === 'user.define_outcome')
    .map(({ data = {} }) => ({
      outcome_id: String(data['outcome_id']),
      description: String(data['description']),
      max_iterations: Number(data['max_iterations'] ?? iterationsUsual),
      result: 'pending',
      iteration: 0,
      explanation: null,
      completed_at: null,
    }))
}

/** The outcome to work on now: the first that has not ended. */
export function openOutcome({ outcomes }: WithOutcomes): Outcome | undefined {
  return outcomes.find(({ completed_at }) => completed_at === null)
}

/**
 * Refuses outcomes that are too many or together too long for a session, because every list of sessions shows them.
 * @throws BerthError invalid_request.
 */
export function checkOutcomes({ outcomes }: WithOutcomes, added: readonly Outcome[]): void {
  const all = [...outcomes, ...added]
  if (added.length === 0) return
  if (all.length > limits.outcomesMax)
    throw new BerthError(
      'invalid_request',
      `A session may have at most ${limits.outcomesMax} outcomes. Start a new session for more.`,
    )
  if (all.reduce((sum, { description }) => sum + description.length, 0) > limits.outcomeDescriptionsLength) {
    throw new BerthError(
      'invalid_request',
      `The descriptions of a session's outcomes may have ${limits.outcomeDescriptionsLength} characters together. Put longer texts into a message, or start a new session.`,
    )
  }
}

/** The outcomes of a session that ends permanently: open ones can no longer be reached. */
export function endedOutcomes({ outcomes }: WithOutcomes, completedAt: string): Outcome[] {
  return outcomes.map((one) =>
    one.completed_at === null
      ? {
          ...one,
          result: 'interrupted',
          explanation: 'The session was archived before this was reached.',
          completed_at: completedAt,
        }
      : one,
  )
}

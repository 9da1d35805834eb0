/** Trying a trigger with an event, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { idField } from '#schema/mutations.ts'
import { tryTrigger, type Trial } from '#src/resources/agents/triggers/trials.ts'
import { kickoffType } from '../deployments/kickoffs.ts'
import { skipReason } from './fires.ts'

const outcome = enumOf('TriggerTrialOutcome', 'What would become of an event.', {
  start: 'It would start a session, unless too many come within a minute.',
  skip: 'Its fire would be skipped, for the reason in `skipReason`.',
  fail: 'Its fire would fail, with the error in `errorType`.',
  no_fire: 'There would be no fire: the trigger is not for such an event, or not for its repository.',
} satisfies Record<Trial['outcome'], string>)

builder.relayMutationField(
  'tryTrigger',
  {
    description: 'What `tryTrigger` takes.',
    inputFields: (t) => ({
      ...idField(t),
      fireId: t.id({ description: 'A fire of the caller’s triggers, whose event is tried. Without it, the next two.' }),
      event: t.string({ description: 'The event as in `X-GitHub-Event`, such as `pull_request`.' }),
      payload: t.field({
        type: 'JSON',
        description: 'The body of the delivery, such as from the list of recent deliveries at GitHub.',
      }),
    }),
  },
  {
    description:
      'Says what a trigger would do with an event, without doing it: it starts nothing, and is recorded nowhere. Errors: NOT_FOUND, INVALID_REQUEST, PROVIDER_TOKEN_INVALID, RATE_LIMITED, UPSTREAM_ERROR, TIMEOUT.',
    resolve: (_, { input: { id, ...given } }, call) => tryTrigger(call, id, given),
  },
  {
    description: 'What `tryTrigger` answers.',
    outputFields: (t) => ({
      outcome: t.field({
        type: outcome,
        description: 'What would become of the event.',
        resolve: (trial) => trial.outcome,
      }),
      skipReason: t.field({
        type: skipReason,
        nullable: true,
        description: 'Why it would be skipped.',
        resolve: (trial) => trial.skipReason,
      }),
      errorType: t.string({
        nullable: true,
        description: 'With which error it would fail, such as `agent_archived_error`.',
        resolve: (trial) => trial.errorType,
      }),
      reason: t.string({
        nullable: true,
        description: 'Why it would start nothing, and what to do; null when it would start a session.',
        resolve: (trial) => trial.reason,
      }),
      kickoff: t.field({
        type: kickoffType,
        nullable: true,
        description: 'What the session would be told; null when it would start none.',
        resolve: (trial) => trial.kickoff,
      }),
    }),
  },
)

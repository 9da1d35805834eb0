/** The parts of a deployment in GraphQL: where it works, why it is paused, what started a run and why none started. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { kindOf } from '../../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { DeploymentStatus, PausedReason, RunTrigger } from '#src/resources/agents/deployments/rows.ts'
import type { StartEnvironment } from '#src/resources/agents/starts.ts'
import type { StartError, StartErrorType } from '#src/resources/agents/starts/errors.ts'
import { environmentConfig, environmentConfigInput } from '../environments/configs.ts'
import { environmentType } from '../environments.ts'
import { agentReferenceInput } from '../sessions/inputs.ts'

/** The status of a deployment. */
export const deploymentStatus = enumOf('DeploymentStatus', 'The status of a deployment.', {
  active: 'Schedules and triggers start it. Archived ones are `ACTIVE` too, as in Anthropic’s API: see `archivedAt`.',
  paused: 'Only its owner starts it; `pausedReason` says why.',
} satisfies Record<DeploymentStatus, string>)

const startErrorType = enumOf('StartErrorType', 'Why no session could start.', {
  agent_archived_error: 'The agent is archived.',
  environment_archived_error: 'The environment is archived.',
  environment_not_found_error: 'The environment is deleted.',
  vault_archived_error: 'A vault is archived.',
  vault_not_found_error: 'A vault is deleted.',
  organization_disabled_error: 'The organization is deactivated, or has no plan.',
  session_rate_limited_error: 'A limit, a budget or the credits are used up for now.',
  session_creation_rejected_error: 'Something else is missing; the message says what.',
  unknown_error: 'Something else; the message says what.',
} satisfies Record<StartErrorType, string>)

/** Why no session started. */
export const startError = builder.objectRef<StartError>('StartError').implement({
  description: 'Why no session could start.',
  fields: (t) => ({
    type: t.field({ type: startErrorType, description: 'The kind of error.', resolve: ({ type }) => type }),
    message: t.exposeString('message', { description: 'What is wrong, and what to do.' }),
  }),
})

const pausedReasonKind = enumOf('PausedReasonKind', 'What kind of reason a deployment is paused for.', {
  manual: 'Its owner paused it.',
  error: 'Runs that nobody asked for could not start.',
} satisfies Record<PausedReason['type'], string>)
const manualPause = builder.objectRef<PausedReason & { type: 'manual' }>('PausedByOwner').implement({
  description: 'Its owner paused it.',
  fields: (t) => ({ type: t.field(kindOf(pausedReasonKind, 'manual')) }),
})
const pausingError = builder.objectRef<(PausedReason & { type: 'error' })['error']>('PausingError').implement({
  description: 'What kept a run from starting that nobody asked for.',
  fields: (t) => ({
    type: t.field({ type: startErrorType, description: 'The kind of error.', resolve: ({ type }) => type }),
  }),
})
const errorPause = builder.objectRef<PausedReason & { type: 'error' }>('PausedByError').implement({
  description: 'A run that nobody asked for could not start, and neither could the next one.',
  fields: (t) => ({
    type: t.field(kindOf(pausedReasonKind, 'error')),
    error: t.field({ type: pausingError, description: 'What kept it from starting.', resolve: ({ error }) => error }),
  }),
})
/** Why a deployment is paused. */
export const pausedReason = builder.unionType('PausedReason', {
  description: 'Why a deployment is paused.',
  types: [manualPause, errorPause],
  resolveType: ({ type }) => (type === 'manual' ? 'PausedByOwner' : 'PausedByError'),
})

const startEnvironmentKind = enumOf(
  'StartEnvironmentKind',
  'What kind of place sessions that start by themselves work in.',
  {
    none: 'They have no VM.',
    existing: 'The VM of an environment.',
    ephemeral: 'A fresh VM for each.',
  } satisfies Record<StartEnvironment['type'], string>,
)
const noEnvironment = builder.objectRef<StartEnvironment & { type: 'none' }>('NoEnvironment').implement({
  description: 'Sessions have no VM.',
  fields: (t) => ({ type: t.field(kindOf(startEnvironmentKind, 'none')) }),
})
const existingEnvironment = builder
  .objectRef<StartEnvironment & { type: 'existing' }>('ExistingEnvironment')
  .implement({
    description: 'Sessions share the VM of an environment.',
    fields: (t) => ({
      type: t.field(kindOf(startEnvironmentKind, 'existing')),
      environmentId: t.id({
        description: 'The environment.',
        resolve: ({ environmentId }) => encodeId('environment', environmentId),
      }),
      environment: t.field({
        type: environmentType,
        nullable: true,
        description: 'The environment, as an object; null once it is deleted.',
        resolve: ({ environmentId }) => environmentId,
      }),
    }),
  })
const ephemeralEnvironment = builder
  .objectRef<StartEnvironment & { type: 'ephemeral' }>('EphemeralEnvironment')
  .implement({
    description: 'Each session has a fresh VM, which is deleted when its run is over.',
    fields: (t) => ({
      type: t.field(kindOf(startEnvironmentKind, 'ephemeral')),
      config: t.field({
        type: environmentConfig,
        nullable: true,
        description: 'The configuration of the VM; null for the default one.',
        resolve: ({ config }) => config as never, // isTypeOf of the union's members tells them apart
      }),
    }),
  })
const environmentNames = {
  none: 'NoEnvironment',
  existing: 'ExistingEnvironment',
  ephemeral: 'EphemeralEnvironment',
} as const
/** Where the sessions of a deployment work. */
export const startEnvironment = builder.unionType('StartEnvironment', {
  description: 'Where sessions that start by themselves work.',
  types: [noEnvironment, existingEnvironment, ephemeralEnvironment],
  resolveType: ({ type }: StartEnvironment) => environmentNames[type],
})

const existingInput = builder.inputType('ExistingEnvironmentInput', {
  description: 'One of the caller’s environments.',
  fields: (t) => ({ environmentId: t.id({ required: true, description: 'Which one.' }) }),
})
const ephemeralInput = builder.inputType('EphemeralEnvironmentInput', {
  description: 'A fresh VM for each session.',
  fields: (t) => ({
    config: t.field({
      type: environmentConfigInput,
      description: 'The configuration of the VM; the default one if omitted.',
    }),
  }),
})
/** The same as clients send it. REST also takes the words `none` and `ephemeral` alone. */
export const startEnvironmentInput = builder.inputType('StartEnvironmentInput', {
  description: 'Where sessions that start by themselves work: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type', bare: true },
  fields: (t) => ({
    none: t.boolean({ description: 'Send true: sessions have no VM.' }),
    existing: t.field({ type: existingInput, description: 'In one of the caller’s environments.' }),
    ephemeral: t.field({ type: ephemeralInput, description: 'Each in a fresh VM.' }),
  }),
})
/** The agent that starts. REST also takes its id alone, or an object without a type. */
export const startAgentInput = builder.inputType('StartAgentInput', {
  description: 'The agent that sessions start with.',
  isOneOf: true,
  extensions: { tag: 'type', text: 'agent', usual: 'agent' },
  fields: (t) => ({
    agent: t.field({ type: agentReferenceInput, description: 'An agent, in one of its versions or in the newest.' }),
  }),
})

/** A deployment that something starts. */
export const startDeploymentInput = builder.inputType('StartDeploymentInput', {
  description: 'A deployment; in REST its id alone will do.',
  extensions: { text: 'id' },
  fields: (t) => ({ id: t.id({ required: true, description: 'Which deployment.' }) }),
})

const cronInput = builder.inputType('DeploymentCronInput', {
  description: 'A cron expression in a time zone.',
  fields: (t) => ({
    expression: t.string({
      required: true,
      description:
        'Minute, hour, day of the month, month, day of the week, such as `0 9 * * mon-fri`; without seconds, `L`, `W`, `#`, `?` and names like `@daily`.',
    }),
    timezone: t.string({
      required: true,
      description: 'A name of the IANA time zone database, such as `Europe/Rome`.',
    }),
  }),
})
/** When a deployment starts by itself. */
export const deploymentScheduleInput = builder.inputType('DeploymentScheduleInput', {
  description: 'When a deployment starts by itself.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({ cron: t.field({ type: cronInput, description: 'At the moments of a cron expression.' }) }),
})

/** What starts runs, as a word. */
export const runTriggerType = enumOf('RunTriggerType', 'What starts runs.', {
  manual: 'Its owner.',
  schedule: 'A schedule.',
  trigger: 'A trigger.',
} satisfies Record<RunTrigger['type'], string>)

const manualRun = builder.objectRef<RunTrigger & { type: 'manual' }>('ManualRun').implement({
  description: 'Its owner started it.',
  fields: (t) => ({ type: t.field(kindOf(runTriggerType, 'manual')) }),
})
/** A run that a schedule started; which one is in run-triggers.ts. */
export const scheduledRun = builder.objectRef<RunTrigger & { type: 'schedule' }>('ScheduledRun').implement({
  description: 'A schedule started it.',
  fields: (t) => ({
    type: t.field(kindOf(runTriggerType, 'schedule')),
    scheduledAt: t.expose('scheduled_at', { type: 'DateTime', description: 'For which moment.' }),
  }),
})
/** A run that a trigger started; which one is in run-triggers.ts. */
export const triggeredRun = builder.objectRef<RunTrigger & { type: 'trigger' }>('TriggeredRun').implement({
  description: 'A trigger started it.',
  fields: (t) => ({
    type: t.field(kindOf(runTriggerType, 'trigger')),
    deliveryId: t.exposeString('delivery_id', { description: 'The delivery that fired it.' }),
  }),
})
const triggerNames = { manual: 'ManualRun', schedule: 'ScheduledRun', trigger: 'TriggeredRun' } as const
/** What started a run. */
export const runTrigger = builder.unionType('RunTrigger', {
  description: 'What started a run.',
  types: [manualRun, scheduledRun, triggeredRun],
  resolveType: ({ type }: RunTrigger) => triggerNames[type],
})

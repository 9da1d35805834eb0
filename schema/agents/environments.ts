/** Environments in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { environmentConfig, environmentConfigInput } from './environments/configs.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followEnvironment } from '#src/resources/agents/environments/events.ts'
import type { EnvironmentEvent, EnvironmentStatus } from '#src/resources/agents/environments/rows.ts'
import {
  archiveEnvironment,
  createEnvironment,
  deleteEnvironment,
  findEnvironments,
  getEnvironment,
  pageEnvironments,
  updateEnvironment,
} from '#src/resources/agents/environments.ts'

const environmentStatus = enumOf('EnvironmentStatus', 'Where an environment is.', {
  provisioning: 'Its VM is being made, started or prepared.',
  ready: 'It may be used. Before the first use it has no VM, and after an idle time its VM is stopped.',
  error: 'Its VM could not be had; `statusReason` says why. The next use makes a new one.',
  archived: 'It cannot be used any more, and has no VM.',
} satisfies Record<EnvironmentStatus, string>)

/** An environment. */
export const environmentType = nodeOf('Environment', '`env_` and 26 characters.', findEnvironments)

builder.objectType(environmentType, {
  description: 'Where sessions do their work: what their VM is made of, and that VM.',
  fields: (t) => ({
    type: t.string({ description: 'Always `environment`.', resolve: () => 'environment' }),
    name: t.exposeString('name', { description: 'Its name, which its owner gives to one at a time.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is for.' }),
    config: t.field({
      type: environmentConfig,
      description: 'What its VM is made of, with every default filled in.',
      resolve: ({ config }) => config as never, // the union's own types tell them apart
    }),
    metadata: t.field({ type: 'TextMap', description: 'The caller’s own notes.', resolve: ({ metadata }) => metadata }),
    scope: t.string({ description: 'Always `account`: it is its owner’s alone.', resolve: () => 'account' }),
    status: t.field({ type: environmentStatus, description: 'Where it is.', resolve: ({ status }) => status }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it is in error, as a sentence.' }),
    vmId: t.id({
      nullable: true,
      description: 'Its VM, once it was used.',
      resolve: ({ vmId }) => vmId && encodeId('vm', vmId),
    }),
    ownerId: t.id({ description: 'Whose it is.', resolve: ({ ownerUserId }) => encodeId('user', ownerUserId) }),
    organizationId: t.id({
      description: 'In which organization.',
      resolve: ({ organizationId }) => encodeId('organization', organizationId),
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `environmentEvents` to hear what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const environmentEvent = builder.objectRef<EnvironmentEvent>('EnvironmentEvent').implement({
  description: 'An environment’s state as it became.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: ({ position }) => String(position),
    }),
    environmentId: t.id({
      description: 'Which environment.',
      resolve: (event) => encodeId('environment', event.environmentId),
    }),
    environment: t.field({
      type: environmentType,
      nullable: true,
      description: 'The environment as it is now; null once it is deleted.',
      resolve: (event) => event.environmentId,
    }),
    status: t.field({
      type: environmentStatus,
      description: 'Its status from then on.',
      resolve: ({ status }) => status,
    }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it is in error.' }),
    vmId: t.id({
      nullable: true,
      description: 'Its VM from then on.',
      resolve: ({ vmId }) => vmId && encodeId('vm', vmId),
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const environmentEventOrHeartbeat = builder.unionType('EnvironmentEventOrHeartbeat', {
  description: 'An event of an environment, or a sign of life.',
  types: [environmentEvent, heartbeat],
})
const environmentFilter = builder.inputType('EnvironmentFilter', {
  description: 'Which environments a list shows.',
  fields: (t) => ({
    includeArchived: t.boolean({ description: 'Whether archived ones are shown too; false without it.' }),
  }),
})

builder.queryFields((t) => ({
  environment: t.field({
    type: environmentType,
    description: 'One environment. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getEnvironment(call, id),
  }),
  environments: t.field({
    type: connectionOf('Environment', environmentType),
    description: 'The caller’s environments, newest first.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: environmentFilter, description: 'Which ones.' }),
      orderBy: t.arg({ type: orderOf('Environment'), description: 'Newest first without it.' }),
    },
    resolve: (_, { filter, orderBy, ...window }, call) => pageEnvironments(call, window, filter, orderBy?.direction),
  }),
}))

const environment = { field: 'environment', type: environmentType }
const scope = { description: 'Must be `account`, null or left out.' }
const description = { description: 'What it is for: at most 2048 characters.' }
mutationOf(
  'createEnvironment',
  environment,
  'Makes an environment; its VM is made at its first use. Errors: INVALID_REQUEST, INVALID_TEMPLATE, ENVIRONMENT_NAME_TAKEN, RATE_LIMITED.',
  (t) => ({
    name: t.string({ required: true, description: '1 to 255 characters.' }),
    description: t.string(description),
    config: t.field({ type: environmentConfigInput, description: 'What its VM is made of.' }),
    metadata: t.field({ type: 'TextMap', description: 'Up to 16 pairs of text.' }),
    scope: t.string(scope),
  }),
  (call, input, { config }) => createEnvironment(call, { ...input, config }),
)
mutationOf(
  'updateEnvironment',
  environment,
  'Changes an environment: what is not given stays. A network policy and an idle time hold at once, all else of the config for its next VM. Errors: INVALID_REQUEST, INVALID_TEMPLATE, NOT_FOUND, RESOURCE_ARCHIVED, ENVIRONMENT_NAME_TAKEN.',
  (t) => ({
    ...idField(t),
    name: t.string({ description: '1 to 255 characters.' }),
    description: t.string(description),
    config: t.field({ type: environmentConfigInput, description: 'What its VM is made of.' }),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; null as a value deletes its key.' }),
    scope: t.string(scope),
  }),
  (call, { id, ...changes }, { config }) => updateEnvironment(call, id, { ...changes, config }),
)
actionOn(
  'archiveEnvironment',
  environment,
  'Archives an environment and tears its VM down. Errors: NOT_FOUND.',
  archiveEnvironment,
)
deletionOf('deleteEnvironment', 'Deletes an environment and tears its VM down. Errors: NOT_FOUND.', deleteEnvironment)

builder.subscriptionFields((t) => ({
  environmentEvents: t.field({
    type: environmentEventOrHeartbeat,
    description:
      'What happens to an environment: first what happened after the cursor (without one, its state now), then live, until it is archived or deleted. Errors: NOT_FOUND.',
    args: { ...idArguments, after: t.arg.string({ description: 'The cursor of the last event seen.' }) },
    subscribe: async (_, { id, after }, call) => withHeartbeats(await followEnvironment(call, id, after)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))

/** Environments in GraphQL. */
import { archivedArguments, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, listArguments, listTypeOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followEnvironment } from '#src/resources/agents/environments/events.ts'
import type { Environment, EnvironmentEvent, EnvironmentStatus } from '#src/resources/agents/environments/rows.ts'
import {
  archiveEnvironment,
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  pageEnvironments,
  updateEnvironment,
} from '#src/resources/agents/environments.ts'

const environmentStatus = builder.enumType('EnvironmentStatus', {
  description: 'Where an environment is.',
  values: {
    provisioning: { description: 'Its VM is being made, started or prepared.' },
    ready: {
      description: 'It may be used. Before the first use it has no VM, and after an idle time its VM is stopped.',
    },
    error: { description: 'Its VM could not be had; `statusReason` says why. The next use makes a new one.' },
    archived: { description: 'It cannot be used any more, and has no VM.' },
  } satisfies Record<EnvironmentStatus, { description: string }>,
})

const environmentType = builder.objectRef<Environment>('Environment').implement({
  description: 'Where sessions do their work: what their VM is made of, and that VM.',
  fields: (t) => ({
    id: t.id({ description: '`env_` and 26 characters.', resolve: ({ id }) => encodeId('environment', id) }),
    type: t.string({ description: 'Always `environment`.', resolve: () => 'environment' }),
    name: t.exposeString('name', { description: 'Its name, which its owner gives to one at a time.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is for.' }),
    config: t.field({
      type: 'JSON',
      description: 'What its VM is made of, with every default filled in.',
      resolve: ({ config }) => config,
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
    ownerUserId: t.id({ description: 'Whose it is.', resolve: ({ ownerUserId }) => encodeId('user', ownerUserId) }),
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
const environmentConnection = connectionOf('Environment', environmentType)
const environmentList = listTypeOf('Environment', environmentType)
const fieldArguments = builder.args((t) => ({
  description: t.string({ description: 'What it is for: at most 2048 characters.' }),
  config: t.field({
    type: 'JSON',
    description:
      '`{type, template_id, vcpu, memory_mb, networking, packages, git_repos, setup_script, idle_timeout_seconds}`; every key has a default.',
  }),
  metadata: t.field({ type: 'JSON', description: 'Up to 16 pairs of text; in a change a null value deletes its key.' }),
  scope: t.string({ description: 'Must be `account`, null or left out.' }),
}))

builder.queryFields((t) => ({
  environment: t.field({
    type: environmentType,
    description: 'One environment. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getEnvironment(call, id),
  }),
  environments: t.field({
    type: environmentConnection,
    description: 'The caller’s environments, newest first.',
    args: { ...archivedArguments, ...pageArguments },
    resolve: (_, { includeArchived, ...page }, call) => pageEnvironments(call, includeArchived ?? false, page) as never,
  }), // see pages.ts
  environmentList: t.field({
    type: environmentList,
    description: 'The same as REST shows it.',
    args: { ...archivedArguments, ...listArguments },
    resolve: (_, { includeArchived, ...window }, call) =>
      listEnvironments(call, includeArchived ?? false, window) as never,
  }), // see pages.ts
}))

builder.mutationFields((t) => ({
  createEnvironment: t.field({
    type: environmentType,
    description:
      'Makes an environment; its VM is made at its first use. Errors: INVALID_REQUEST, INVALID_TEMPLATE, ENVIRONMENT_NAME_TAKEN, RATE_LIMITED.',
    args: { name: t.arg.string({ required: true, description: '1 to 255 characters.' }), ...fieldArguments },
    resolve: (_, fields, call) => createEnvironment(call, fields),
  }),
  updateEnvironment: t.field({
    type: environmentType,
    description:
      'Changes an environment: what is not given stays. A network policy and an idle time hold at once, all else of the config for its next VM. Errors: INVALID_REQUEST, INVALID_TEMPLATE, NOT_FOUND, RESOURCE_ARCHIVED, ENVIRONMENT_NAME_TAKEN.',
    args: { ...idArguments, name: t.arg.string({ description: '1 to 255 characters.' }), ...fieldArguments },
    resolve: (_, { id, ...fields }, call) => updateEnvironment(call, id, fields),
  }),
  archiveEnvironment: t.field({
    type: environmentType,
    description: 'Archives an environment and tears its VM down. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => archiveEnvironment(call, id),
  }),
  deleteEnvironment: t.field({
    type: 'ID',
    description: 'Deletes an environment and tears its VM down. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteEnvironment(call, id), id),
  }),
}))

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

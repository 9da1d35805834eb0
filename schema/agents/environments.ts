/** Environments in GraphQL. */
import { builder } from '../builder.ts'
import { always, constant } from '../words.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { userType } from '../identity/users.ts'
import { vmType } from '../infra/vms.ts'
import { linkTo, times, timesIfAny } from '../nodes.ts'
import { archivedFilter, nounOf, organizationOf } from '../nouns.ts'
import { environmentConfig, environmentConfigInput } from './environments/configs.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followEnvironment } from '#src/resources/agents/environments/events.ts'
import type { EnvironmentEvent, EnvironmentStatus } from '#src/resources/agents/environments/rows.ts'
import {
  archiveEnvironment,
  createEnvironment,
  deleteEnvironment,
  environmentReads,
  updateEnvironment,
} from '#src/resources/agents/environments.ts'

const environmentStatus = enumOf('EnvironmentStatus', 'The status of an environment.', {
  provisioning: 'Its VM is being created, started or prepared.',
  ready: 'It is ready for use. Before the first use it has no VM; after being idle for a while its VM is stopped.',
  error: 'Its VM failed; `statusReason` says why. The next use creates a new one.',
  archived: 'It can no longer be used, and has no VM.',
} satisfies Record<EnvironmentStatus, string>)

/** An environment. */
export const environmentType = nounOf('Environment', environmentReads, {
  description: 'Where sessions work: the configuration of a VM, and the VM itself.',
  list: {
    description: 'The caller’s environments, newest first.',
    inOrganization: 'The caller’s environments in it, newest first. Not available to API keys.',
    filter: archivedFilter('Environment', true),
  },
  fields: (t) => ({
    type: t.string(always('environment')),
    name: t.exposeString('name', { description: 'Its name, unique among its owner’s environments.' }),
    description: t.exposeString('description', { nullable: true, description: 'A description of its purpose.' }),
    config: t.field({
      type: environmentConfig,
      description: 'The configuration of its VM, with every default filled in.',
      resolve: ({ config }) => config as never, // isTypeOf of the union's members tells them apart
    }),
    metadata: t.field({
      type: 'TextMap',
      description: 'The caller’s own labels: pairs of key and text.',
      resolve: ({ metadata }) => metadata,
    }),
    scope: t.string(constant('account', ': only its owner can use it')),
    status: t.field({ type: environmentStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it failed, as a sentence.' }),
    ...linkTo(t, 'vm', {
      type: vmType,
      nullable: true,
      description: 'Its VM, from the first use on.',
      id: ({ vmId }) => vmId,
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      description: 'The person who owns it.',
      id: ({ ownerUserId }) => ownerUserId,
    }),
    ...organizationOf(t, 'The organization it belongs to.'),
    eventCursor: t.string({
      description: 'Pass it as `after` to `environmentEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    ...times(t, 'createdAt'),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
    ...timesIfAny(t, { archivedAt: 'When it was archived.' }),
  }),
})

const environmentEvent = builder.objectRef<EnvironmentEvent>('EnvironmentEvent').implement({
  description: 'The state of an environment after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
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
      description: 'Its status after this event.',
      resolve: ({ status }) => status,
    }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it failed.' }),
    ...linkTo(t, 'vm', {
      type: vmType,
      nullable: true,
      description: 'Its VM after this event.',
      id: ({ vmId }) => vmId,
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const environmentEventOrHeartbeat = builder.unionType('EnvironmentEventOrHeartbeat', {
  description: 'An event of an environment, or a heartbeat.',
  types: [environmentEvent, heartbeat],
})

const environment = { field: 'environment', type: environmentType }
const scope = { description: 'Must be `account`, null or omitted.' }
const description = { description: 'A description of its purpose: at most 2048 characters.' }
mutationOf(
  'createEnvironment',
  environment,
  'Creates an environment; its VM is created at the first use. Errors: INVALID_REQUEST, INVALID_TEMPLATE, ENVIRONMENT_NAME_TAKEN, RATE_LIMITED.',
  (t) => ({
    name: t.string({ required: true, description: '1 to 255 characters.' }),
    description: t.string(description),
    config: t.field({ type: environmentConfigInput, description: 'The configuration of its VM.' }),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
    scope: t.string(scope),
  }),
  createEnvironment,
)
mutationOf(
  'updateEnvironment',
  environment,
  'Updates an environment; omitted fields stay as they are. A network policy and an idle time take effect immediately, the rest of the configuration with its next VM. Errors: INVALID_REQUEST, INVALID_TEMPLATE, NOT_FOUND, RESOURCE_ARCHIVED, ENVIRONMENT_NAME_TAKEN.',
  (t) => ({
    ...idField(t),
    name: t.string({ description: '1 to 255 characters.' }),
    description: t.string(description),
    config: t.field({ type: environmentConfigInput, description: 'The configuration of its VM.' }),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
    scope: t.string(scope),
  }),
  (call, { id, ...changes }) => updateEnvironment(call, id, changes),
)
actionOn(
  'archiveEnvironment',
  environment,
  'Archives an environment and deletes its VM. Errors: NOT_FOUND.',
  archiveEnvironment,
)
deletionOf('deleteEnvironment', 'Deletes an environment and deletes its VM. Errors: NOT_FOUND.', deleteEnvironment)

builder.subscriptionFields((t) => ({
  environmentEvents: t.field({
    type: environmentEventOrHeartbeat,
    description:
      'An environment’s events: those after the cursor (without a cursor, its current state), then live ones, until it is archived or deleted. Errors: NOT_FOUND.',
    args: {
      environmentId: t.arg.id({ required: true, description: 'The environment.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { environmentId, after }, call) =>
      withHeartbeats(await followEnvironment(call, environmentId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

/** Memories in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { always } from '../words.ts'
import { agentType } from './agents.ts'
import { sessionType } from './sessions.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followMemories, memoryEventTypes, type MemoryEvent } from '#src/resources/agents/memories/events.ts'
import { memoryCategories, type Memory, type MemoryActorType } from '#src/resources/agents/memories/rows.ts'
import { getMemorySettings, updateMemorySettings, type MemorySettings } from '#src/resources/agents/memories/spaces.ts'
import {
  createMemory,
  deleteMemory,
  findMemories,
  getMemory,
  pageMemories,
  updateMemory,
} from '#src/resources/agents/memories.ts'

const memoryCategory = enumOf('MemoryCategory', 'What kind of thing a memory is.', memoryCategories)
const memoryActorType = enumOf('MemoryActorType', 'Who wrote a memory.', {
  user: 'A person.',
  agent: 'An agent, by its tool `remember`.',
} satisfies Record<MemoryActorType, string>)

const memoryActor = builder.objectRef<Memory>('MemoryActor').implement({
  description: 'Who wrote a memory first.',
  fields: (t) => ({
    type: t.field({
      type: memoryActorType,
      description: 'A person or an agent.',
      resolve: ({ actorType }) => actorType,
    }),
    id: t.id({
      description: 'The id of the person or the agent.',
      resolve: ({ actorType, actorId }) => encodeId(actorType, actorId),
    }),
    user: t.field({
      type: userType,
      nullable: true,
      description: 'The person who wrote it, or in whose session the agent did.',
      resolve: ({ authorUserId }) => authorUserId,
    }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent; null for a person, and for one that is deleted or not the caller’s.',
      resolve: ({ actorType, actorId }) => (actorType === 'agent' ? actorId : null),
    }),
  }),
})

/** A memory. */
export const memoryType = nodeOf('Memory', findMemories)

const categoryMeaning = 'What kind of thing it is.'
builder.objectType(memoryType, {
  description:
    'A short text that a person keeps for their agents, or that an organization shares with all of its members.',
  fields: (t) => ({
    type: t.string(always('memory')),
    body: t.exposeString('body', { description: 'The text: 1 to 10,000 characters.' }),
    category: t.field({
      type: memoryCategory,
      nullable: true,
      description: categoryMeaning,
      resolve: ({ category }) => category,
    }),
    revision: t.exposeInt('revision', { description: 'Grows by one with each change, from 1.' }),
    idempotencyKey: t.exposeString('idempotencyKey', { description: 'The key that it was created with.' }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      nullable: true,
      description: 'The organization that shares it; null for a personal one.',
      id: ({ organizationId, ownerUserId }: Memory) => (ownerUserId === null ? organizationId : null),
    }),
    actor: t.field({ type: memoryActor, description: 'Who wrote it first.', resolve: (memory) => memory }),
    ...linkTo(t, 'sourceSession', {
      type: sessionType,
      nullable: true,
      description: 'The session in which an agent wrote it; null for one that a person wrote, or once it is deleted.',
      id: ({ sourceSessionId }: Memory) => sourceSessionId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

const searchMeaning =
  'Those that have each of these words, or a word that begins so, in any case and order; 500 characters at most.'
const memoryFilter = builder.inputType('MemoryFilter', {
  description: 'Narrows a list of memories.',
  fields: (t) => ({
    organizationId: t.id({
      description: 'An organization of the caller’s: what it shares, instead of what the caller keeps.',
    }),
    category: t.field({ type: memoryCategory, description: 'Those of this category.' }),
    search: t.string({ description: searchMeaning }),
  }),
})

const sharedMemoryFilter = builder.inputType('SharedMemoryFilter', {
  description: 'Narrows a list of the memories that an organization shares.',
  fields: (t) => ({
    category: t.field({ type: memoryCategory, description: 'Those of this category.' }),
    search: t.string({ description: searchMeaning }),
  }),
})

const memoryConnection = connectionOf('Memory', memoryType)
const ordered = builder.args((t) => ({
  order: t.field(newestFirst),
}))

const memorySettings = builder.objectRef<MemorySettings>('MemorySettings').implement({
  description: 'A person’s settings for memories in an organization.',
  fields: (t) => ({
    useMemories: t.exposeBoolean('useMemories', {
      description: 'Whether the person’s agents may keep and recall memories; true unless it was changed.',
    }),
  }),
})

builder.queryFields((t) => ({
  memory: t.field({
    type: memoryType,
    description: 'One memory: the caller’s own, or one that an organization of theirs shares. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getMemory(call, id),
  }),
  memories: t.field({
    type: memoryConnection,
    description: 'The caller’s memories, or those that an organization shares, newest first. Errors: FORBIDDEN.',
    args: {
      ...pageArguments,
      ...ordered,
      filter: t.arg({ type: memoryFilter, description: 'Narrows the list.' }),
    },
    resolve: (_, { filter, order, ...window }, call) => pageMemories(call, window, filter, order),
  }),
  memorySettings: t.field({
    type: memorySettings,
    description: 'The caller’s settings for memories.',
    resolve: (_, __, call) => getMemorySettings(call),
  }),
}))

type MemoriesGiven = Parameters<typeof pageMemories>[1] &
  OrderGiven & { filter?: Omit<NonNullable<Parameters<typeof pageMemories>[2]>, 'organizationId'> | null }
const memoriesOf = listOfOrganizations((call, { filter, order, ...window }: MemoriesGiven, organizationId) =>
  pageMemories(call, window, { ...filter, organizationId: encodeId('organization', organizationId) }, order),
)
builder.objectField(organizationType, 'memories', (t) =>
  t.field({
    type: memoryConnection,
    nullable: true,
    description: 'The memories that it shares with its members, newest first. Not available to API keys.',
    args: {
      ...pageArguments,
      ...ordered,
      filter: t.arg({ type: sharedMemoryFilter, description: 'Narrows the list.' }),
    },
    resolve: ({ id }, given, call) => memoriesOf(call, id, given),
  }),
)

builder.relayMutationField(
  'createMemory',
  {
    description: 'What `createMemory` takes.',
    inputFields: (t) => ({
      body: t.string({ required: true, description: 'The text: 1 to 10,000 characters.' }),
      category: t.field({ type: memoryCategory, description: categoryMeaning }),
      idempotencyKey: t.string({
        required: true,
        description:
          'A text of your own, 1 to 255 characters, for as long as the memory exists: the same one creates nothing twice.',
      }),
      organizationId: t.id({
        description: 'An organization of the caller’s that is to share it; a personal memory without it.',
      }),
    }),
  },
  {
    description:
      'Creates a memory, or finds the one that the same key created. Errors: INVALID_REQUEST, FORBIDDEN, IDEMPOTENCY_CONFLICT, RATE_LIMITED.',
    resolve: (_, { input }, call) => createMemory(call, input),
  },
  {
    description: 'What `createMemory` answers.',
    outputFields: (t) => ({
      memory: t.field({ type: memoryType, description: 'The memory.', resolve: (created) => created.memory }),
      isNew: t.boolean({
        description: 'Whether it was created now; false when the key had created it before.',
        resolve: (created) => created.isNew,
      }),
    }),
  },
)
mutationOf(
  'updateMemory',
  { field: 'memory', type: memoryType },
  'Changes a memory. One that an organization shares is changed by who wrote it, and by admins. Errors: NOT_FOUND, MEMORY_REVISION_STALE, NOT_PERMITTED_FOR_ROLE, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    body: t.string({ description: 'The text: 1 to 10,000 characters.' }),
    category: t.field({ type: memoryCategory, description: 'What kind of thing it is; null for none.' }),
    revision: t.int({ required: true, description: 'The revision that is changed: the latest.' }),
  }),
  (call, { id, ...changes }) => updateMemory(call, id, changes),
)
deletionOf(
  'deleteMemory',
  'Deletes a memory. Errors: NOT_FOUND, MEMORY_REVISION_STALE, NOT_PERMITTED_FOR_ROLE.',
  (call, which: { id: string; revision: number }) => deleteMemory(call, which),
  (t) => ({
    ...idField(t),
    revision: t.int({ required: true, description: 'The revision that is deleted: the latest.' }),
  }),
)
mutationOf(
  'updateMemorySettings',
  { field: 'memorySettings', type: memorySettings, description: 'The settings after the change.' },
  'Changes the caller’s settings for memories. What is kept stays when they are switched off.',
  (t) => ({
    useMemories: t.boolean({ required: true, description: 'Whether their agents may keep and recall memories.' }),
  }),
  (call, settings) => updateMemorySettings(call, settings),
)

const memoryEvent = builder.objectRef<MemoryEvent>('MemoryEvent').implement({
  description: 'Something that happened to a memory.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'memoryId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    ...linkTo(t, 'memory', {
      type: memoryType,
      description: 'The memory as it is now; null once it is deleted.',
      id: ({ memoryId }: MemoryEvent) => memoryId,
    }),
    type: t.field({
      type: enumOf('MemoryEventType', 'What happened to a memory.', memoryEventTypes),
      description: 'What happened.',
      resolve: ({ type }) => type,
    }),
    revision: t.exposeInt('revision', { description: 'Its revision then.' }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const memoryEventOrHeartbeat = builder.unionType('MemoryEventOrHeartbeat', {
  description: 'An event of a memory, or a heartbeat.',
  types: [memoryEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  memoryEvents: t.field({
    type: memoryEventOrHeartbeat,
    description:
      'What happens to the caller’s memories, or to those that an organization shares: after the cursor (without one, from now on). Errors: FORBIDDEN.',
    args: {
      organizationId: t.arg.id({
        description: 'An organization of the caller’s: what it shares, instead of what the caller keeps.',
      }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { organizationId, after }, call) =>
      withHeartbeats(await followMemories(call, organizationId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

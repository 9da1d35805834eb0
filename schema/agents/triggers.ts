/** Triggers in GraphQL. */
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf, times, timesIfAny } from '../nodes.ts'
import { listOf, organizationOf, queryOf } from '../nouns.ts'
import { pageArguments } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { always } from '../words.ts'
import { agentType } from './agents.ts'
import { agentReferenceType } from './deployments/agent-references.ts'
import { startAgentInput, startDeploymentInput } from './deployments/parts.ts'
import { deploymentType } from './deployments.ts'
import type { PageWindow } from '#src/platform/pages.ts'
import { eventNames } from '#src/resources/agents/triggers/events.ts'
import { authorAssociations, type TriggerFilters } from '#src/resources/agents/triggers/rows.ts'
import {
  createTrigger,
  deleteTrigger,
  pageTriggersOfEach,
  triggerReads,
  updateTrigger,
} from '#src/resources/agents/triggers.ts'

/** The events that a trigger can name. */
const triggerEvent = enumOf(
  'TriggerEvent',
  'An event of a repository, in GitHub’s words.',
  Object.fromEntries(
    eventNames.map((name) => [name, name.includes('.') ? `The event \`${name}\`.` : `Every action of \`${name}\`.`]),
  ),
)
const association = enumOf(
  'AuthorAssociation',
  'What the author of a text is to the repository, in GitHub’s words.',
  Object.fromEntries(authorAssociations.map((word) => [word, `GitHub’s \`${word}\`.`])),
)

const filtersType = builder.objectRef<TriggerFilters>('TriggerFilters').implement({
  description: 'Which of its events start something. A filter concerns the events that have what it looks at.',
  fields: (t) => ({
    branches: t.exposeStringList('branches', {
      nullable: true,
      description: 'Patterns of the branch that was pushed to, or that a pull request is for; null for all.',
    }),
    paths: t.exposeStringList('paths', {
      nullable: true,
      description: 'Patterns of the files that a push changed; null for all.',
    }),
    labels: t.exposeStringList('labels', {
      nullable: true,
      description: 'Labels, one of which an issue or pull request has, or was just given; null for all.',
    }),
    commentPrefix: t.exposeString('comment_prefix', {
      nullable: true,
      description: 'How a comment or review begins; null for all.',
    }),
    allowForks: t.exposeBoolean('allow_forks', { description: 'Whether code of forks counts.' }),
    allowBots: t.exposeBoolean('allow_bots', { description: 'Whether events that bots caused count.' }),
    authorAssociations: t.field({
      type: [association],
      description: 'Whose texts count: those of other authors start nothing.',
      resolve: (filters) => filters.author_associations,
    }),
  }),
})
const pattern = '`*` is any characters but a slash, `**` between slashes any number of folders.'
const filtersInput = builder.inputType('TriggerFiltersInput', {
  description: 'Which of its events start something. A filter concerns the events that have what it looks at.',
  fields: (t) => ({
    branches: t.stringList({ description: `Patterns of branches, ${triggerLimits.patternsMax} at most: ${pattern}` }),
    paths: t.stringList({
      description: `Patterns of files that a push changed, ${triggerLimits.patternsMax} at most: ${pattern}`,
    }),
    labels: t.stringList({ description: `Labels, ${triggerLimits.patternsMax} at most.` }),
    commentPrefix: t.string({ description: 'How a comment or review begins.' }),
    allowForks: t.boolean({ description: 'Whether code of forks counts; false by default.' }),
    allowBots: t.boolean({ description: 'Whether events that bots caused count; false by default.' }),
    authorAssociations: t.field({
      type: [association],
      description: 'Whose texts count; those of `OWNER`, `MEMBER` and `COLLABORATOR` by default.',
    }),
  }),
})

/** A trigger. */
export const triggerType = nodeOf('Trigger', triggerReads.find)

builder.objectType(triggerType, {
  description: 'Events of a repository at the code host that start sessions on behalf of its owner.',
  fields: (t) => ({
    type: t.string(always('trigger')),
    name: t.exposeString('name', { nullable: true, description: 'Your own name for it; null for none.' }),
    ...linkTo(t, 'agent', { type: agentType, description: 'The agent that it starts.', id: ({ agentId }) => agentId }),
    agentReference: t.field({
      type: agentReferenceType,
      description: 'The agent, in the version that it is pinned to.',
      resolve: ({ agentId, agentVersion }) => ({ agentId, version: agentVersion }),
    }),
    ...linkTo(t, 'deployment', {
      type: deploymentType,
      nullable: true,
      description: 'Says where its sessions work, what they may use, and what they are told first; null for none.',
      id: ({ deploymentId }) => deploymentId,
    }),
    repo: t.exposeString('repo', { description: 'The repository: `owner/name`.' }),
    events: t.field({
      type: [triggerEvent],
      description: 'The events that it is for.',
      resolve: ({ events }) => events,
    }),
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether it starts anything.' }),
    filters: t.field({
      type: filtersType,
      description: 'Which of the events start something, with every default filled in.',
      resolve: ({ filters }) => filters,
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      description: 'The person on whose behalf it starts sessions.',
      id: ({ ownerUserId }) => ownerUserId,
    }),
    ...organizationOf(t, 'The organization it belongs to.'),
    eventCursor: t.string({
      description: 'Pass it as `after` to `triggerFireEvents` to follow what is decided from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    ...timesIfAny(t, { lastFiredAt: 'When it last started a session.' }),
    ...times(t, 'createdAt', 'updatedAt'),
  }),
})

const triggerFilter = builder.inputType('TriggerFilter', {
  description: 'Narrows a list of triggers.',
  fields: (t) => ({
    agentId: t.id({ description: 'Only those that start this agent.' }),
    deploymentId: t.id({ description: 'Only those that name this deployment.' }),
  }),
})
queryOf('Trigger', triggerType, triggerReads.get)
const triggerConnection = listOf('Trigger', triggerType, triggerReads.page, {
  description: 'The caller’s triggers, newest first.',
  inOrganization: 'The caller’s triggers in it, newest first. Not available to API keys.',
  filter: triggerFilter,
})

const triggersOfAgent = pagesOfEach((call, ids, window: PageWindow) => pageTriggersOfEach(call, 'agent', ids, window))
builder.objectField(agentType, 'triggers', (t) =>
  t.field({
    type: triggerConnection,
    nullable: true,
    description: 'The caller’s triggers that start it, newest first. Not available to API keys.',
    args: pageArguments,
    resolve: ({ id }, window, call) => triggersOfAgent(call, id, window),
  }),
)
const triggersOfDeployment = pagesOfEach((call, ids, window: PageWindow) =>
  pageTriggersOfEach(call, 'deployment', ids, window),
)
builder.objectField(deploymentType, 'triggers', (t) =>
  t.field({
    type: triggerConnection,
    nullable: true,
    description: 'The triggers that name it, newest first.',
    args: pageArguments,
    resolve: ({ id }, window, call) => triggersOfDeployment(call, id, window),
  }),
)

const trigger = { field: 'trigger', type: triggerType }
const refusals =
  'INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, PROVIDER_NOT_CONNECTED, PROVIDER_TOKEN_INVALID, RATE_LIMITED, UPSTREAM_ERROR, TIMEOUT'
const enabled = { description: 'Whether it starts anything; true by default.' }
const nameField = '1 to 255 characters, and none of your other triggers may have it.'
const deploymentField =
  'Says where its sessions work, which vaults they may use, and what they are told first, with its kickoff.'
mutationOf(
  'createTrigger',
  trigger,
  `Creates a trigger for a repository that the caller’s connected account may write to. Errors: ${refusals}.`,
  (t) => ({
    name: t.string({ description: `${nameField} None by default.` }),
    agent: t.field({ type: startAgentInput, required: true, description: 'The agent that it starts.' }),
    deployment: t.field({ type: startDeploymentInput, description: deploymentField }),
    repo: t.string({ required: true, description: 'The repository: `owner/name`.' }),
    events: t.field({ type: [triggerEvent], required: true, description: 'The events that it is for.' }),
    filters: t.field({ type: filtersInput, description: 'Which of the events start something.' }),
    enabled: t.boolean(enabled),
  }),
  createTrigger,
)
mutationOf(
  'updateTrigger',
  trigger,
  `Changes the given fields; filters are replaced as a whole. Errors: ${refusals}.`,
  (t) => ({
    ...idField(t),
    name: t.string({ description: nameField }),
    agent: t.field({ type: startAgentInput, description: 'The agent that it starts.' }),
    deployment: t.field({ type: startDeploymentInput, description: `${deploymentField} Null for none.` }),
    repo: t.string({ description: 'The repository: `owner/name`.' }),
    events: t.field({ type: [triggerEvent], description: 'The events that it is for.' }),
    filters: t.field({
      type: filtersInput,
      description: 'Which of the events start something; null for the defaults.',
    }),
    enabled: t.boolean({ description: 'Whether it starts anything.' }),
  }),
  (call, { id, ...changes }) => updateTrigger(call, id, changes),
)
deletionOf(
  'deleteTrigger',
  'Deletes a trigger with its fires; sessions that it started stay. Errors: NOT_FOUND.',
  deleteTrigger,
)

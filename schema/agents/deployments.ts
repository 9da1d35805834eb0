/** Deployments in GraphQL. The records of their runs are in deployments/runs.ts. */
import { createdFields, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { nodeColumns } from '../columns.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf, nodesThere } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { always } from '../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  archiveDeployment,
  createDeployment,
  deleteDeployment,
  findDeployments,
  getDeployment,
  pageDeployments,
  pageDeploymentsOfEach,
  pauseDeployment,
  resumeDeployment,
  updateDeployment,
} from '#src/resources/agents/deployments.ts'
import { environmentOf } from '#src/resources/agents/deployments/rows.ts'
import { pageSessionsOfEach, type SessionReading } from '#src/resources/agents/sessions.ts'
import { budgetOf } from '#src/resources/agents/sessions/usage.ts'
import { agentType } from './agents.ts'
import { agentReferenceType } from './deployments/agent-references.ts'
import { kickoffInput, kickoffType } from './deployments/kickoffs.ts'
import {
  deploymentScheduleInput,
  deploymentStatus,
  pausedReason,
  startAgentInput,
  startEnvironment,
  startEnvironmentInput,
} from './deployments/parts.ts'
import { sessionColumns } from './sessions/columns.ts'
import { budgetInput, sessionEventInput } from './sessions/inputs.ts'
import { budget } from './sessions/parts.ts'
import { sessionConnection } from './sessions.ts'
import { vaultType } from './vaults.ts'

/** A deployment. */
export const deploymentType = nodeOf('Deployment', findDeployments)

builder.objectType(deploymentType, {
  description: 'An agent with everything that a run of it needs: where it works, vaults, and what it is told.',
  fields: (t) => ({
    type: t.string(always('deployment')),
    name: t.exposeString('name', { description: 'Its name, which its sessions have as their title.' }),
    description: t.exposeString('description', { nullable: true, description: 'A description of its purpose.' }),
    ...linkTo(t, 'agent', { type: agentType, description: 'The agent that it runs.', id: ({ agentId }) => agentId }),
    agentReference: t.field({
      type: agentReferenceType,
      description: 'The agent, in the version that it is pinned to.',
      resolve: ({ agentId, agentVersion }) => ({ agentId, version: agentVersion }),
    }),
    environment: t.field({
      type: startEnvironment,
      description: 'Where its sessions work.',
      resolve: (deployment) => environmentOf(deployment),
    }),
    environmentId: t.id({
      nullable: true,
      description: 'The environment that its sessions share; null when they share none.',
      resolve: ({ environmentId }) => environmentId && encodeId('environment', environmentId),
    }),
    vaultIds: t.idList({
      description: 'The vaults whose credentials its sessions may use.',
      resolve: ({ vaultIds }) => vaultIds.map((id) => encodeId('vault', id)),
    }),
    vaults: t.field({
      type: [vaultType],
      nullable: true,
      description: 'The same vaults as objects; without deleted ones.',
      resolve: ({ vaultIds }, _, call) => nodesThere(vaultType, vaultIds, call),
    }),
    kickoff: t.field({
      type: kickoffType,
      description: 'What each session is told first.',
      resolve: ({ kickoff }) => kickoff,
    }),
    wireInitialEvents: t.field({
      type: ['RestObject'],
      description: 'The events of the kickoff, in the form that REST shows.',
      resolve: ({ kickoff: { events } }) => [...events],
    }),
    status: t.field({ type: deploymentStatus, description: 'Its status.', resolve: ({ status }) => status }),
    pausedReason: t.field({
      type: pausedReason,
      nullable: true,
      description: 'Why it is paused; null when it is not.',
      resolve: (deployment) => deployment.pausedReason,
    }),
    metadata: t.expose('metadata', {
      type: 'TextMap',
      description: 'Your own labels, which its sessions get: up to 16 pairs of key and text.',
    }),
    budget: t.field({
      type: budget,
      nullable: true,
      description: 'The spending limit of each of its sessions.',
      resolve: (deployment) => budgetOf(deployment),
    }),
    resources: t.field({ type: ['Reserved'], description: 'Always empty.', resolve: () => [] }),
    lastRunAt: t.expose('lastRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its newest session started.',
    }),
    runCursor: t.string({
      description: 'Pass it as `after` to `deploymentRunEvents` to follow its runs from here on.',
      resolve: ({ runPosition }) => String(runPosition),
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      description: 'The person on whose behalf it runs.',
      id: ({ ownerUserId }) => ownerUserId,
    }),
    ...organizationOf(t, 'The organization it belongs to.'),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const deploymentFilter = builder.inputType('DeploymentFilter', {
  description: 'Narrows a list of deployments; all conditions must hold.',
  fields: (t) => ({
    agentId: t.id({ description: 'Only those of this agent.' }),
    status: t.field({ type: deploymentStatus, description: 'Only those with this status, without archived ones.' }),
    includeArchived: t.boolean({ description: 'Whether to include archived ones; false by default.' }),
    text: t.string({ description: 'Only those with this piece of text in their name, in upper or lower case.' }),
    ...createdFields(t),
  }),
})
const deploymentConnection = connectionOf('Deployment', deploymentType)
const deploymentArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: deploymentFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  deployment: t.field({
    type: deploymentType,
    description: 'One deployment. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getDeployment(call, id),
  }),
  deployments: t.field({
    type: deploymentConnection,
    description: 'The caller’s deployments, newest first. Errors: INVALID_REQUEST.',
    args: deploymentArguments,
    resolve: (_, { filter, order, ...window }, call) => pageDeployments(call, window, filter, order),
  }),
}))

type DeploymentsGiven = Parameters<typeof pageDeployments>[1] &
  OrderGiven & { filter?: Parameters<typeof pageDeployments>[2] }
const deploymentsOfOrganization = listOfOrganizations((call, { filter, order, ...window }: DeploymentsGiven) =>
  pageDeployments(call, window, filter, order),
)
builder.objectField(organizationType, 'deployments', (t) =>
  t.field({
    type: deploymentConnection,
    nullable: true,
    description: 'The caller’s deployments in it, newest first. Not available to API keys.',
    args: deploymentArguments,
    resolve: ({ id }, given, call) => deploymentsOfOrganization(call, id, given),
  }),
)

type OfEachGiven = Parameters<typeof pageDeploymentsOfEach>[2] & { organizationId: string }
const deploymentsOfAgent = pagesOfEach((call, ids, { organizationId, ...window }: OfEachGiven) =>
  pageDeploymentsOfEach(callIn(call, { id: organizationId }), ids, window),
)
builder.objectField(agentType, 'deployments', (t) =>
  t.field({
    type: deploymentConnection,
    nullable: true,
    description: 'The caller’s deployments of it, including archived ones, newest first. Not available to API keys.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call) => deploymentsOfAgent(call, id, { ...window, organizationId }),
  }),
)

type SessionsGiven = Parameters<typeof pageSessionsOfEach>[3] &
  OrderGiven &
  Pick<SessionReading, 'columns'> & { organizationId: string }
const sessionsOfDeployment = pagesOfEach((call, ids, { organizationId, order, columns, ...window }: SessionsGiven) =>
  pageSessionsOfEach(callIn(call, { id: organizationId }), 'deployment', ids, window, {
    direction: order,
    columns,
  }),
)
builder.objectField(deploymentType, 'sessions', (t) =>
  t.field({
    type: sessionConnection,
    nullable: true,
    description: 'The sessions that it started, including archived ones, newest first by default.',
    args: { ...pageArguments, order: t.arg(newestFirst) },
    resolve: ({ id, organizationId }, given, call, info) =>
      sessionsOfDeployment(call, id, { ...given, organizationId, columns: nodeColumns(info, sessionColumns) }),
  }),
)

type Fields = Parameters<Parameters<typeof mutationOf>[3]>[0]
const deployment = { field: 'deployment', type: deploymentType }
const name = { description: '1 to 255 characters.' }
const kickoff = { type: kickoffInput, description: 'What each session is told first.' }
const scheduleField =
  'When it starts by itself. It is one of its `schedules`: null deletes these, and another one replaces the only one.'
const fields = (t: Fields) => ({
  description: t.string({ description: 'A description of its purpose: at most 2048 characters.' }),
  environment: t.field({ type: startEnvironmentInput, description: 'Where its sessions work; nowhere by default.' }),
  environmentId: t.id({ description: 'The same as an existing `environment`, for Anthropic’s clients.' }),
  vaultIds: t.idList({
    description: `The vaults whose credentials its sessions may use, ${limits.sessionVaultsMax} at most.`,
  }),
  kickoff: t.field(kickoff),
  initialEvents: t.field({
    type: [sessionEventInput],
    extensions: { most: limits.initialEventsMax },
    description: 'The same as the events of `kickoff`, for Anthropic’s clients.',
  }),
  budget: t.field({ type: budgetInput, description: 'The spending limit of each of its sessions.' }),
  status: t.field({ type: deploymentStatus, description: '`PAUSED` keeps schedules and triggers from starting it.' }),
  resources: t.field({ type: ['Reserved'], description: 'Must be empty.' }),
  schedule: t.field({ type: deploymentScheduleInput, description: scheduleField }),
})
mutationOf(
  'createDeployment',
  deployment,
  'Creates a deployment. Errors: INVALID_REQUEST, INVALID_TEMPLATE, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, INVALID_CRON, INVALID_TIMEZONE, RATE_LIMITED.',
  (t) => ({
    name: t.string({ required: true, ...name }),
    agent: t.field({ type: startAgentInput, required: true, description: 'The agent that it runs.' }),
    ...fields(t),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
  }),
  createDeployment,
)
mutationOf(
  'updateDeployment',
  deployment,
  'Updates a deployment; omitted fields stay as they are, and so do sessions that have started. Errors: INVALID_REQUEST, INVALID_TEMPLATE, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, INVALID_CRON, INVALID_TIMEZONE, RATE_LIMITED.',
  (t) => ({
    ...idField(t),
    name: t.string(name),
    agent: t.field({ type: startAgentInput, description: 'The agent that it runs.' }),
    ...fields(t),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
  }),
  (call, { id, ...changes }) => updateDeployment(call, id, changes),
)
actionOn(
  'pauseDeployment',
  deployment,
  'Keeps schedules and triggers from starting a deployment. Errors: NOT_FOUND, RESOURCE_ARCHIVED.',
  pauseDeployment,
)
actionOn(
  'resumeDeployment',
  deployment,
  'Lets schedules and triggers start a deployment again; what they missed is not made up. Errors: NOT_FOUND, RESOURCE_ARCHIVED.',
  resumeDeployment,
)
actionOn(
  'archiveDeployment',
  deployment,
  'Archives a deployment: nothing starts it any more; its sessions go on. Errors: NOT_FOUND.',
  archiveDeployment,
)
deletionOf(
  'deleteDeployment',
  'Deletes a deployment with the records of its runs; its sessions stay. Errors: NOT_FOUND.',
  deleteDeployment,
)

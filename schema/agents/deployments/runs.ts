/** The records of deployments' runs in GraphQL. */
import { createdFields, idArguments } from '../../arguments.ts'
import { builder } from '../../builder.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { callIn } from '../../identity/organizations.ts'
import { linkTo, nodeOf } from '../../nodes.ts'
import { connectionOf, newestFirst, pageArguments } from '../../pages.ts'
import { pagesOfEach } from '../../pages-of-each.ts'
import { always } from '../../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import {
  findDeploymentRuns,
  followRuns,
  getDeploymentRun,
  pageDeploymentRuns,
  pageDeploymentRunsOfEach,
} from '#src/resources/agents/deployments/runs.ts'
import type { DeploymentRun } from '#src/resources/agents/deployments/rows.ts'
import { agentType } from '../agents.ts'
import { deploymentType } from '../deployments.ts'
import { sessionType } from '../sessions.ts'
import { runTrigger, runTriggerType, startError } from './parts.ts'
import { agentReferenceType } from './agent-references.ts'

/** The record of a run. */
export const deploymentRunType = nodeOf('DeploymentRun', findDeploymentRuns)

builder.objectType(deploymentRunType, {
  description: 'The record of a run of a deployment: exactly one of `session` and `error` is not null.',
  fields: (t) => ({
    type: t.string(always('deployment_run')),
    ...linkTo(t, 'deployment', {
      type: deploymentType,
      description: 'The deployment.',
      id: ({ deploymentId }) => deploymentId,
    }),
    ...linkTo(t, 'agent', { type: agentType, description: 'The agent.', id: ({ agentId }) => agentId }),
    agentReference: t.field({
      type: agentReferenceType,
      description: 'The agent in the version of the run.',
      resolve: ({ agentId, agentVersion }) => ({ agentId, version: agentVersion }),
    }),
    ...linkTo(t, 'session', {
      type: sessionType,
      nullable: true,
      description: 'The session that started; the object is null once it is deleted.',
      id: ({ sessionId }) => sessionId,
    }),
    error: t.field({
      type: startError,
      nullable: true,
      description: 'Why no session started.',
      resolve: ({ error }) => error,
    }),
    trigger: t.field({ type: runTrigger, description: 'What started it.', resolve: ({ trigger }) => trigger }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it started.' }),
  }),
})

const runFilter = builder.inputType('DeploymentRunFilter', {
  description: 'Narrows a list of runs; all conditions must hold.',
  fields: (t) => ({
    deploymentId: t.id({ description: 'Only those of this deployment.' }),
    hasError: t.boolean({ description: 'Only those that did not start a session, or only those that did.' }),
    triggerType: t.field({ type: runTriggerType, description: 'Only those that this started.' }),
    ...createdFields(t),
  }),
})
const runConnection = connectionOf('DeploymentRun', deploymentRunType)

builder.queryFields((t) => ({
  deploymentRun: t.field({
    type: deploymentRunType,
    description: 'The record of one run. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getDeploymentRun(call, id),
  }),
  deploymentRuns: t.field({
    type: runConnection,
    description: 'The records of the runs of the caller’s deployments. Errors: INVALID_REQUEST.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: runFilter, description: 'Narrows the list.' }),
      order: t.arg(newestFirst),
    },
    resolve: (_, { filter, order, ...window }, call) => pageDeploymentRuns(call, window, filter, order),
  }),
}))

type OfEachGiven = Parameters<typeof pageDeploymentRunsOfEach>[2] & { organizationId: string }
const runsOfDeployment = pagesOfEach((call, ids, { organizationId, ...window }: OfEachGiven) =>
  pageDeploymentRunsOfEach(callIn(call, { id: organizationId }), ids, window),
)
builder.objectField(deploymentType, 'runs', (t) =>
  t.field({
    type: runConnection,
    nullable: true,
    description: 'The records of its runs, newest first.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call) => runsOfDeployment(call, id, { ...window, organizationId }),
  }),
)

const runEvent = builder.objectRef<DeploymentRun>('DeploymentRunEvent').implement({
  description: 'A run of a deployment that has started, or could not.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    runId: t.id({ description: 'Which run.', resolve: ({ id }) => encodeId('deploymentRun', id) }),
    run: t.field({ type: deploymentRunType, nullable: true, description: 'Its record.', resolve: (run) => run }),
  }),
})
const runEventOrHeartbeat = builder.unionType('DeploymentRunEventOrHeartbeat', {
  description: 'A run of a deployment, or a heartbeat.',
  types: [runEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  deploymentRunEvents: t.field({
    type: runEventOrHeartbeat,
    description:
      'The runs of a deployment as they start: those after the cursor (without a cursor, only new ones), until it is deleted. Errors: NOT_FOUND.',
    args: {
      deploymentId: t.arg.id({ required: true, description: 'The deployment.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { deploymentId, after }, call) => withHeartbeats(await followRuns(call, deploymentId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

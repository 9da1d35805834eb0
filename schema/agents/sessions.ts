/** Sessions in GraphQL. Their logs are session-events.ts. */
import { createdFields, idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { agentType } from './agents.ts'
import { environmentType } from './environments.ts'
import { sessionAgent } from './sessions/agent.ts'
import { budgetInput, sessionAgentChangeInput, sessionAgentInput, sessionEventInput } from './sessions/inputs.ts'
import {
  budget,
  outcomeEvaluation,
  sessionActivity,
  sessionKind,
  sessionSource,
  sessionStats,
  sessionStatus,
  sessionUsage,
  stopReason,
} from './sessions/parts.ts'
import { vaultType } from './vaults.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { deleteSession } from '#src/resources/agents/sessions/deletion.ts'
import { activityOf, markSeen } from '#src/resources/agents/sessions/reading.ts'
import { wireAgent } from '#src/resources/agents/sessions/rows.ts'
import { setSharing } from '#src/resources/agents/sessions/shared-sessions.ts'
import { followSessionState, type SessionState } from '#src/resources/agents/sessions/streams.ts'
import { budgetOf, statsOf, usageOf } from '#src/resources/agents/sessions/usage.ts'
import {
  archiveSession,
  createSession,
  findSessions,
  getSession,
  pageSessions,
  updateSession,
} from '#src/resources/agents/sessions.ts'

/** A session. */
export const sessionType = nodeOf('Session', '`sesn_` and 26 characters.', findSessions)

builder.objectType(sessionType, {
  description: 'An agent at work, with the log of everything that happened.',
  fields: (t) => ({
    type: t.string({ description: 'Always `session`.', resolve: () => 'session' }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    agentId: t.id({ description: 'The agent.', resolve: (session) => String(wireAgent(session)['id']) }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent as it is now; null for one of Berth’s own.',
      resolve: ({ agentId }) => agentId,
    }),
    definition: t.field({
      type: sessionAgent,
      description: 'The agent as it was when the session began, with what was replaced of it.',
      resolve: (session) => session,
    }),
    wireAgent: t.field({
      type: 'RestObject',
      description: 'The same as REST shows it.',
      resolve: (session) => wireAgent(session),
    }),
    environmentId: t.id({
      nullable: true,
      description: 'Where it works; null for words alone.',
      resolve: ({ environmentId }) => environmentId && encodeId('environment', environmentId),
    }),
    environment: t.field({
      type: environmentType,
      nullable: true,
      description: 'The same environment; null for words alone.',
      resolve: ({ environmentId }) => environmentId,
    }),
    deploymentId: t.id({
      nullable: true,
      description: 'The deployment that began it.',
      resolve: ({ deploymentId }) => deploymentId && encodeId('deployment', deploymentId),
    }),
    kind: t.field({ type: sessionKind, description: 'What it works with.', resolve: ({ kind }) => kind }),
    source: t.field({ type: sessionSource, description: 'Who began it.', resolve: ({ source }) => source }),
    status: t.field({ type: sessionStatus, description: 'Where it is.', resolve: ({ status }) => status }),
    stopReason: t.field({
      type: stopReason,
      nullable: true,
      description: 'Why it is idle; null while it is not.',
      resolve: (session) => session.stopReason,
    }),
    vaultIds: t.idList({
      description: 'The vaults whose credentials it may use.',
      resolve: ({ vaultIds }) => vaultIds.map((id) => encodeId('vault', id)),
    }),
    vaults: t.field({
      type: [vaultType],
      nullable: { list: false, items: true },
      description: 'The same vaults; null for one that was deleted.',
      resolve: ({ vaultIds }) => vaultIds,
    }),
    metadata: t.expose('metadata', { type: 'TextMap', description: 'Up to 16 pairs of text of your own.' }),
    resources: t.field({ type: ['Reserved'], description: 'Always empty.', resolve: () => [] }),
    outcomeEvaluations: t.field({
      type: [outcomeEvaluation],
      description: 'What it was given to reach, in order.',
      resolve: ({ outcomes }) => outcomes,
    }),
    budget: t.field({ type: budget, nullable: true, description: 'What it may spend.', resolve: budgetOf }),
    usage: t.field({ type: sessionUsage, description: 'What it used so far.', resolve: usageOf }),
    stats: t.field({ type: sessionStats, description: 'How long it has been there.', resolve: statsOf }),
    shared: t.boolean({
      description: 'Whether everybody with the link may read its transcript.',
      resolve: ({ sharedAt }) => sharedAt !== null,
    }),
    sharedAt: t.expose('sharedAt', { type: 'DateTime', nullable: true, description: 'Since when.' }),
    activity: t.field({ type: sessionActivity, description: 'What happened lately.', resolve: activityOf }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `sessionEvents` to hear what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When something happened in it last.' }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const archivedFilter = enumOf('ArchivedFilter', 'Whether a list shows what is archived.', {
  exclude: 'Not.',
  include: 'Too.',
  only: 'Nothing else.',
})
const sessionFilter = builder.inputType('SessionFilter', {
  description: 'Which sessions a list shows; conditions hold together.',
  fields: (t) => ({
    agentId: t.id({ description: 'Those of this agent.' }),
    agentVersion: t.int({ description: 'With `agentId`: those that began with this version of it.' }),
    deploymentId: t.id({ description: 'Those that this deployment began.' }),
    archived: t.field({ type: archivedFilter, description: 'Whether archived ones are shown; not without it.' }),
    includeArchived: t.boolean({ description: 'The same as `archived: INCLUDE`.' }),
    statuses: t.field({ type: [sessionStatus], description: 'Those that are in one of these.' }),
    ...createdFields(t),
  }),
})

const sessionConnection = connectionOf('Session', sessionType)
const sessionOrder = orderOf('Session')
builder.objectField(agentType, 'sessions', (t) =>
  t.field({
    type: sessionConnection,
    description: 'The caller’s sessions with it, archived ones too, newest first.',
    args: pageArguments,
    resolve: ({ id }, window, call) =>
      pageSessions(call, window, { agentId: encodeId('agent', id), archived: 'include' }),
  }),
)

builder.queryFields((t) => ({
  session: t.field({
    type: sessionType,
    description: 'One session. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getSession(call, id),
  }),
  sessions: t.field({
    type: sessionConnection,
    description: 'The caller’s sessions. Errors: INVALID_REQUEST.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: sessionFilter, description: 'Which ones.' }),
      orderBy: t.arg({ type: sessionOrder, description: 'Newest first without it.' }),
    },
    resolve: (_, { filter, orderBy, ...window }, call) => pageSessions(call, window, filter, orderBy?.direction),
  }),
}))

const session = { field: 'session', type: sessionType }
mutationOf(
  'createSession',
  session,
  'Begins a session. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    agentId: t.id({ description: 'The agent as it is now; or say more by `agent`.' }),
    agent: t.field({ type: sessionAgentInput, description: 'The agent, instead of `agentId`.' }),
    environmentId: t.id({ description: 'Where it works; words alone without it.' }),
    vaultIds: t.idList({ description: `Vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.` }),
    title: t.string({ description: `At most ${limits.nameLength} characters.` }),
    metadata: t.field({ type: 'TextMap', description: 'Up to 16 pairs of text.' }),
    budget: t.field({ type: budgetInput, description: 'What it may spend.' }),
    initialEvents: t.field({
      type: [sessionEventInput],
      extensions: { most: limits.initialEventsMax },
      description: `What it begins with: at most ${limits.initialEventsMax} messages and outcomes.`,
    }),
    resources: t.field({ type: ['Reserved'], description: 'Must be empty.' }),
  }),
  (call, _, wired) => createSession(call, wired as Parameters<typeof createSession>[1]), // its ids are texts by their types
)
mutationOf(
  'updateSession',
  session,
  'Changes a session from its next turn on: what is not given stays. Errors: INVALID_REQUEST, NOT_FOUND, SESSION_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_TOOL.',
  (t) => ({
    ...idField(t),
    title: t.string({ description: `At most ${limits.nameLength} characters.` }),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; null as a value deletes its key.' }),
    budget: t.field({ type: budgetInput, description: 'What it may spend; null for no limit.' }),
    vaultIds: t.idList({ description: `Vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.` }),
    agent: t.field({ type: sessionAgentChangeInput, description: 'What is new of its agent.' }),
  }),
  (call, { id }, wired) => updateSession(call, id, wired),
)
actionOn(
  'archiveSession',
  session,
  'Archives a session, which ends it for ever. Errors: NOT_FOUND, SESSION_RUNNING.',
  archiveSession,
)
deletionOf(
  'deleteSession',
  'Deletes a session with its log; one at work is interrupted first. Errors: NOT_FOUND.',
  deleteSession,
)
mutationOf(
  'setSessionSharing',
  session,
  'Shares a session’s transcript with everybody who has the link, or ends that. Errors: NOT_FOUND, URL_ONLY_ATTACHMENT.',
  (t) => ({ ...idField(t), shared: t.boolean({ required: true, description: 'Whether it is shared.' }) }),
  (call, { id, shared }) => setSharing(call, id, shared),
)
mutationOf(
  'markSessionSeen',
  session,
  'Says how far the owner has read; back it never goes. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    throughEventId: t.id({ required: true, description: 'The last event that was read.' }),
  }),
  (call, { id, throughEventId }) => markSeen(call, id, throughEventId),
)

const sessionState = builder.objectRef<SessionState>('SessionState').implement({
  description: 'A session as it became.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'session' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this state.',
      resolve: ({ position }) => String(position),
    }),
    session: t.field({ type: sessionType, description: 'The session.', resolve: (state) => state.session }),
  }),
})
const stateOrHeartbeat = builder.unionType('SessionStateOrHeartbeat', {
  description: 'A state of a session, or a sign of life.',
  types: [sessionState, heartbeat],
})

builder.subscriptionFields((t) => ({
  sessionState: t.field({
    type: stateOrHeartbeat,
    description:
      'A session’s state whenever it changed: first as it is now, unless nothing happened after the cursor, then live, until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: { ...idArguments, after: t.arg.string({ description: 'The cursor of the last state or event seen.' }) },
    subscribe: async (_, { id, after }, call) => withHeartbeats(await followSessionState(call, id, after)),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))

/** Sessions in GraphQL. Their logs are in session-events.ts. */
import { sessionResourceLimits } from '#src/resources/agents/sessions/resources/limits.ts'
import { idArguments } from '../arguments.ts'
import { builder, type Context } from '../builder.ts'
import { nodeColumns } from '../columns.ts'
import { always } from '../words.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { actionOn, deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf, nodesThere } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { agentType } from './agents.ts'
import { environmentType } from './environments.ts'
import { sessionAgent } from './sessions/agent.ts'
import { sessionColumns } from './sessions/columns.ts'
import { sessionFilter } from './sessions/filter.ts'
import { budgetInput, sessionAgentChangeInput, sessionAgentInput, sessionEventInput } from './sessions/inputs.ts'
import {
  budget,
  outcomeEvaluation,
  sessionActivity,
  sessionKind,
  sessionSourceKind,
  sessionStats,
  sessionStatus,
  sessionUsage,
  stopReason,
} from './sessions/parts.ts'
import { sessionResourceInput } from './sessions/resources/inputs.ts'
import { vaultType } from './vaults.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { Parent } from '#src/resources/agents/parent-filters.ts'
import { deleteSession } from '#src/resources/agents/sessions/deletion.ts'
import { activityOf, markSeen } from '#src/resources/agents/sessions/reading.ts'
import { wireAgent } from '#src/resources/agents/sessions/rows.ts'
import { setSharing } from '#src/resources/agents/sessions/shared-sessions.ts'
import { budgetOf, statsOf, usageOf } from '#src/resources/agents/sessions/usage.ts'
import {
  archiveSession,
  createSession,
  findSessions,
  getSession,
  pageSessions,
  pageSessionsOfEach,
  type SessionReading,
  updateSession,
} from '#src/resources/agents/sessions.ts'

/** A session. */
export const sessionType = nodeOf('Session', findSessions)

builder.objectType(sessionType, {
  description: 'A conversation with an agent at work, with the log of everything that happens in it.',
  fields: (t) => ({
    type: t.string(always('session')),
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
      description: 'The agent as it was when the session started, with the overrides of the session.',
      resolve: (session) => session,
    }),
    wireAgent: t.field({
      type: 'RestObject',
      description:
        'The agent as it was when the session started, with the overrides of the session, in the form that REST shows.',
      resolve: (session) => wireAgent(session),
    }),
    ...linkTo(t, 'environment', {
      type: environmentType,
      nullable: true,
      description: 'The environment it works in; null when it has none.',
      id: ({ environmentId }) => environmentId,
    }),
    kind: t.field({ type: sessionKind, description: 'The kind of session.', resolve: ({ kind }) => kind }),
    sourceKind: t.field({
      type: sessionSourceKind,
      description: 'What kind of thing started it.',
      resolve: ({ source }) => source,
    }),
    status: t.field({ type: sessionStatus, description: 'Its current status.', resolve: ({ status }) => status }),
    stopReason: t.field({
      type: stopReason,
      nullable: true,
      description: 'Why it is idle; null when it is not.',
      resolve: (session) => session.stopReason,
    }),
    vaultIds: t.idList({
      description: 'The vaults whose credentials it may use.',
      resolve: ({ vaultIds }) => vaultIds.map((id) => encodeId('vault', id)),
    }),
    vaults: t.field({
      type: [vaultType],
      nullable: true,
      description: 'The vaults whose credentials it may use, as objects; without deleted ones.',
      resolve: ({ vaultIds }, _, call) => nodesThere(vaultType, vaultIds, call),
    }),
    metadata: t.expose('metadata', {
      type: 'TextMap',
      description: 'Your own labels: up to 16 pairs of key and text.',
    }),
    outcomeEvaluations: t.field({
      type: [outcomeEvaluation],
      description: 'The outcomes it was given, in order.',
      resolve: ({ outcomes }) => outcomes,
    }),
    budget: t.field({ type: budget, nullable: true, description: 'Its spending limit.', resolve: budgetOf }),
    usage: t.field({ type: sessionUsage, description: 'What it has used so far.', resolve: usageOf }),
    stats: t.field({ type: sessionStats, description: 'How long it has existed and worked.', resolve: statsOf }),
    isShared: t.boolean({
      description: 'Whether anyone with the link may read its transcript.',
      resolve: ({ sharedAt }) => sharedAt !== null,
    }),
    sharedAt: t.expose('sharedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when anyone with the link may read its transcript; null when nobody may.',
    }),
    activity: t.field({ type: sessionActivity, description: 'A summary of recent activity.', resolve: activityOf }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `sessionEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it started.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When something last happened in it.' }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

/** A page of sessions. */
export const sessionConnection = connectionOf('Session', sessionType)
const sessionArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: sessionFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}
type SessionsGiven = Parameters<typeof pageSessions>[1] &
  OrderGiven &
  Pick<SessionReading, 'columns'> & { filter?: Parameters<typeof pageSessions>[2] }
const readSessions = (call: Context, { filter, order, columns, ...window }: SessionsGiven) =>
  pageSessions(call, window, filter, { direction: order, columns })
const sessionsOfOrganization = listOfOrganizations(readSessions)
builder.objectField(organizationType, 'sessions', (t) =>
  t.field({
    type: sessionConnection,
    nullable: true,
    description: 'The caller’s sessions in it, newest first. Not available to API keys.',
    args: sessionArguments,
    resolve: ({ id }, given, call, info) =>
      sessionsOfOrganization(call, id, { ...given, columns: nodeColumns(info, sessionColumns) }),
  }),
)

/** What a list of the sessions of agents or environments is read by: each parent's own organization too. */
type OfEachGiven = Parameters<typeof pageSessionsOfEach>[3] &
  Pick<SessionReading, 'columns'> & { organizationId: string }
const sessionsOfEach = (parent: Parent) =>
  pagesOfEach((call, ids, { organizationId, columns, ...window }: OfEachGiven) =>
    pageSessionsOfEach(callIn(call, { id: organizationId }), parent, ids, window, { columns }),
  )
const sessionsOfAgent = sessionsOfEach('agent')
const sessionsOfEnvironment = sessionsOfEach('environment')
builder.objectField(environmentType, 'sessions', (t) =>
  t.field({
    type: sessionConnection,
    nullable: true,
    description: 'The caller’s sessions in it, including archived ones, newest first.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call, info) =>
      sessionsOfEnvironment(call, id, { ...window, organizationId, columns: nodeColumns(info, sessionColumns) }),
  }),
)
builder.objectField(agentType, 'sessions', (t) =>
  t.field({
    type: sessionConnection,
    nullable: true,
    description: 'The caller’s sessions with it, including archived ones, newest first. Not available to API keys.',
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call, info) =>
      sessionsOfAgent(call, id, { ...window, organizationId, columns: nodeColumns(info, sessionColumns) }),
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
    args: sessionArguments,
    resolve: (_, given, call, info) => readSessions(call, { ...given, columns: nodeColumns(info, sessionColumns) }),
  }),
}))

const session = { field: 'session', type: sessionType }
mutationOf(
  'createSession',
  session,
  'Starts a session. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
  (t) => ({
    agentId: t.id({
      description: 'The agent, in its newest version. Use `agent` to choose a version or to override parts of it.',
    }),
    agent: t.field({
      type: sessionAgentInput,
      description: 'The agent, where a version is chosen or parts of it are overridden.',
    }),
    environmentId: t.id({ description: 'The environment to work in; none by default.' }),
    vaultIds: t.idList({ description: `The vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.` }),
    title: t.string({ description: `At most ${limits.nameLength} characters.` }),
    metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
    budget: t.field({ type: budgetInput, description: 'Its spending limit.' }),
    initialEvents: t.field({
      type: [sessionEventInput],
      extensions: { most: limits.initialEventsMax },
      description: `The first events: at most ${limits.initialEventsMax} messages and outcomes.`,
    }),
    resources: t.field({
      type: [sessionResourceInput],
      extensions: { most: sessionResourceLimits.perSession },
      description: `What to put into its VM: ${sessionResourceLimits.perSession} at most.`,
    }),
  }),
  createSession,
)
mutationOf(
  'updateSession',
  session,
  'Updates a session from its next turn on; omitted fields stay as they are. Errors: INVALID_REQUEST, NOT_FOUND, SESSION_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_TOOL.',
  (t) => ({
    ...idField(t),
    title: t.string({ description: `At most ${limits.nameLength} characters.` }),
    metadata: t.field({ type: 'TextMapPatch', description: 'Pairs to set; a null value deletes its key.' }),
    budget: t.field({ type: budgetInput, description: 'Its spending limit; null removes it.' }),
    vaultIds: t.idList({ description: `The vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.` }),
    agent: t.field({ type: sessionAgentChangeInput, description: 'Changes of its agent, for this session only.' }),
  }),
  (call, { id, ...changes }) => updateSession(call, id, changes),
)
actionOn(
  'archiveSession',
  session,
  'Archives a session, which ends it permanently. Errors: NOT_FOUND, SESSION_RUNNING.',
  archiveSession,
)
deletionOf(
  'deleteSession',
  'Deletes a session with its log; a running one is interrupted first. Errors: NOT_FOUND.',
  deleteSession,
)
mutationOf(
  'setSessionSharing',
  session,
  'Shares a session’s transcript with anyone who has the link, or stops sharing it. Errors: NOT_FOUND, URL_ONLY_ATTACHMENT.',
  (t) => ({ ...idField(t), shared: t.boolean({ required: true, description: 'Whether to share it.' }) }),
  (call, { id, shared }) => setSharing(call, id, shared),
)
mutationOf(
  'markSessionSeen',
  session,
  'Marks how far the owner has read. The mark never moves back. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    throughEventId: t.id({ required: true, description: 'The id of the last event that was read.' }),
  }),
  (call, { id, throughEventId }) => markSeen(call, id, throughEventId),
)

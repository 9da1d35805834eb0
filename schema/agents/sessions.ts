/** Sessions in GraphQL. */
import { createdArguments, idArguments, listOrder } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, listArguments, pageArguments, twoWayListTypeOf } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deleteSession } from '#src/resources/agents/sessions/deletion.ts'
import { wireOutcomes } from '#src/resources/agents/outcomes/rows.ts'
import { activityOf, markSeen, type Activity } from '#src/resources/agents/sessions/reading.ts'
import { wireAgent, type Session, type SessionSource, type SessionStatus } from '#src/resources/agents/sessions/rows.ts'
import { followSessionState, type SessionState } from '#src/resources/agents/sessions/streams.ts'
import { budgetOf, statsOf, usageOf } from '#src/resources/agents/sessions/usage.ts'
import {
  archiveSession,
  createSession,
  getSession,
  listSessions,
  pageSessions,
  updateSession,
} from '#src/resources/agents/sessions.ts'
import { getSharedSession, setSharing, type SharedSession } from '#src/resources/agents/sessions/shared-sessions.ts'

const sessionStatus = builder.enumType('SessionStatus', {
  description: 'Where a session is.',
  values: {
    idle: { description: 'It waits for the client; `stopReason` says for what.' },
    running: { description: 'It works.' },
    rescheduling: { description: 'Something failed that may pass; it is tried again soon.' },
    terminated: { description: 'It has ended for ever.' },
  } satisfies Record<SessionStatus, { description: string }>,
})
const sessionKind = builder.enumType('SessionKind', {
  description: 'What a session works with.',
  values: { chat: { description: 'Words alone.' }, computer: { description: 'An environment.' } } satisfies Record<
    Session['kind'],
    { description: string }
  >,
})
const sessionSource = builder.enumType('SessionSource', {
  description: 'Who began a session.',
  values: {
    user: { description: 'A caller.' },
    schedule: { description: 'A schedule.' },
    trigger: { description: 'A trigger.' },
    deployment: { description: 'A deployment.' },
    run: { description: 'A run.' },
    peer: { description: 'Another session.' },
  } satisfies Record<SessionSource, { description: string }>,
})
const archivedFilter = builder.enumType('ArchivedFilter', {
  description: 'Whether a list shows what is archived.',
  values: {
    exclude: { description: 'Not.' },
    include: { description: 'Too.' },
    only: { description: 'Nothing else.' },
  },
})

const activityType = builder.objectRef<Activity>('SessionActivity').implement({
  description: 'What happened in a session lately.',
  fields: (t) => ({
    lastEventId: t.exposeID('lastEventId', { nullable: true, description: 'Its newest event.' }),
    lastEventAt: t.expose('lastEventAt', { type: 'DateTime', nullable: true, description: 'When that happened.' }),
    lastReadEventId: t.exposeID('lastReadEventId', { nullable: true, description: 'How far the owner has read.' }),
    unreadCount: t.exposeInt('unreadCount', {
      description: 'How many events came after that, without those that the owner sent; 100 at most.',
    }),
    requiresAction: t.exposeBoolean('requiresAction', { description: 'Whether it waits for an answer.' }),
  }),
})

const sessionType = builder.objectRef<Session>('Session').implement({
  description: 'An agent at work, with the log of everything that happened.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'agentDefinition' in value,
  fields: (t) => ({
    id: t.id({ description: '`sesn_` and 26 characters.', resolve: ({ id }) => encodeId('session', id) }),
    type: t.string({ description: 'Always `session`.', resolve: () => 'session' }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    agent: t.field({
      type: 'JSON',
      description: 'The agent as it was when the session began.',
      resolve: (session) => wireAgent(session),
    }),
    agentId: t.id({ description: 'The agent.', resolve: (session) => String(wireAgent(session)['id']) }),
    environmentId: t.id({
      nullable: true,
      description: 'Where it works; null for words alone.',
      resolve: ({ environmentId }) => environmentId && encodeId('environment', environmentId),
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
      type: 'JSON',
      nullable: true,
      description:
        'Why it is idle: `{type}` is `end_turn`, `requires_action` with `event_ids`, `retries_exhausted` or `budget_reached`.',
      resolve: ({ stopReason }) => stopReason,
    }),
    vaultIds: t.idList({
      description: 'The vaults whose credentials it may use.',
      resolve: ({ vaultIds }) => vaultIds.map((id) => encodeId('vault', id)),
    }),
    metadata: t.field({ type: 'TextMap', description: 'The caller’s own notes.', resolve: ({ metadata }) => metadata }),
    resources: t.field({ type: 'JSON', description: 'Always empty.', resolve: () => [] }),
    outcomeEvaluations: t.field({
      type: 'JSON',
      description:
        'What it was given to reach, in order: `{outcome_id, description, result, iteration, explanation, completed_at}` each; `result` is `pending`, `running`, `evaluating`, `satisfied`, `max_iterations_reached`, `failed` or `interrupted`.',
      resolve: (session) => wireOutcomes(session),
    }),
    budget: t.field({
      type: 'JSON',
      nullable: true,
      description: 'What it may spend: `{type: "limit", max_list_cost: {amount, currency}}`.',
      resolve: (session) => budgetOf(session),
    }),
    usage: t.field({
      type: 'JSON',
      description: 'What it used so far: tokens, requests, seconds and money.',
      resolve: (session) => usageOf(session),
    }),
    stats: t.field({
      type: 'JSON',
      description: '`{active_seconds, duration_seconds}`.',
      resolve: (session) => statsOf(session),
    }),
    shared: t.boolean({
      description: 'Whether everybody with the link may read its transcript.',
      resolve: ({ sharedAt }) => sharedAt !== null,
    }),
    sharedAt: t.expose('sharedAt', { type: 'DateTime', nullable: true, description: 'Since when.' }),
    activity: t.field({
      type: activityType,
      description: 'What happened lately.',
      resolve: (session) => activityOf(session),
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `sessionEvents` to hear what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When something happened in it last.' }),
    archivedAt: t.expose('archivedAt', { type: 'DateTime', nullable: true, description: 'When it was archived.' }),
  }),
})

const sharedSession = builder.objectRef<SharedSession>('SharedSession').implement({
  description: 'What everybody may see of a shared session.',
  fields: (t) => ({
    type: t.string({ description: 'Always `shared_session`.', resolve: () => 'shared_session' }),
    id: t.id({ description: 'The session.', resolve: ({ id }) => encodeId('session', id) }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    agentName: t.exposeString('agentName', { description: 'What its agent is called.' }),
    agent: t.field({ type: 'JSON', description: '`{name}`.', resolve: ({ agentName }) => ({ name: agentName }) }),
    sharedAt: t.expose('sharedAt', { type: 'DateTime', description: 'Since when it is shared.' }),
    data: t.field({
      type: 'JSON',
      description: 'The transcript: what was said, and the names of the tools that were used.',
      resolve: ({ data }) => data,
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there is more behind this page.' }),
    nextPage: t.exposeString('nextPage', { nullable: true, description: 'Pass it as `page` for the next page.' }),
  }),
})

const sessionState = builder.objectRef<SessionState>('SessionState').implement({
  description: 'A session as it became.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'session' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this state.',
      resolve: ({ position }) => String(position),
    }),
    session: t.field({ type: sessionType, description: 'The session.', resolve: ({ session }) => session }),
  }),
})
const stateOrHeartbeat = builder.unionType('SessionStateOrHeartbeat', {
  description: 'A state of a session, or a sign of life.',
  types: [sessionState, heartbeat],
})

const sessionConnection = connectionOf('Session', sessionType)
const sessionList = twoWayListTypeOf('Session', sessionType)
const filterArguments = builder.args((t) => ({
  agentId: t.id({ description: 'Those of this agent.' }),
  agentVersion: t.int({ description: 'With `agentId`: those that began with this version of it.' }),
  deploymentId: t.id({ description: 'Those that this deployment began.' }),
  archived: t.field({ type: archivedFilter, description: 'Whether archived ones are shown; not without it.' }),
  includeArchived: t.boolean({ description: 'The same as `archived: include`.' }),
  statuses: t.field({ type: [sessionStatus], description: 'Those that are in one of these.' }),
  order: t.field({ type: listOrder, description: 'By creation; newest first without it.' }),
}))
const changeable = builder.args((t) => ({
  title: t.string({ description: 'At most 255 characters.' }),
  metadata: t.field({ type: 'JSON', description: 'Up to 16 pairs of text; in a change a null value deletes its key.' }),
  budget: t.field({
    type: 'JSON',
    description: 'What it may spend: `{type: "limit", max_list_cost: {amount: "2.50", currency: "USD"}}`.',
  }),
  vaultIds: t.idList({ description: 'Vaults whose credentials it may use, 50 at most.' }),
}))

builder.queryFields((t) => ({
  session: t.field({
    type: sessionType,
    description: 'One session. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getSession(call, id),
  }),
  sessions: t.field({
    type: sessionConnection,
    description: 'The caller’s sessions.',
    args: { ...filterArguments, ...createdArguments, ...pageArguments },
    resolve: (_, { first, after, ...filter }, call) => pageSessions(call, filter, { first, after }) as never,
  }), // see pages.ts
  sessionList: t.field({
    type: sessionList,
    description: 'The same as REST shows it.',
    args: { ...filterArguments, ...createdArguments, ...listArguments },
    resolve: (_, { limit, page, ...filter }, call) => listSessions(call, filter, { limit, page }) as never,
  }), // see pages.ts
  sharedSession: t.field({
    type: sharedSession,
    description: 'The transcript of a shared session; needs no credentials. Errors: NOT_FOUND.',
    extensions: { open: true },
    args: {
      ...idArguments,
      limit: t.arg.int({ description: 'How many events, 1 to 1000; 1000 without it.' }),
      page: listArguments.page,
    },
    resolve: (_, { id, ...window }, call) => getSharedSession(call, id, window),
  }),
}))

builder.mutationFields((t) => ({
  createSession: t.field({
    type: sessionType,
    description:
      'Begins a session. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, UNKNOWN_TOOL.',
    args: {
      agent: t.arg({
        type: 'JSON',
        description: 'The agent’s id, `{type: "agent", id, version}`, or `{type: "agent_with_overrides", id, …}`.',
      }),
      agentId: t.arg.id({ description: 'The agent, instead of `agent`.' }),
      environmentId: t.arg.id({ description: 'Where it works; words alone without it.' }),
      initialEvents: t.arg({ type: 'JSON', description: 'What it begins with: at most 50 messages and outcomes.' }),
      resources: t.arg({ type: 'JSON', description: 'Must be empty.' }),
      ...changeable,
    },
    resolve: (_, order, call) => createSession(call, order),
  }),
  updateSession: t.field({
    type: sessionType,
    description:
      'Changes a session from its next turn on. Errors: INVALID_REQUEST, NOT_FOUND, SESSION_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_TOOL.',
    args: {
      ...idArguments,
      agent: t.arg({ type: 'JSON', description: '`{tools, mcp_servers}`: each replaces what was.' }),
      ...changeable,
    },
    resolve: (_, { id, ...change }, call) => updateSession(call, id, change),
  }),
  archiveSession: t.field({
    type: sessionType,
    description: 'Archives a session, which ends it for ever. Errors: NOT_FOUND, SESSION_RUNNING.',
    args: idArguments,
    resolve: (_, { id }, call) => archiveSession(call, id),
  }),
  deleteSession: t.field({
    type: 'ID',
    description: 'Deletes a session with its log; one at work is interrupted first. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteSession(call, id), id),
  }),
  setSessionSharing: t.field({
    type: sessionType,
    description:
      'Shares a session’s transcript with everybody who has the link, or ends that. Errors: NOT_FOUND, URL_ONLY_ATTACHMENT.',
    args: { ...idArguments, shared: t.arg.boolean({ required: true, description: 'Whether it is shared.' }) },
    resolve: (_, { id, shared }, call) => setSharing(call, id, shared),
  }),
  markSessionSeen: t.field({
    type: activityType,
    description: 'Says how far the owner has read; back it never goes. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      ...idArguments,
      throughEventId: t.arg.id({ required: true, description: 'The last event that was read.' }),
    },
    resolve: async (_, { id, throughEventId }, call) => activityOf(await markSeen(call, id, throughEventId)),
  }),
}))

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

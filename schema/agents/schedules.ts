/** Schedules in GraphQL. Their runs are in schedules/runs.ts. */
import { scheduleLimits } from '#src/resources/agents/schedules/limits.ts'
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { callIn, listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { always } from '../words.ts'
import { agentType } from './agents.ts'
import { agentReferenceType } from './deployments/agent-references.ts'
import { kickoffInput, kickoffType } from './deployments/kickoffs.ts'
import { startAgentInput, startDeploymentInput } from './deployments/parts.ts'
import { deploymentType } from './deployments.ts'
import { timestamp } from '#src/platform/clock.ts'
import type { Overlap } from '#src/resources/agents/schedules/rows.ts'
import {
  createSchedule,
  deleteSchedule,
  findSchedules,
  getSchedule,
  pageSchedules,
  pageSchedulesOfEach,
  upcomingMoments,
  updateSchedule,
} from '#src/resources/agents/schedules.ts'

const overlapType = enumOf('ScheduleOverlap', 'What happens while the session of the run before is still at work.', {
  skip: 'Nothing starts, and the run is recorded as skipped.',
  allow: 'Another session starts beside it.',
} satisfies Record<Overlap, string>)

/** A schedule. */
export const scheduleType = nodeOf('Schedule', findSchedules)

builder.objectType(scheduleType, {
  description: 'Starts a session at the moments of a cron expression.',
  fields: (t) => ({
    type: t.string(always('schedule')),
    name: t.exposeString('name', { nullable: true, description: 'Your own name for it; null for none.' }),
    cron: t.exposeString('cron', { description: 'Minute, hour, day of the month, month, day of the week.' }),
    timezone: t.exposeString('timezone', { description: 'The time zone of these, such as `Europe/Rome`.' }),
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether it fires.' }),
    ...linkTo(t, 'ownAgent', {
      type: agentType,
      nullable: true,
      description: 'The agent that it starts; null where a deployment says which.',
      id: ({ agentId }) => agentId,
    }),
    ownAgentReference: t.field({
      type: agentReferenceType,
      nullable: true,
      description: 'The same with the version that is pinned.',
      resolve: ({ agentId, agentVersion }) => (agentId === null ? null : { agentId, version: agentVersion }),
    }),
    ownKickoff: t.field({
      type: kickoffType,
      nullable: true,
      description: 'What the agent is told first; null where its deployment says it.',
      resolve: ({ kickoff }) => kickoff,
    }),
    ...linkTo(t, 'deployment', {
      type: deploymentType,
      nullable: true,
      description: 'The deployment that it runs; null where it has an agent of its own.',
      id: ({ deploymentId }) => deploymentId,
    }),
    overlap: t.field({
      type: overlapType,
      description: 'What happens while the session of the run before is still at work.',
      resolve: ({ overlap }) => overlap,
    }),
    nextRunAt: t.expose('nextRunAt', {
      type: 'DateTime',
      nullable: true,
      description: `Its next moment; null while it is disabled. It fires at most ${scheduleLimits.jitterSeconds} seconds later.`,
    }),
    upcomingRunsAt: t.field({
      type: ['DateTime'],
      description: `Its next moments, ${scheduleLimits.upcomingMax} at most.`,
      resolve: async (schedule) => (await upcomingMoments(schedule)).map(timestamp),
    }),
    lastRunAt: t.expose('lastRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it last started a session.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why it failed last; null once it has started a session since.',
    }),
    failures: t.exposeInt('failures', {
      description: `How often it failed since it last started a session; at ${scheduleLimits.failuresMax} it is disabled.`,
    }),
    ...linkTo(t, 'owner', {
      type: userType,
      description: 'On whose behalf sessions start.',
      id: ({ ownerUserId }) => ownerUserId,
    }),
    ...organizationOf(t, 'The organization it belongs to.'),
    eventCursor: t.string({
      description: 'Pass it as `after` to `scheduleEvents` to follow what happens from here on.',
      resolve: ({ runPosition }) => String(runPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

const scheduleFilter = builder.inputType('ScheduleFilter', {
  description: 'Narrows a list of schedules.',
  fields: (t) => ({
    agentId: t.id({ description: 'Only those that start this agent.' }),
    deploymentId: t.id({ description: 'Only those that run this deployment.' }),
  }),
})
const scheduleConnection = connectionOf('Schedule', scheduleType)
const order = builder.args((t) => ({
  order: t.field(newestFirst),
}))

builder.queryFields((t) => ({
  schedule: t.field({
    type: scheduleType,
    description: 'One schedule. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getSchedule(call, id),
  }),
  schedules: t.field({
    type: scheduleConnection,
    description: 'The caller’s schedules, newest first.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: scheduleFilter, description: 'Narrows the list.' }),
      ...order,
    },
    resolve: (_, { filter, order, ...window }, call) => pageSchedules(call, window, filter, order),
  }),
}))

type SchedulesGiven = Parameters<typeof pageSchedules>[1] & OrderGiven
const schedulesOf = listOfOrganizations((call, { order, ...window }: SchedulesGiven) =>
  pageSchedules(call, window, null, order),
)
builder.objectField(organizationType, 'schedules', (t) =>
  t.field({
    type: scheduleConnection,
    nullable: true,
    description: 'The caller’s schedules in it, newest first. Not available to API keys.',
    args: { ...pageArguments, ...order },
    resolve: ({ id }, given, call) => schedulesOf(call, id, given),
  }),
)

type OfEachGiven = SchedulesGiven & { organizationId: string }
const schedulesOfAgent = pagesOfEach((call, ids, { organizationId, order, ...window }: OfEachGiven) =>
  pageSchedulesOfEach(callIn(call, { id: organizationId }), 'agent', ids, window, order),
)
builder.objectField(agentType, 'schedules', (t) =>
  t.field({
    type: scheduleConnection,
    nullable: true,
    description: 'The caller’s schedules that start it, newest first. Not available to API keys.',
    args: { ...pageArguments, ...order },
    resolve: ({ id, organizationId }, given, call) => schedulesOfAgent(call, id, { ...given, organizationId }),
  }),
)

const schedulesOfDeployment = pagesOfEach((call, ids, { organizationId, order, ...window }: OfEachGiven) =>
  pageSchedulesOfEach(callIn(call, { id: organizationId }), 'deployment', ids, window, order),
)
builder.objectField(deploymentType, 'schedules', (t) =>
  t.field({
    type: scheduleConnection,
    nullable: true,
    description: 'The schedules that run it, newest first.',
    args: { ...pageArguments, ...order },
    resolve: ({ id, organizationId }, given, call) => schedulesOfDeployment(call, id, { ...given, organizationId }),
  }),
)

const cronField =
  'Minute, hour, day of the month, month, day of the week, such as `0 9 * * mon-fri`; without seconds, `L`, `W`, `#`, `?` and names like `@daily`.'
const nameField = '1 to 255 characters, and none of your other schedules may have it.'
const zoneField = 'A name of the IANA time zone database, such as `Europe/Rome`. Required.'
const overlapField = 'What happens while the session of the run before is still at work; `SKIP` by default.'

const schedule = { field: 'schedule', type: scheduleType }
mutationOf(
  'createSchedule',
  schedule,
  'Creates a schedule. Errors: INVALID_CRON, INVALID_TIMEZONE, INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, RATE_LIMITED.',
  (t) => ({
    name: t.string({ description: `${nameField} None by default.` }),
    cron: t.string({ required: true, description: cronField }),
    timezone: t.string({ description: zoneField }),
    enabled: t.boolean({ description: 'Whether it fires; true by default.' }),
    overlap: t.field({ type: overlapType, description: overlapField }),
    agent: t.field({ type: startAgentInput, description: 'The agent to start, with `kickoff`; or give `deployment`.' }),
    kickoff: t.field({ type: kickoffInput, description: 'What the agent is told first.' }),
    deployment: t.field({ type: startDeploymentInput, description: 'The deployment to run, instead of an agent.' }),
  }),
  createSchedule,
)
mutationOf(
  'updateSchedule',
  schedule,
  'Changes a schedule; fields that are left out stay. Errors: NOT_FOUND, INVALID_CRON, INVALID_TIMEZONE, INVALID_REQUEST.',
  (t) => ({
    ...idField(t),
    name: t.string({ description: nameField }),
    cron: t.string({ description: cronField }),
    timezone: t.string({ description: zoneField }),
    enabled: t.boolean({ description: 'Whether it fires. Enabled again, it counts its failures anew.' }),
    overlap: t.field({ type: overlapType, description: overlapField }),
    kickoff: t.field({ type: kickoffInput, description: 'What the agent is told first.' }),
  }),
  (call, { id, ...changes }) => updateSchedule(call, id, changes),
)
deletionOf(
  'deleteSchedule',
  'Deletes a schedule with its runs; sessions that it started stay. Errors: NOT_FOUND.',
  deleteSchedule,
)

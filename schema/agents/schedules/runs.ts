/** Runs of schedules in GraphQL. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { linkTo, nodeOf } from '../../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../../pages.ts'
import { pagesOfEach } from '../../pages-of-each.ts'
import { always } from '../../words.ts'
import { callIn } from '../../identity/organizations.ts'
import { startError } from '../deployments/parts.ts'
import { scheduleType } from '../schedules.ts'
import { sessionType } from '../sessions.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { ScheduleRun, ScheduleRunStatus, SkipReason } from '#src/resources/agents/schedules/rows.ts'
import {
  findScheduleRuns,
  followScheduleRuns,
  pageScheduleRunsOfEach,
  pageScheduleRuns,
} from '#src/resources/agents/schedules/runs.ts'

const statusType = enumOf('ScheduleRunStatus', 'What became of a moment of a schedule.', {
  started: 'A session started.',
  skipped: 'Nothing was to start; `skipReason` says why.',
  failed: 'Nothing could start; `error` says why.',
} satisfies Record<ScheduleRunStatus, string>)

const skipReasonType = enumOf('ScheduleSkipReason', 'Why a schedule started nothing although nothing failed.', {
  overlap: 'The session of the run before was still at work.',
  missed: 'No worker was running within five minutes of the moment.',
  rate_limited: 'For five minutes the organization had as many running sessions as it may.',
  deployment_paused: 'The deployment was paused or archived.',
} satisfies Record<SkipReason, string>)

const runType = nodeOf('ScheduleRun', findScheduleRuns)

builder.objectType(runType, {
  description: 'A moment of a schedule, and what became of it. It is remembered for 30 days.',
  fields: (t) => ({
    type: t.string(always('schedule_run')),
    ...linkTo(t, 'schedule', {
      type: scheduleType,
      description: 'Which schedule.',
      id: ({ scheduleId }) => scheduleId,
    }),
    scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: 'The moment, by the cron expression.' }),
    status: t.field({ type: statusType, description: 'What became of it.', resolve: ({ status }) => status }),
    ...linkTo(t, 'session', {
      type: sessionType,
      nullable: true,
      description: 'The session that started; null too once it is deleted.',
      id: ({ sessionId }) => sessionId,
    }),
    skipReason: t.field({
      type: skipReasonType,
      nullable: true,
      description: 'Why nothing was to start.',
      resolve: ({ skipReason }) => skipReason,
    }),
    error: t.field({
      type: startError,
      nullable: true,
      description: 'Why nothing could start.',
      resolve: ({ errorType, message }) => (errorType === null ? null : { type: errorType, message: message ?? '' }),
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'The reason as a sentence, where nothing started.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was dealt with.' }),
  }),
})

const runConnection = connectionOf('ScheduleRun', runType)
const runArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  scheduleRuns: t.field({
    type: runConnection,
    description: 'The runs of a schedule, newest first. Errors: NOT_FOUND.',
    args: { scheduleId: t.arg.id({ required: true, description: 'Which schedule.' }), ...runArguments },
    resolve: (_, { scheduleId, order, ...window }, call) => pageScheduleRuns(call, scheduleId, window, order),
  }),
}))

type RunsGiven = Parameters<typeof pageScheduleRunsOfEach>[2] & OrderGiven & { organizationId: string }
const runsOf = pagesOfEach((call, ids, { organizationId, order, ...window }: RunsGiven) =>
  pageScheduleRunsOfEach(callIn(call, { id: organizationId }), ids, window, order),
)
builder.objectField(scheduleType, 'runs', (t) =>
  t.field({
    type: runConnection,
    nullable: true,
    description: 'What became of its moments, newest first.',
    args: runArguments,
    resolve: ({ id, organizationId }, given, call) => runsOf(call, id, { ...given, organizationId }),
  }),
)

const scheduleEvent = builder.objectRef<ScheduleRun>('ScheduleEvent').implement({
  description: 'A moment of a schedule that was dealt with.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'scheduledAt' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    scheduleId: t.id({ description: 'Which schedule.', resolve: (run) => encodeId('schedule', run.scheduleId) }),
    schedule: t.field({
      type: scheduleType,
      nullable: true,
      description: 'The schedule as it is now; null once it is deleted.',
      resolve: (run) => run.scheduleId,
    }),
    run: t.field({ type: runType, description: 'What became of the moment.', resolve: (run) => run }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const scheduleEventOrHeartbeat = builder.unionType('ScheduleEventOrHeartbeat', {
  description: 'An event of a schedule, or a heartbeat.',
  types: [scheduleEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  scheduleEvents: t.field({
    type: scheduleEventOrHeartbeat,
    description:
      'The runs of a schedule: those after the cursor (without a cursor, the latest), then live ones, until it is deleted. Errors: NOT_FOUND.',
    args: {
      scheduleId: t.arg.id({ required: true, description: 'The schedule.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { scheduleId, after }, call) =>
      withHeartbeats(await followScheduleRuns(call, scheduleId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

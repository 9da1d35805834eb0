/** The schedule of a deployment, as Anthropic's clients have it. */
import { scheduleLimits } from '#src/resources/agents/schedules/limits.ts'
import { builder } from '../../builder.ts'
import { rowsOfEach } from '../../rows-of-each.ts'
import { always } from '../../words.ts'
import { timestamp } from '#src/platform/clock.ts'
import { upcomingMoments } from '#src/resources/agents/schedules.ts'
import { findFirstSchedulesOf } from '#src/resources/agents/schedules/of-deployments.ts'
import type { Schedule } from '#src/resources/agents/schedules/rows.ts'
import { deploymentType } from '../deployments.ts'
import { scheduleType } from '../schedules.ts'

const firstScheduleOf = rowsOfEach(findFirstSchedulesOf, ({ deploymentId }) => deploymentId)

const deploymentSchedule = builder
  .objectRef<{ schedule: Schedule; isArchived: boolean }>('DeploymentSchedule')
  .implement({
    description: 'When a deployment starts by itself.',
    fields: (t) => ({
      type: t.string(always('cron')),
      expression: t.string({
        description: 'Minute, hour, day of the month, month, day of the week.',
        resolve: ({ schedule }) => schedule.cron,
      }),
      timezone: t.string({
        description: 'The time zone of these, such as `Europe/Rome`.',
        resolve: ({ schedule }) => schedule.timezone,
      }),
      lastRunAt: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'When it last started a session.',
        resolve: ({ schedule }) => schedule.lastRunAt,
      }),
      upcomingRunsAt: t.field({
        type: ['DateTime'],
        description: `Its next moments, ${scheduleLimits.upcomingMax} at most; none of an archived deployment, or while the schedule is disabled.`,
        resolve: async ({ schedule, isArchived }) =>
          isArchived ? [] : (await upcomingMoments(schedule)).map(timestamp),
      }),
      schedule: t.field({
        type: scheduleType,
        nullable: true,
        description: 'The same schedule as an object of its own.',
        resolve: ({ schedule }) => schedule,
      }),
    }),
  })

builder.objectField(deploymentType, 'schedule', (t) =>
  t.field({
    type: deploymentSchedule,
    nullable: true,
    description: 'When it starts by itself: the oldest of its `schedules`; null where it has none.',
    resolve: async ({ id, archivedAt }, _, call) => {
      const schedule = await firstScheduleOf(call, id)
      return schedule && { schedule, isArchived: archivedAt !== null }
    },
  }),
)

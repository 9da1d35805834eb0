/** What started a run of a deployment, as objects. */
import { builder } from '../../builder.ts'
import { linkTo } from '../../nodes.ts'
import { decodeId } from '#src/platform/ids.ts'
import { scheduleType } from '../schedules.ts'
import { triggerType } from '../triggers.ts'
import { scheduledRun, triggeredRun } from './parts.ts'

builder.objectFields(scheduledRun, (t) =>
  linkTo(t, 'schedule', {
    type: scheduleType,
    nullable: true,
    description: 'The schedule; the object is null once it is deleted.',
    id: ({ schedule_id }) => decodeId('schedule', schedule_id) ?? null,
  }),
)
builder.objectFields(triggeredRun, (t) =>
  linkTo(t, 'trigger', {
    type: triggerType,
    nullable: true,
    description: 'The trigger; the object is null once it is deleted.',
    id: ({ trigger_id }) => decodeId('trigger', trigger_id) ?? null,
  }),
)

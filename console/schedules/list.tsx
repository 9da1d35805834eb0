/** Schedules: what begins sessions at moments. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Switch } from '../automation/switch.tsx'
import { AutomationTabs } from '../automation/tabs.tsx'
import { SchedulesDocument, UpdateScheduleDocument, type ScheduleRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { NewSchedule } from './form.tsx'

const columns: readonly Column<ScheduleRow>[] = [
  ['When', ({ cron, timezone }) => <code>{plain(`${cron} ${timezone}`)}</code>],
  ['Next', ({ nextRunAt, isEnabled }) => (isEnabled ? <Age at={nextRunAt} /> : 'off')],
  ['Ran', ({ lastRunAt }) => <Age at={lastRunAt} />],
  ['Problem', ({ lastError }) => lastError && plain(lastError)],
  ['Now', (schedule) => <Switch mutation={UpdateScheduleDocument} of={schedule} />],
]

/** The list. */
export function Schedules(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <>
      <AutomationTabs />
      <List
        title="Schedules"
        document={SchedulesDocument}
        read={({ schedules }) => schedules}
        columns={columns}
        folder="automation/schedules"
        create={{
          title: 'New schedule',
          form: (close) => (
            <NewSchedule
              onDone={({ createSchedule }) =>
                createSchedule && void navigate({ to: `/o/${org}/automation/schedules/${createSchedule.schedule.id}` })
              }
              onClose={close}
            />
          ),
        }}
        empty={<p>A schedule begins a session at the times of a cron expression, in a time zone.</p>}
      />
    </>
  )
}

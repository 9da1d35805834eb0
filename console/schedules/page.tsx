/** One schedule: its next moments, and what became of those that were. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useReadAgain } from '../app/again.ts'
import { Kickoff } from '../automation/start.tsx'
import { Switch } from '../automation/switch.tsx'
import {
  DeleteScheduleDocument,
  ScheduleDocument,
  ScheduleEventsDocument,
  type Schedule,
  type ScheduleRunRow,
  UpdateScheduleDocument,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { ChangeSchedule } from './form.tsx'

type Known = NonNullable<Schedule['schedule']>

/** The page. */
export function SchedulePage(): ReactNode {
  return (
    <ReadObject document={ScheduleDocument} read={({ schedule }) => schedule} what="schedule">
      {(schedule, again) => <Shown schedule={schedule} again={again} />}
    </ReadObject>
  )
}

function Shown({ schedule, again }: { schedule: Known; again: () => void }): ReactNode {
  const { id } = schedule
  useReadAgain(ScheduleEventsDocument, id, again)
  return (
    <ObjectPage
      folder="automation/schedules"
      kind="Schedules"
      name={`${schedule.cron} ${schedule.timezone}`}
      id={id}
      state={!schedule.isEnabled && <span className="state off">off</span>}
      actions={<Actions schedule={schedule} />}
      tabs={[
        ['moments', 'Moments', () => <MomentsOf schedule={schedule} />],
        ['definition', 'Definition', () => <Definition schedule={schedule} />],
      ]}
    />
  )
}

function Actions({ schedule }: { schedule: Known }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  return (
    <span className="buttons">
      <Open isPrimary={false} onClick={() => setIsChanging(true)}>
        Change
      </Open>
      <Switch mutation={UpdateScheduleDocument} of={schedule} />
      <Act
        mutation={DeleteScheduleDocument}
        variables={{ input: { id: schedule.id } }}
        ask={{
          question: `Delete ${plain(`${schedule.cron} ${schedule.timezone}`)}?`,
          text: 'The records of its runs go with it. Their sessions stay.',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {isChanging && <ChangeSchedule schedule={schedule} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function MomentsOf({ schedule }: { schedule: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { isEnabled, lastError, failures, upcomingRunsAt, timezone } = schedule
  const runs = schedule.runs?.nodes ?? []
  return (
    <>
      {lastError && (
        <p className="note">
          It has failed {failures} times in a row: {plain(lastError)}
        </p>
      )}
      <h2>Next</h2>
      {isEnabled ? (
        <ul aria-label="Next">
          {upcomingRunsAt.map((at) => (
            <li key={at}>
              {momentIn(timezone, at)}, <Age at={at} />
            </li>
          ))}
        </ul>
      ) : (
        <p>It is switched off, and starts nothing.</p>
      )}
      <h2>Before</h2>
      {runs.length === 0 ? (
        <p className="soft">None of its moments has come yet.</p>
      ) : (
        <Table label="Runs" heads={['Moment', 'Status', 'What came of it']}>
          {runs.map((run) => (
            <tr key={run.id}>
              <td>{momentIn(timezone, run.scheduledAt)}</td>
              <td>
                <State status={run.runStatus} />
              </td>
              <td>
                {run.sessionId ? (
                  <Link to={`/o/${org}/sessions/${run.sessionId}`}>{run.sessionId}</Link>
                ) : (
                  plain(reasonOf(run))
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

/** A moment as the clocks of its zone show it; a zone that this browser does not know is shown in the reader's. */
function momentIn(timeZone: string, at: string): string {
  const how = { dateStyle: 'full', timeStyle: 'short' } as const
  try {
    return new Intl.DateTimeFormat(undefined, { ...how, timeZone }).format(new Date(at))
  } catch {
    return new Intl.DateTimeFormat(undefined, how).format(new Date(at))
  }
}

function reasonOf({ skipReason, error }: ScheduleRunRow): string {
  return error?.message ?? (skipReason ? wordOf(skipReason) : '')
}

function Definition({ schedule }: { schedule: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { deployment, deploymentId, ownAgent, ownAgentReference, ownKickoff, overlap } = schedule
  return (
    <>
      <Facts
        facts={[
          [
            'Starts',
            deploymentId ? (
              <Link key="deployment" to={`/o/${org}/automation/deployments/${deploymentId}`}>
                {plain(deployment?.name ?? deploymentId)}
              </Link>
            ) : (
              ownAgentReference && (
                <Link key="agent" to={`/o/${org}/agents/${ownAgentReference.id}`}>
                  {plain(ownAgent?.name ?? ownAgentReference.id)}
                </Link>
              )
            ),
          ],
          ['Version', deploymentId ? 'as the deployment says' : (ownAgentReference?.version ?? 'the newest')],
          ['While the run before is at work', overlap === 'SKIP' ? 'it is skipped' : 'another is started'],
          ['Made', <Age key="made" at={schedule.createdAt} />],
        ]}
      />
      {ownKickoff && (
        <>
          <h2>What it is told first</h2>
          <Kickoff kickoff={ownKickoff} />
        </>
      )}
    </>
  )
}

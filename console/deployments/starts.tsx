/** What starts a deployment by itself. */
import { Link, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { Deployment } from '../generated/documents.ts'
import { Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { Table } from '../parts/table.tsx'
import { NewSchedule } from '../schedules/form.tsx'
import { NewTrigger } from '../triggers/form.tsx'

type Known = NonNullable<Deployment['deployment']>

/** The tab. */
export function Starts({ deployment }: { deployment: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const [opened, setOpened] = useState<'schedule' | 'trigger'>()
  const close = (): void => setOpened(undefined)
  const schedules = deployment.schedules?.nodes ?? []
  const triggers = deployment.triggers?.nodes ?? []
  return (
    <>
      {!deployment.archivedAt && (
        <p className="buttons">
          <Open isPrimary={false} onClick={() => setOpened('schedule')}>
            New schedule
          </Open>
          <Open isPrimary={false} onClick={() => setOpened('trigger')}>
            New trigger
          </Open>
        </p>
      )}
      {schedules.length + triggers.length === 0 && <p className="soft">Nothing starts it by itself yet.</p>}
      {schedules.length > 0 && (
        <Table label="Schedules" heads={['When', 'Next', 'Ran', 'Problem']}>
          {schedules.map(({ id, cron, timezone, isEnabled, nextRunAt, lastRunAt, lastError }) => (
            <tr key={id}>
              <td>
                <Link to={`/o/${org}/automation/schedules/${id}`}>{plain(`${cron} ${timezone}`)}</Link>
              </td>
              <td>{isEnabled ? <Age at={nextRunAt} /> : 'off'}</td>
              <td>
                <Age at={lastRunAt} />
              </td>
              <td>{lastError && plain(lastError)}</td>
            </tr>
          ))}
        </Table>
      )}
      {triggers.length > 0 && (
        <Table label="Triggers" heads={['Repository', 'On', 'Fired']}>
          {triggers.map(({ id, repo, isEnabled, lastFiredAt }) => (
            <tr key={id}>
              <td>
                <Link to={`/o/${org}/automation/triggers/${id}`}>{plain(repo)}</Link>
              </td>
              <td>{isEnabled ? 'yes' : 'no'}</td>
              <td>
                <Age at={lastFiredAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {opened === 'schedule' && <NewSchedule deploymentId={deployment.id} onDone={close} onClose={close} />}
      {opened === 'trigger' && (
        <NewTrigger deployment={deployment.id} agent={deployment.agentReference.id} onDone={close} onClose={close} />
      )}
    </>
  )
}

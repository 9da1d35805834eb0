/** One deployment: its runs and sessions, what it is, and what starts it by itself. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { Kickoff } from '../automation/start.tsx'
import { Machine } from '../environments/machine.tsx'
import {
  ArchiveDeploymentDocument,
  DeleteDeploymentDocument,
  DeploymentDocument,
  PauseDeploymentDocument,
  ResumeDeploymentDocument,
  type Deployment,
  type DeploymentRunRow,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { SessionTable } from '../sessions/table.tsx'
import { ChangeDeployment } from './form.tsx'
import { RunNow } from './run.tsx'
import { Starts } from './starts.tsx'

type Known = NonNullable<Deployment['deployment']>

/** The page. */
export function DeploymentPage(): ReactNode {
  return (
    <ReadObject document={DeploymentDocument} read={({ deployment }) => deployment} what="deployment">
      {(deployment) => <Shown deployment={deployment} />}
    </ReadObject>
  )
}

function Shown({ deployment }: { deployment: Known }): ReactNode {
  const { id } = deployment
  const sessions = deployment.sessions?.nodes ?? []
  return (
    <ObjectPage
      folder="automation/deployments"
      kind="Deployments"
      name={deployment.name}
      id={id}
      state={<State status={deployment.archivedAt ? 'ARCHIVED' : deployment.deploymentStatus} />}
      actions={<Actions deployment={deployment} />}
      tabs={[
        ['runs', 'Runs', () => <Runs deployment={deployment} />],
        ['sessions', 'Sessions', () => <SessionTable sessions={sessions} empty="It has begun no session yet." />],
        ['starts', 'Schedules and triggers', () => <Starts deployment={deployment} />],
        ['definition', 'Definition', () => <Definition deployment={deployment} />],
      ]}
    />
  )
}

function Actions({ deployment }: { deployment: Known }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  const { id, archivedAt, deploymentStatus } = deployment
  const variables = { input: { id } }
  const name = plain(deployment.name)
  return (
    <span className="buttons">
      {!archivedAt && (
        <>
          <Open isPrimary={false} onClick={() => setIsChanging(true)}>
            Change
          </Open>
          {deploymentStatus === 'ACTIVE' ? (
            <Act mutation={PauseDeploymentDocument} variables={variables}>
              Pause
            </Act>
          ) : (
            <Act mutation={ResumeDeploymentDocument} variables={variables}>
              Resume
            </Act>
          )}
          <Act
            mutation={ArchiveDeploymentDocument}
            variables={variables}
            ask={{ question: `Archive ${name}?`, text: 'It begins no session any more. This cannot be undone.' }}
          >
            Archive
          </Act>
        </>
      )}
      <Act
        mutation={DeleteDeploymentDocument}
        variables={variables}
        ask={{
          question: `Delete ${name}?`,
          text: 'Its schedules and triggers go with it, and the records of its runs. Its sessions stay.',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {!archivedAt && <RunNow id={id} isPrimary />}
      {isChanging && <ChangeDeployment deployment={deployment} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function Runs({ deployment: { runs, pausedReason } }: { deployment: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const known = runs?.nodes ?? []
  return (
    <>
      {pausedReason && 'error' in pausedReason && (
        <p className="note">It was paused by an error: {wordOf(pausedReason.error.type)}.</p>
      )}
      {known.length === 0 ? (
        <div className="empty">
          <p>It has not run yet. Run it by hand, or give it a schedule or a trigger.</p>
        </div>
      ) : (
        <Table label="Runs" heads={['When', 'By', 'Session']}>
          {known.map(({ id, createdAt, trigger, sessionId, error }) => (
            <tr key={id}>
              <td>
                <Age at={createdAt} />
              </td>
              <td>
                <StartedBy trigger={trigger} />
              </td>
              <td>
                {sessionId ? (
                  <Link to={`/o/${org}/sessions/${sessionId}`}>{sessionId}</Link>
                ) : (
                  <span className="bad">{plain(error?.message ?? 'None began.')}</span>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

function StartedBy({ trigger }: { trigger: DeploymentRunRow['trigger'] }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  if ('scheduleId' in trigger)
    return trigger.scheduleId ? (
      <Link to={`/o/${org}/automation/schedules/${trigger.scheduleId}`}>a schedule</Link>
    ) : (
      'a schedule, deleted since'
    )
  if ('triggerId' in trigger)
    return trigger.triggerId ? (
      <Link to={`/o/${org}/automation/triggers/${trigger.triggerId}`}>a trigger</Link>
    ) : (
      'a trigger, deleted since'
    )
  return 'hand'
}

function Definition({ deployment }: { deployment: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { agent, agentReference, environment, vaults, budget } = deployment
  return (
    <>
      <Facts
        facts={[
          [
            'Agent',
            <Link key="agent" to={`/o/${org}/agents/${agentReference.id}`}>
              {plain(agent?.name ?? agentReference.id)}
            </Link>,
          ],
          ['Version', agentReference.version ?? 'the newest'],
          [
            'Where',
            'environmentId' in environment ? (
              <Link key="environment" to={`/o/${org}/environments/${environment.environmentId}`}>
                {plain(environment.environment?.name ?? environment.environmentId)}
              </Link>
            ) : 'config' in environment ? (
              'each session in a machine of its own'
            ) : (
              'nowhere: its sessions only talk'
            ),
          ],
          ['Vaults', plain(vaults?.map(({ displayName }) => displayName).join(', ') ?? '') || 'none'],
          ['A session may cost', budget ? `${budget.maxListCost.amount} ${budget.maxListCost.currency}` : 'no limit'],
          ['What for', deployment.description ? plain(deployment.description) : undefined],
          ['Made', <Age key="made" at={deployment.createdAt} />],
        ]}
      />
      <h2>What it is told first</h2>
      <Kickoff kickoff={deployment.kickoff} />
      {'config' in environment && environment.config && 'memoryMb' in environment.config && (
        <>
          <h2>Its machines</h2>
          <Machine config={environment.config} />
        </>
      )}
    </>
  )
}

/** Deployments: agents with everything that a run of them needs. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { AutomationTabs } from '../automation/tabs.tsx'
import { DeploymentsDocument, type DeploymentRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { filterOf, List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { NewDeployment } from './form.tsx'
import { RunNow } from './run.tsx'

const columns: readonly Column<DeploymentRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ archivedAt, deploymentStatus }) => <State status={archivedAt ? 'ARCHIVED' : deploymentStatus} />],
  ['Ran', ({ lastRunAt }) => <Age at={lastRunAt} />],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
  ['Now', ({ id, archivedAt }) => !archivedAt && <RunNow id={id} />],
]

/** The list. */
export function Deployments(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <>
      <AutomationTabs />
      <List
        title="Deployments"
        document={DeploymentsDocument}
        variables={(text, includeArchived) => filterOf({ text, includeArchived })}
        hasArchived
        read={({ deployments }) => deployments}
        columns={columns}
        folder="automation/deployments"
        create={{
          title: 'New deployment',
          form: (close) => (
            <NewDeployment
              onDone={({ createDeployment }) =>
                createDeployment &&
                void navigate({ to: `/o/${org}/automation/deployments/${createDeployment.deployment.id}` })
              }
              onClose={close}
            />
          ),
        }}
        empty={
          <p>
            A deployment is an agent with its first message, environment and budget, ready to run again: by hand, by a
            schedule, by a trigger.
          </p>
        }
      />
    </>
  )
}

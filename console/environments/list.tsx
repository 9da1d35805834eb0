/** Environments: where agents work. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { EnvironmentsDocument, type EnvironmentRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { filterOf, List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { NewEnvironment } from './form.tsx'

const columns: readonly Column<EnvironmentRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ environmentStatus }) => <State status={environmentStatus} />],
  ['What for', ({ description, statusReason }) => plain(statusReason ?? description ?? '')],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Environments(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Environments"
      document={EnvironmentsDocument}
      variables={(text, includeArchived) => filterOf({ text, includeArchived })}
      hasArchived
      read={({ environments }) => environments}
      columns={columns}
      folder="environments"
      create={{
        title: 'New environment',
        form: (close) => (
          <NewEnvironment
            onDone={({ createEnvironment }) =>
              createEnvironment && void navigate({ to: `/o/${org}/environments/${createEnvironment.environment.id}` })
            }
            onClose={close}
          />
        ),
      }}
      empty={
        <p>
          An environment is the machine that an agent’s tools work in: its size, its packages, what it may reach. The
          machine itself is made when a tool first needs it.
        </p>
      }
    />
  )
}

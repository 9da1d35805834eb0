/** The person's agents. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { AgentsDocument, type AgentRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { filterOf, List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { NewAgent } from './form.tsx'

const columns: readonly Column<AgentRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ archivedAt }) => <State status={archivedAt ? 'ARCHIVED' : 'ACTIVE'} />],
  ['Model', ({ model }) => plain(model.id)],
  ['Version', ({ version }) => version],
  ['What for', ({ description }) => description && plain(description)],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
]

/** The list. */
export function Agents(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Agents"
      document={AgentsDocument}
      variables={(text, includeArchived) => filterOf({ text, includeArchived })}
      hasArchived
      read={({ agents }) => agents}
      columns={columns}
      folder="agents"
      create={{
        title: 'New agent',
        form: (close) => (
          <NewAgent
            onDone={({ createAgent }) =>
              createAgent && void navigate({ to: `/o/${org}/agents/${createAgent.agent.id}` })
            }
            onClose={close}
          />
        ),
      }}
      empty={<p>An agent is a model, instructions and tools. It works in sessions, each with a machine of its own.</p>}
    />
  )
}

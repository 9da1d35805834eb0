/** Triggers: what begins sessions when something happens in a repository. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Switch } from '../automation/switch.tsx'
import { AutomationTabs } from '../automation/tabs.tsx'
import { TriggersDocument, UpdateTriggerDocument, type TriggerRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { NewTrigger } from './form.tsx'

const columns: readonly Column<TriggerRow>[] = [
  ['Repository', ({ repo }) => plain(repo)],
  ['On', ({ isEnabled }) => (isEnabled ? 'yes' : 'no')],
  ['Fired', ({ lastFiredAt }) => <Age at={lastFiredAt} />],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
  ['Now', (trigger) => <Switch mutation={UpdateTriggerDocument} of={trigger} />],
]

/** The list. */
export function Triggers(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <>
      <AutomationTabs />
      <List
        title="Triggers"
        document={TriggersDocument}
        read={({ triggers }) => triggers}
        columns={columns}
        folder="automation/triggers"
        create={{
          title: 'New trigger',
          form: (close) => (
            <NewTrigger
              onDone={({ createTrigger }) =>
                createTrigger && void navigate({ to: `/o/${org}/automation/triggers/${createTrigger.trigger.id}` })
              }
              onClose={close}
            />
          ),
        }}
        empty={
          <p>
            A trigger begins a session when something happens in a repository at GitHub, which must{' '}
            <a href="/docs/automation.md#triggers">deliver its events here</a>.
          </p>
        }
      />
    </>
  )
}

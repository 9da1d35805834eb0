/** One environment: what its machine is like, and which sessions work in it. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import {
  ArchiveEnvironmentDocument,
  DeleteEnvironmentDocument,
  EnvironmentDocument,
  type Environment,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { SessionTable } from '../sessions/table.tsx'
import { ChangeEnvironment } from './form.tsx'
import { Machine } from './machine.tsx'

type Known = NonNullable<Environment['environment']>

/** The page. */
export function EnvironmentPage(): ReactNode {
  return (
    <ReadObject document={EnvironmentDocument} read={({ environment }) => environment} what="environment">
      {(environment) => <Shown environment={environment} />}
    </ReadObject>
  )
}

function Shown({ environment }: { environment: Known }): ReactNode {
  const { id } = environment
  return (
    <ObjectPage
      folder="environments"
      kind="Environments"
      name={environment.name}
      id={id}
      state={<State status={environment.environmentStatus} />}
      actions={<Actions environment={environment} />}
      tabs={[
        ['definition', 'Definition', () => <Definition environment={environment} />],
        [
          'sessions',
          'Sessions',
          () => <SessionTable sessions={environment.sessions?.nodes ?? []} empty="No session has worked in it yet." />,
        ],
      ]}
    />
  )
}

function Actions({ environment }: { environment: Known }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  const { id, name, archivedAt } = environment
  const variables = { input: { id } }
  return (
    <span className="buttons">
      {!archivedAt && (
        <>
          <Open isPrimary={false} onClick={() => setIsChanging(true)}>
            Change
          </Open>
          <Act
            mutation={ArchiveEnvironmentDocument}
            variables={variables}
            ask={{
              question: `Archive ${plain(name)}?`,
              text: 'Its machine is deleted, with its disk. This cannot be undone.',
            }}
          >
            Archive
          </Act>
        </>
      )}
      <Act
        mutation={DeleteEnvironmentDocument}
        variables={variables}
        ask={{ question: `Delete ${plain(name)}?`, text: 'It goes with its machine and its disk.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {isChanging && <ChangeEnvironment environment={environment} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function Definition({ environment: { description, statusReason, config, vmId, createdAt } }: { environment: Known }) {
  const { org } = useParams({ from: '/o/$org' })
  return (
    <>
      {statusReason && <p className="note">{plain(statusReason)}</p>}
      <Facts
        facts={[
          ['What for', description ? plain(description) : undefined],
          [
            'Machine',
            vmId ? (
              <Link key="vm" to={`/o/${org}/vms/${vmId}`}>
                {vmId}
              </Link>
            ) : (
              'made when a tool first needs it'
            ),
          ],
          ['Made', <Age key="made" at={createdAt} />],
        ]}
      />
      {'memoryMb' in config ? <Machine config={config} /> : <p>Its tools run at your own client.</p>}
    </>
  )
}

/** One database: what is asked of it, how one connects, and its backups. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { DatabaseDocument, DeleteDatabaseDocument, type Database } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { Backups } from './backups.tsx'
import { Connect } from './connect.tsx'
import { Sql } from './sql.tsx'
import { Tables } from './tables.tsx'

type Known = NonNullable<Database['database']>

/** The page. */
export function DatabasePage(): ReactNode {
  return (
    <ReadObject document={DatabaseDocument} read={({ database }) => database} what="database">
      {(database) => <Shown database={database} />}
    </ReadObject>
  )
}

function Shown({ database }: { database: Known }): ReactNode {
  return (
    <ObjectPage
      folder="databases"
      kind="Databases"
      name={database.name}
      id={database.id}
      state={<State status={database.databaseStatus} isAsleep={database.isAsleep} />}
      actions={<Actions database={database} />}
      tabs={[
        ['sql', 'SQL', () => <Sql id={database.id} />],
        ['tables', 'Tables', () => <Tables id={database.id} />],
        ['connect', 'Connect', () => <Connect database={database} />],
        ['backups', 'Backups', () => <Backups database={database} />],
      ]}
    />
  )
}

function Actions({ database: { id, name } }: { database: Known }): ReactNode {
  const navigate = useNavigate()
  return (
    <Act
      mutation={DeleteDatabaseDocument}
      variables={{ input: { id } }}
      least="ADMIN"
      ask={{
        question: `Delete ${plain(name)}?`,
        text: 'For 7 days undeleteDatabase of the API brings it back, by its id; then its data is gone, too.',
        submit: 'Delete the database',
      }}
      onDone={() => void navigate({ to: '..' })}
    >
      Delete
    </Act>
  )
}

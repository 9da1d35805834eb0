/** A database's backups, and how far a restore has come. */
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import {
  CreateBackupDocument,
  RestoreBackupDocument,
  RestoresDocument,
  type Database,
  type RestoreRow,
} from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, bytesOf } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

type Known = NonNullable<Database['database']>

/** The tab. */
export function Backups({ database }: { database: Known }): ReactNode {
  const backups = database.backups?.nodes ?? []
  return (
    <>
      <Act mutation={CreateBackupDocument} variables={{ input: { databaseId: database.id } }} least="ADMIN" isPrimary>
        Back up now
      </Act>
      <Restores id={database.id} />
      {backups.length === 0 ? (
        <div className="empty">
          <p>There is no backup yet.</p>
        </div>
      ) : (
        <Table label="Backups" heads={['Made', 'Status', 'Size', 'Why', 'Restored for a test', 'Go back']}>
          {backups.map((backup) => (
            <tr key={backup.id}>
              <td>
                <Age at={backup.createdAt} />
              </td>
              <td>
                <State status={backup.backupStatus} /> {backup.error && <small>{plain(backup.error)}</small>}
              </td>
              <td>{bytesOf(backup.sizeBytes)}</td>
              <td>{wordOf(backup.triggeredBy)}</td>
              <td>
                <Age at={backup.verifiedAt} />
              </td>
              <td>
                {backup.completedAt && (
                  <Act
                    mutation={RestoreBackupDocument}
                    variables={{ input: { id: backup.id } }}
                    least="ADMIN"
                    ask={{
                      question: `Restore ${plain(database.name)}?`,
                      text: `It goes back to ${new Date(backup.createdAt).toLocaleString()}. What was written since is kept in a backup that is made first.`,
                    }}
                  >
                    Restore
                  </Act>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

function Restores({ id }: { id: string }): ReactNode {
  const [{ data }] = useKeptQuery({ query: RestoresDocument, variables: { id } })
  const restores = data?.database?.restores?.nodes ?? []
  if (restores.length === 0) return null
  return (
    <section>
      <h2>Restores</h2>
      <Table label="Restores" heads={['Begun', 'Status', 'Progress']}>
        {restores.map((restore) => (
          <tr key={restore.id}>
            <td>
              <Age at={restore.createdAt} />
            </td>
            <td>
              <State status={restore.restoreStatus} /> {restore.error && <small>{plain(restore.error)}</small>}
            </td>
            <td>
              <Progress restore={restore} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Progress({ restore: { progress } }: { restore: RestoreRow }): ReactNode {
  const { step, loadedBytes, backupBytes } = progress
  return (
    <>
      {wordOf(step)}, {bytesOf(loadedBytes)} of {bytesOf(backupBytes)}{' '}
      <progress aria-label="Loaded" max={Number(backupBytes) || 1} value={Number(loadedBytes)} />
    </>
  )
}

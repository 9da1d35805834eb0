/** How clients of Postgres get in to a database, and another password for who has lost it. */
import { useState, type ReactNode } from 'react'
import { RotateDatabaseTokenDocument, type Database } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, sizeOf } from '../parts/age.tsx'
import { Copy, Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Project } from './move.tsx'

/** The tab. */
export function Connect({ database }: { database: NonNullable<Database['database']> }): ReactNode {
  const { id, host, connectionUri, pgUser, pgDatabase } = database
  const [address, setAddress] = useState<string>()
  return (
    <>
      {database.statusReason && <p className="note">{plain(database.statusReason)}</p>}
      <p>With psql; it asks for the password, which was shown when the database was made:</p>
      <p>
        <Copy text={`psql "${connectionUri}"`} label="command" />
      </p>
      <div className="buttons">
        <Act
          mutation={RotateDatabaseTokenDocument}
          variables={{ input: { id } }}
          least="ADMIN"
          ask={{
            question: `Another password for ${plain(database.name)}?`,
            text: 'The one before ends at once, and with it every connection that used it.',
            submit: 'Make another',
          }}
          onDone={(made) => setAddress(made.rotateDatabaseToken?.credentials.connectionUri)}
        >
          Another password
        </Act>
      </div>
      {address && (
        <Dialog title="Your database">
          <Secret text={address} label="address with its password" onDone={() => setAddress(undefined)} />
        </Dialog>
      )}
      <Facts
        facts={[
          ['Host, by its own name', <code key="host">{host}</code>],
          ['Database', <code key="database">{pgDatabase}</code>],
          ['User', <code key="user">{pgUser}</code>],
          ['Size', `${database.vcpuCount} vCPU, ${sizeOf(database.memoryMb)} memory, ${sizeOf(database.diskMb)} disk`],
          [
            'Clients',
            database.isClientModeEnabled ? 'let in, each with its own token' : 'only the database’s own user',
          ],
          ['Sleeps', database.sleepAfterSeconds ? `after ${database.sleepAfterSeconds} s without use` : 'never'],
          ['Project', <Project key="project" database={database} />],
          ['Made', <Age key="made" at={database.createdAt} />],
        ]}
      />
    </>
  )
}

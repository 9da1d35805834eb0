/** The organization's databases. */
import { useState, type ReactNode } from 'react'
import { CreateDatabaseDocument, DatabasesDocument, type DatabaseRow } from '../generated/documents.ts'
import { Age, sizeOf } from '../parts/age.tsx'
import { Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { offers } from '../offers/offers.ts'
import { Picker } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'

const columns: readonly Column<DatabaseRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ databaseStatus, isAsleep }) => <State status={databaseStatus} isAsleep={isAsleep} />],
  ['Size', ({ vcpuCount, memoryMb }) => `${vcpuCount} vCPU, ${sizeOf(memoryMb)}`],
  ['Disk', ({ diskMb }) => sizeOf(diskMb)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Databases(): ReactNode {
  const [address, setAddress] = useState<string>()
  return (
    <>
      <List
        title="Databases"
        document={DatabasesDocument}
        variables={(text) => (text ? { filter: { text } } : {})}
        read={({ databases }) => databases}
        columns={columns}
        folder="databases"
        create={{
          title: 'New database',
          least: 'ADMIN',
          form: (close) => (
            <FormDialog
              title="New database"
              mutation={CreateDatabaseDocument}
              input={({ text, number }) => ({
                name: text('name'),
                memoryMb: number('memory'),
                diskMb: number('disk'),
                projectId: text('project'),
                wait: false,
              })}
              submit="Create"
              onDone={(made) => {
                close()
                setAddress(made.createDatabase?.credentials.connectionUri)
              }}
              onClose={close}
            >
              <Field name="name" label="Name" placeholder="Chosen for you" autoFocus />
              <Picker
                name="project"
                label="Project"
                of={offers.projects}
                none="None"
                hint="Its VMs reach the database by name."
              />
              <div className="row">
                <Field name="memory" label="Memory, MB" type="number" min={256} placeholder="1024" />
                <Field name="disk" label="Disk, MB" type="number" min={1024} placeholder="10240" />
              </div>
            </FormDialog>
          ),
        }}
        empty={<p>A Postgres of its own, with backups that are restored to see that they are good.</p>}
      />
      {address && (
        <Dialog title="Your database">
          <Secret text={address} label="address with its password" onDone={() => setAddress(undefined)} />
        </Dialog>
      )}
    </>
  )
}

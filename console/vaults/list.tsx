/** Vaults: secrets that sessions use without seeing them. */
import type { ReactNode } from 'react'
import { CreateVaultDocument, VaultsDocument, type VaultRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { filterOf, List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<VaultRow>[] = [
  ['Name', ({ displayName }) => plain(displayName)],
  ['State', ({ archivedAt }) => (archivedAt ? 'archived' : 'in use')],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Vaults(): ReactNode {
  return (
    <List
      title="Vaults"
      document={VaultsDocument}
      variables={(text, includeArchived) => filterOf({ text, includeArchived })}
      hasArchived
      read={({ vaults }) => vaults}
      columns={columns}
      folder="vaults"
      create={{
        title: 'New vault',
        form: (close) => (
          <FormDialog
            title="New vault"
            mutation={CreateVaultDocument}
            input={({ text }) => ({ displayName: text('name') ?? '' })}
            submit="Create"
            onDone={close}
            onClose={close}
          >
            <Field name="name" label="Name" required autoFocus />
          </FormDialog>
        ),
      }}
      empty={
        <p>
          A vault keeps credentials of tool servers and of hosts. Sessions use them; neither the model nor its machine
          sees one.
        </p>
      }
    />
  )
}

/** The organization itself: its name, and what it stores. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { usePerson } from '../app/person.tsx'
import { SettingsDocument, UpdateOrganizationDocument } from '../generated/documents.ts'
import { Open } from '../parts/act.tsx'
import { bytesOf } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { Heading } from '../parts/heading.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

/** The page. */
export function Settings(): ReactNode {
  const [isNaming, setIsNaming] = useState(false)
  const [{ data, error }] = useKeptQuery({ query: SettingsDocument })
  const { refresh } = usePerson()
  const navigate = useNavigate()
  const close = (): void => setIsNaming(false)
  const organization = data?.viewer?.organization
  if (error && !organization) return <Problem error={error} />
  if (!organization) return null
  return (
    <>
      <div className="head">
        <Heading>Settings</Heading>
        <span className="grow" />
        <Open least="OWNER" isPrimary={false} onClick={() => setIsNaming(true)}>
          Rename {plain(organization.name)}
        </Open>
      </div>
      <h2>What it stores</h2>
      <Table label="Storage" heads={['What', 'Used', 'At most']}>
        {organization.storage?.map(({ name, usedBytes, limitBytes }) => (
          <tr key={name}>
            <td>{wordOf(name)}</td>
            <td>{bytesOf(usedBytes)}</td>
            <td>{limitBytes === null || limitBytes === undefined ? 'no limit' : bytesOf(limitBytes)}</td>
          </tr>
        ))}
      </Table>
      {isNaming && (
        <FormDialog
          title="Rename the organization"
          mutation={UpdateOrganizationDocument}
          input={({ text }) => ({ name: text('name') })}
          submit="Rename"
          onDone={(changed) => {
            close()
            const name = changed.updateOrganization?.organization.name
            if (name) void refresh().then(() => navigate({ to: '/o/$org', params: { org: name } }))
          }}
          onClose={close}
        >
          <Field
            name="name"
            label="Name"
            defaultValue={organization.name}
            required
            hint="Addresses of the console that have the old name lead nowhere then."
          />
        </FormDialog>
      )}
    </>
  )
}

/** The organization's domains. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CreateDomainDocument, DomainsDocument, type DomainRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'

const columns: readonly Column<DomainRow>[] = [
  ['Name', ({ name, path }) => plain(path === '/' ? name : `${name}${path}`)],
  ['Status', ({ domainStatus }) => <State status={domainStatus} />],
  ['Leads to', ({ targetType }) => (targetType ? wordOf(targetType) : 'nothing yet')],
  ['Looked at', ({ checkedAt }) => <Age at={checkedAt} />],
  ['Added', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Domains(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Domains"
      document={DomainsDocument}
      variables={(text) => (text ? { filter: { text } } : {})}
      read={({ domains }) => domains}
      columns={columns}
      folder="domains"
      create={{
        title: 'Add a domain',
        least: 'ADMIN',
        form: (close) => (
          <FormDialog
            title="Add a domain"
            mutation={CreateDomainDocument}
            input={({ text, number }) => ({ domain: text('name') ?? '', vmId: text('vm'), vmPort: number('port') })}
            submit="Add"
            onDone={({ createDomain }) =>
              createDomain && void navigate({ to: `/o/${org}/domains/${createDomain.domain.id}` })
            }
            onClose={close}
          >
            <Field name="name" label="Name" placeholder="www.example.com" required autoFocus />
            <div className="row">
              <Field name="vm" label="Id of the VM" placeholder="vm_…" hint="It can be linked later." />
              <Field name="port" label="Port" type="number" min={1} max={65535} placeholder="8080" />
            </div>
          </FormDialog>
        ),
      }}
      empty={<p>A name of your own for a VM or a function, with a certificate that is renewed by itself.</p>}
    />
  )
}

/** What a domain leads to: a port of a VM, or a function. */
import { useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import {
  DomainTargetsDocument,
  LinkDomainDocument,
  UnlinkDomainDocument,
  type DomainRow,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { plain } from '../parts/plain.ts'

/** A button that links it, or that takes its link away: it leads to one thing at a time. */
export function Link({ domain: { id, name, targetType } }: { domain: DomainRow }): ReactNode {
  const [isOpen, setIsOpen] = useState(false)
  if (targetType)
    return (
      <Act
        mutation={UnlinkDomainDocument}
        variables={{ input: { domain: id } }}
        least="ADMIN"
        ask={{ question: `Unlink ${plain(name)}?`, text: 'Nothing is served at this name until it is linked again.' }}
      >
        Unlink
      </Act>
    )
  return (
    <>
      <Open least="ADMIN" isPrimary={false} onClick={() => setIsOpen(true)}>
        Link
      </Open>
      {isOpen && (
        <FormDialog
          title={`Link ${plain(name)}`}
          mutation={LinkDomainDocument}
          input={({ text, number }) => {
            const target = text('target') ?? ''
            const isVm = target.startsWith('vm_')
            return { domain: id, ...(isVm ? { vmId: target, vmPort: number('port') } : { functionId: target }) }
          }}
          submit="Link"
          onDone={() => setIsOpen(false)}
          onClose={() => setIsOpen(false)}
        >
          <Target />
        </FormDialog>
      )}
    </>
  )
}

function Target(): ReactNode {
  const [{ data }] = useKeptQuery({ query: DomainTargetsDocument })
  const [target, setTarget] = useState('')
  const vms = data?.vms?.nodes.map((vm) => [vm.id, `VM ${plain(vm.name ?? vm.id)}`] as const) ?? []
  const functions = data?.functions?.nodes.map((one) => [one.id, `function ${plain(one.name)}`] as const) ?? []
  return (
    <>
      <Choice
        name="target"
        label="To"
        required
        value={target}
        options={[['', 'Choose a VM or a function'], ...vms, ...functions]}
        onChange={({ target: { value } }) => setTarget(value)}
      />
      {!target.startsWith('fn_') && (
        <Field
          name="port"
          label="Port"
          type="number"
          min={1}
          max={65535}
          placeholder="8080"
          required
          hint="Where a server listens in the VM."
        />
      )}
    </>
  )
}

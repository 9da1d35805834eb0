/** The form that gives a stopped VM another size. */
import type { ReactNode } from 'react'
import { UpdateVmDocument, type UpdateVmInput } from '../generated/documents.ts'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { plain } from '../parts/plain.ts'

/** The form. */
export function ResizeVm({
  vm: { id, name, vcpuCount, memoryMb, diskMb },
  onClose,
}: {
  vm: { id: string; name: string; vcpuCount: number; memoryMb: number; diskMb: number }
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title={`Size of ${plain(name)}`}
      mutation={UpdateVmDocument}
      input={({ number }): UpdateVmInput => ({
        id,
        vcpuCount: number('vcpus'),
        memoryMb: number('memory'),
        diskMb: number('disk'),
      })}
      submit="Change the size"
      onDone={onClose}
      onClose={onClose}
    >
      <p>It has this size from its next start on. What is on its disk stays.</p>
      <Field name="vcpus" label="vCPUs" type="number" min={1} max={16} defaultValue={vcpuCount} autoFocus />
      <Field name="memory" label="Memory, MB" type="number" min={256} max={65_536} defaultValue={memoryMb} />
      <Field
        name="disk"
        label="Disk, MB"
        type="number"
        min={diskMb}
        max={204_800}
        defaultValue={diskMb}
        hint="A disk grows, and never shrinks."
      />
    </FormDialog>
  )
}

/** The form of a new VM. */
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { CreateVmDocument, TemplatesDocument, type CreateVmInput } from '../generated/documents.ts'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { offers } from '../offers/offers.ts'
import { Picker } from '../offers/picker.tsx'

function read({ text, number }: Given): CreateVmInput {
  return {
    name: text('name'),
    templateId: text('template'),
    projectId: text('project'),
    vcpuCount: number('vcpus'),
    memoryMb: number('memory'),
    idleSeconds: number('idle'),
    wait: false, // its page shows how it starts
  }
}

/** The form. */
export function CreateVm({ onDone, onClose }: { onDone: (id: string) => void; onClose: () => void }): ReactNode {
  const [{ data }] = useKeptQuery({ query: TemplatesDocument })
  const templates = data?.templates?.nodes ?? []
  return (
    <FormDialog
      title="New VM"
      mutation={CreateVmDocument}
      input={read}
      submit="Create"
      onDone={(made) => made.createVm && onDone(made.createVm.vm.id)}
      onClose={onClose}
    >
      <Field name="name" label="Name" placeholder="Chosen for you" autoFocus />
      <Choice
        name="template"
        label="Template"
        options={[['', 'The usual one'], ...templates.map(({ id, name }) => [id, name] as const)]}
      />
      <Picker
        name="project"
        label="Project"
        of={offers.projects}
        none="None"
        hint="It reaches the databases of its project, and stays in it."
      />
      <div className="row">
        <Field name="vcpus" label="vCPUs" type="number" min={1} placeholder="2" />
        <Field name="memory" label="Memory, MB" type="number" min={256} step={256} placeholder="2048" />
      </div>
      <Field
        name="idle"
        label="Sleep after, seconds without use"
        type="number"
        min={10}
        placeholder="Never"
        hint="Whoever comes wakes it, with its memory. While it sleeps it costs nothing."
      />
    </FormDialog>
  )
}

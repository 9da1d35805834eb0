/** Which project a database is in, and the form that moves it. */
import { useState, type ReactNode } from 'react'
import {
  MoveDatabaseToProjectDocument,
  type DatabasePlace,
  type MoveDatabaseToProjectInput,
} from '../generated/documents.ts'
import { Open } from '../parts/act.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { offers } from '../offers/offers.ts'
import { Picker } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { ProjectLink } from '../projects/link.tsx'

/** The project, and a button that opens the form. */
export function Project({ database }: { database: DatabasePlace & { name: string } }): ReactNode {
  const [isMoving, setIsMoving] = useState(false)
  const { project, networkName } = database
  const close = (): void => setIsMoving(false)
  return (
    <>
      <ProjectLink project={project} />
      {networkName && (
        <>
          , whose VMs reach it at <code>{plain(networkName)}</code>
        </>
      )}{' '}
      <Open least="ADMIN" isPrimary={false} onClick={() => setIsMoving(true)}>
        Move
      </Open>
      {isMoving && <Move database={database} onClose={close} />}
    </>
  )
}

function Move({
  database: { id, name, project, networkName },
  onClose,
}: {
  database: DatabasePlace & { name: string }
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title={`Move ${plain(name)}`}
      mutation={MoveDatabaseToProjectDocument}
      input={({ text }): MoveDatabaseToProjectInput => {
        const projectId = text('project') ?? null
        return { id, projectId, ...(projectId ? { networkName: text('host') } : {}) }
      }}
      submit="Move"
      onDone={onClose}
      onClose={onClose}
    >
      <p>The VMs of its project reach it by name. Those of a project that it leaves do not any more.</p>
      <Picker name="project" label="Project" of={offers.projects} chosen={project?.id} none="None" />
      <Field
        name="host"
        label="Name at which they reach it"
        placeholder="Chosen for you"
        defaultValue={networkName ?? ''}
        hint="Lower-case letters, digits and hyphens."
      />
    </FormDialog>
  )
}

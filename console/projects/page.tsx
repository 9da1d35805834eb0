/** One project: its VMs and databases. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import {
  DeleteProjectDocument,
  ProjectDocument,
  UpdateProjectDocument,
  type Project,
  type ProjectRow,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { ShortList } from '../parts/short-list.tsx'

type Answer = { project: NonNullable<Project['project']> } & Pick<Project, 'vms' | 'databases'>

/** The page. */
export function ProjectPage(): ReactNode {
  return (
    <ReadObject
      document={ProjectDocument}
      read={({ project, ...inIt }) => (project ? { project, ...inIt } : undefined)}
      what="project"
    >
      {(answer) => <Shown answer={answer} />}
    </ReadObject>
  )
}

function Shown({ answer }: { answer: Answer }): ReactNode {
  const { project, vms, databases } = answer
  const inIt = (vms?.totalCount ?? 0) + (databases?.totalCount ?? 0)
  const navigate = useNavigate()
  return (
    <ObjectPage
      folder="projects"
      kind="Projects"
      name={project.name}
      id={project.id}
      actions={
        <span className="buttons">
          <Rename project={project} />
          <Act
            mutation={DeleteProjectDocument}
            variables={{ input: { id: project.id } }}
            why={
              inIt > 0
                ? 'It has VMs or databases: delete its VMs, and move its databases to another project, first.'
                : undefined
            }
            ask={{
              question: `Delete ${plain(project.name)}?`,
              text: 'It is empty. This cannot be undone.',
              submit: 'Delete the project',
            }}
            onDone={() => void navigate({ to: '..' })}
          >
            Delete
          </Act>
        </span>
      }
      tabs={[
        [
          'vms',
          `VMs (${vms?.totalCount ?? 0})`,
          () => (
            <ShortList
              label="VMs"
              folder="vms"
              of={vms}
              statusOf={({ vmStatus }) => vmStatus}
              none="It has no VM. Name the project when you create one by the API."
            />
          ),
        ],
        [
          'databases',
          `Databases (${databases?.totalCount ?? 0})`,
          () => (
            <ShortList
              label="Databases"
              folder="databases"
              of={databases}
              statusOf={({ databaseStatus }) => databaseStatus}
              none="It has no database."
            />
          ),
        ],
      ]}
    />
  )
}

function Rename({ project: { id, name } }: { project: ProjectRow }): ReactNode {
  const [isOpen, setIsOpen] = useState(false)
  const close = (): void => setIsOpen(false)
  return (
    <>
      <Open isPrimary={false} onClick={() => setIsOpen(true)}>
        Rename
      </Open>
      {isOpen && (
        <FormDialog
          title="Rename the project"
          mutation={UpdateProjectDocument}
          input={({ text }) => ({ id, name: text('name') })}
          submit="Rename"
          onDone={close}
          onClose={close}
        >
          <Field name="name" label="Name" defaultValue={name} required autoFocus />
        </FormDialog>
      )}
    </>
  )
}

/** The organization's projects. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CreateProjectDocument, ProjectsDocument, type ProjectRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { filterOf, List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<ProjectRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Made by', ({ createdBy }) => createdBy && plain(createdBy.name)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Projects(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Projects"
      document={ProjectsDocument}
      variables={(text) => filterOf({ text })}
      read={({ projects }) => projects}
      columns={columns}
      folder="projects"
      create={{
        title: 'New project',
        form: (close) => (
          <FormDialog
            title="New project"
            mutation={CreateProjectDocument}
            input={({ text }) => ({ name: text('name') ?? '' })}
            submit="Create"
            onDone={({ createProject }) => {
              close()
              if (createProject) void navigate({ to: `/o/${org}/projects/${createProject.project.id}` })
            }}
            onClose={close}
          >
            <Field name="name" label="Name" required autoFocus hint="VMs of a project reach its databases by name." />
          </FormDialog>
        ),
      }}
      empty={<p>A project is what belongs together: databases, and the VMs that reach them by name.</p>}
    />
  )
}

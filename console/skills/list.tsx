/** Skills: instructions and files for one kind of work. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { UploadDialog } from '../files/upload.tsx'
import { CreateSkillDocument, SkillsDocument, type SkillRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<SkillRow>[] = [
  ['Skill', ({ displayName }) => plain(displayName)],
  ['Name', ({ name }) => <code>{plain(name)}</code>],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Skills(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <>
      <List
        title="Skills"
        document={SkillsDocument}
        read={({ skills }) => skills}
        columns={columns}
        folder="skills"
        create={{
          title: 'Upload a skill',
          form: (close) => (
            <UploadDialog
              title="Upload a skill"
              label="Its folder, as a zip"
              accept=".zip"
              mutation={CreateSkillDocument}
              input={(binaryUrl, { text }) => ({ binaryUrl, displayName: text('name') })}
              onDone={({ createSkill }) =>
                createSkill && void navigate({ to: `/o/${org}/skills/${createSkill.skill.id}` })
              }
              onClose={close}
            >
              <Field name="name" label="Name to show" placeholder="That in SKILL.md" />
            </UploadDialog>
          ),
        }}
        empty={
          <p>
            A skill is a folder with a SKILL.md: instructions for one kind of work, with the scripts and templates that
            they need. Agents use those that they name.
          </p>
        }
      />
    </>
  )
}

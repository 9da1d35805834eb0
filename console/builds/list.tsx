/** The organization's builds. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { BuildsDocument, CreateBuildDocument, type BuildRow } from '../generated/documents.ts'
import { Age, spanOf } from '../parts/age.tsx'
import { Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'

const columns: readonly Column<BuildRow>[] = [
  ['Build', ({ repoUrl, id }) => plain(repoUrl ?? id)],
  ['Status', ({ buildStatus }) => <State status={buildStatus} />],
  ['Commit', ({ commitSha, gitRef }) => plain(commitSha?.slice(0, 8) ?? gitRef ?? '–')],
  ['Took', tookOf],
  ['Queued', ({ queuedAt }) => <Age at={queuedAt} />],
]

/** The list. */
export function Builds(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Builds"
      document={BuildsDocument}
      variables={(text) => (text ? { filter: { text } } : {})}
      read={({ builds }) => builds}
      columns={columns}
      folder="builds"
      create={{
        title: 'New build',
        form: (close) => (
          <FormDialog
            title="New build"
            mutation={CreateBuildDocument}
            input={({ text }) => ({
              repoUrl: text('repo'),
              gitRef: text('ref'),
              spec: {
                commands: text('commands')
                  ?.split('\n')
                  .filter((line) => line.trim()),
              },
            })}
            submit="Build"
            onDone={({ createBuild }) =>
              createBuild && void navigate({ to: `/o/${org}/builds/${createBuild.build.id}` })
            }
            onClose={close}
          >
            <Field
              name="repo"
              label="Repository"
              type="url"
              placeholder="https://…"
              hint="Without one, the commands run in an empty folder."
            />
            <Field name="ref" label="Branch, tag or commit" placeholder="The usual one" />
            <TextArea name="commands" label="Commands, one a line" required />
          </FormDialog>
        ),
      }}
      empty={
        <p>
          A build runs your commands in a machine of its own, and keeps what they make: an artifact, a function, a
          template.
        </p>
      }
    />
  )
}

function tookOf({ startedAt, finishedAt }: BuildRow): string {
  if (!startedAt || !finishedAt) return '–'
  return spanOf((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)
}

/** The person's groups: sessions that talk with them and with each other. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { CreateGroupDocument, GroupsDocument, GroupSessionsDocument, type GroupRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Checks, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<GroupRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Members', ({ memberIds }) => memberIds.length],
  ['What for', ({ description }) => description && plain(description)],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
]

/** The list. */
export function Groups(): ReactNode {
  return (
    <>
      <List
        title="Groups"
        document={GroupsDocument}
        read={({ groups }) => groups}
        columns={columns}
        folder="groups"
        create={{ title: 'New group', form: (close) => <NewGroup onClose={close} /> }}
        empty={<p>A group is two to eight sessions that talk with you and with each other, each in its environment.</p>}
      />
    </>
  )
}

function NewGroup({ onClose }: { onClose: () => void }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  const [{ data, fetching }] = useKeptQuery({ query: GroupSessionsDocument, requestPolicy: 'network-only' })
  const sessions = data?.sessions?.nodes.filter(({ environmentId }) => environmentId !== null) ?? []
  return (
    <FormDialog
      title="New group"
      mutation={CreateGroupDocument}
      input={({ text, all }) => ({
        name: text('name'),
        description: text('description'),
        memberIds: all('members') ?? [],
      })}
      submit="Create"
      onDone={({ createGroup }) => createGroup && void navigate({ to: `/o/${org}/groups/${createGroup.group.id}` })}
      onClose={onClose}
    >
      <Field name="name" label="Name" placeholder="The names of its members" autoFocus />
      <Field name="description" label="What for" />
      {sessions.length > 0 && (
        <Checks
          name="members"
          label="Members"
          hint="Two to eight."
          options={sessions.map(({ id, title, definition }) => [id, plain(`${definition.name}: ${title ?? id}`)])}
        />
      )}
      {!fetching && sessions.length === 0 && (
        <p className="note">Members are sessions with an environment, and you have none yet: begin two first.</p>
      )}
    </FormDialog>
  )
}

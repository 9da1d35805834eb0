/** One group: what is said in it, who is at work on an answer, and what they ask. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { DeleteGroupDocument, GroupDocument, UpdateGroupDocument, type Group } from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Conversation } from './conversation.tsx'

type Known = NonNullable<Group['group']>

/** The page. */
export function GroupPage(): ReactNode {
  return (
    <ReadObject document={GroupDocument} read={({ group }) => group} what="group">
      {(group) => <Shown group={group} />}
    </ReadObject>
  )
}

function Shown({ group }: { group: Known }): ReactNode {
  const { id } = group
  return (
    <ObjectPage
      folder="groups"
      kind="Groups"
      name={group.name}
      id={id}
      actions={<Actions group={group} />}
      tabs={[
        ['conversation', 'Conversation', () => <Conversation group={group} />],
        ['members', 'Members', () => <Members group={group} />],
        ['runs', 'Runs', () => <Runs group={group} />],
      ]}
    />
  )
}

function Actions({ group: { id, name, description } }: { group: Known }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  const close = (): void => setIsChanging(false)
  return (
    <span className="buttons">
      <Open isPrimary={false} onClick={() => setIsChanging(true)}>
        Change
      </Open>
      <Act
        mutation={DeleteGroupDocument}
        variables={{ input: { id } }}
        ask={{ question: `Delete ${plain(name)}?`, text: 'What was said in it goes with it. Its sessions stay.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {isChanging && (
        <FormDialog
          title={`Change ${plain(name)}`}
          mutation={UpdateGroupDocument}
          input={({ text }) => ({ id, name: text('name') ?? '', description: text('description') ?? null })}
          submit="Change"
          onDone={close}
          onClose={close}
        >
          <Field name="name" label="Name" defaultValue={name} required autoFocus />
          <Field name="description" label="What for" defaultValue={description ?? ''} />
        </FormDialog>
      )}
    </span>
  )
}

function Members({ group: { members } }: { group: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  return (
    <>
      <p className="soft">Its members are those that it was made with. For others, make another group.</p>
      <Table label="Members" heads={['Member', 'Called by', 'Status', 'Agent']}>
        {members.map(({ sessionId, displayName, handle, memberStatus, agentId }) => (
          <tr key={sessionId}>
            <td>
              <Link to={`/o/${org}/sessions/${sessionId}`}>{plain(displayName)}</Link>
            </td>
            <td>
              <code>@{plain(handle)}</code>
            </td>
            <td>
              <State status={memberStatus} />
            </td>
            <td>
              <Link to={`/o/${org}/agents/${agentId}`}>{agentId}</Link>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Runs({ group: { runs, members } }: { group: Known }): ReactNode {
  const known = [...(runs?.nodes ?? [])].reverse()
  if (known.length === 0) return <p className="soft">Nobody has been asked anything yet.</p>
  return (
    <Table label="Runs" heads={['Member', 'Status', 'Since', 'Answer']}>
      {known.map(({ id, sessionId, runStatus, createdAt, reply, error }) => (
        <tr key={id}>
          <td>{plain(members.find((one) => one.sessionId === sessionId)?.handle ?? sessionId)}</td>
          <td>
            <State status={runStatus} />
          </td>
          <td>
            <Age at={createdAt} />
          </td>
          <td>{plain(reply?.text ?? error?.message ?? '')}</td>
        </tr>
      ))}
    </Table>
  )
}

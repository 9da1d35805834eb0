/** Who belongs to the organization, who is invited, the sessions of one's own browsers, and the programs that one has let in. */
import { useState, type ReactNode } from 'react'
import { useMutation } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import {
  BrowserSessionsDocument,
  CreateInvitationDocument,
  InstanceDocument,
  InvitationsDocument,
  MembersDocument,
  RemoveMemberDocument,
  RevokeBrowserSessionDocument,
  RevokeInvitationDocument,
  UpdateMemberDocument,
  type MemberRow,
  type Role,
} from '../generated/documents.ts'
import { useMay } from '../app/desk.tsx'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { toldBy } from '../parts/problem.tsx'
import { wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { OwnPrograms } from './programs.tsx'

const columns: readonly Column<MemberRow>[] = [
  ['Name', ({ user, id }) => plain(user?.name ?? id)],
  ['Role', (member) => <RoleOf member={member} />],
  ['E-mail', ({ email }) => email && plain(email)],
  ['Since', ({ createdAt }) => <Age at={createdAt} />],
  [
    'End',
    ({ id, user }) => (
      <Act
        mutation={RemoveMemberDocument}
        variables={{ input: { id } }}
        least="ADMIN"
        ask={{
          question: `Remove ${plain(user?.name ?? id)}?`,
          text: 'Their tokens are refused, their sessions stop, and the machines of their environments are deleted.',
        }}
      >
        Remove
      </Act>
    ),
  ],
]
const roles: readonly (readonly [Role, string])[] = [
  ['MEMBER', 'member'],
  ['VIEWER', 'viewer'],
  ['ADMIN', 'admin'],
  ['OWNER', 'owner'],
]

function RoleOf({ member: { id, role, user } }: { member: MemberRow }): ReactNode {
  const [{ error }, change] = useMutation(UpdateMemberDocument)
  const [chosen, setChosen] = useState<Role>()
  const { may } = useMay('ADMIN')
  if (!may) return wordOf(role)
  return (
    <>
      <select
        aria-label={`Role of ${plain(user?.name ?? id)}`}
        value={chosen ?? role}
        onChange={({ target }) => setChosen(target.value as Role)}
      >
        {roles.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>{' '}
      {chosen && chosen !== role && (
        <button
          type="button"
          onClick={() => {
            setChosen(undefined)
            void change({ input: { id, role: chosen } })
          }}
        >
          Change
        </button>
      )}
      {error && (
        <small role="alert" className="bad">
          {toldBy(error).message}
        </small>
      )}
    </>
  )
}

/** The page. */
export function Members(): ReactNode {
  const [isInviting, setIsInviting] = useState(false)
  const [link, setLink] = useState<string>()
  const { may } = useMay('ADMIN')
  const [{ data }] = useKeptQuery({ query: InstanceDocument })
  const canSendMail = data?.instance?.canSendMail ?? false
  return (
    <>
      <List
        title="Members"
        document={MembersDocument}
        read={({ members }) => members}
        columns={columns}
        actions={
          <Open least="ADMIN" onClick={() => setIsInviting(true)}>
            Invite
          </Open>
        }
        empty={<p>Nobody is a member.</p>}
      />
      {may && <Invited />}
      <OwnSessions />
      <OwnPrograms />
      {isInviting && (
        <FormDialog
          title="Invite somebody"
          mutation={CreateInvitationDocument}
          input={({ text }) => ({ role: text('role') as Role, note: text('note'), email: text('email') })}
          submit="Make a link"
          onDone={({ createInvitation }) => {
            setIsInviting(false)
            setLink(createInvitation?.url)
          }}
          onClose={() => setIsInviting(false)}
        >
          <Choice name="role" label="Role" options={roles} />
          {canSendMail && (
            <Field
              name="email"
              label="E-mail"
              type="email"
              hint="The link is sent there; without one, you send it yourself."
            />
          )}
          <Field name="note" label="Note" placeholder="For whom it is" hint="Only your admins see it." />
        </FormDialog>
      )}
      {link && (
        <Dialog title="An invitation">
          <Secret
            text={link}
            label="link, for the first person who opens it"
            what="send it to them, and to nobody else"
            onDone={() => setLink(undefined)}
          />
        </Dialog>
      )}
    </>
  )
}

function Invited(): ReactNode {
  const [{ data }] = useKeptQuery({ query: InvitationsDocument })
  const invitations = data?.invitations?.nodes.filter(({ acceptedAt }) => !acceptedAt) ?? []
  if (invitations.length === 0) return null
  return (
    <section>
      <h2>Invited</h2>
      <Table label="Invitations" heads={['For', 'Role', 'Invited', 'Holds', 'End']}>
        {invitations.map(({ id, note, role, createdAt, expiresAt }) => (
          <tr key={id}>
            <td>{plain(note ?? 'anybody')}</td>
            <td>{wordOf(role)}</td>
            <td>
              <Age at={createdAt} />
            </td>
            <td>
              <Age at={expiresAt} />
            </td>
            <td>
              <Act mutation={RevokeInvitationDocument} variables={{ input: { id } }} least="ADMIN">
                Take back
              </Act>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

/** The browser and system that a browser says it is, in the usual words. */
function browserIn(userAgent: string): string {
  const browser = /(Firefox|Edg|HeadlessChrome|Chrome|Version)\/(\d+)/.exec(userAgent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(userAgent)?.[1]
  if (!browser) return plain(userAgent)
  const name = { Edg: 'Edge', Version: 'Safari', HeadlessChrome: 'Chrome' }[browser[1] ?? ''] ?? browser[1]
  return `${name} ${browser[2]}${system ? `, ${system}` : ''}`
}

function OwnSessions(): ReactNode {
  const [{ data }, again] = useKeptQuery({ query: BrowserSessionsDocument })
  const sessions = data?.viewer?.browserSessions ?? []
  return (
    <section>
      <h2>Where you are signed in</h2>
      <Table label="Browsers" heads={['Browser', 'From', 'Used', 'End it']}>
        {sessions.map(({ id, userAgent, address, usedAt, isCurrent }) => (
          <tr key={id}>
            <td title={plain(userAgent)}>{browserIn(userAgent)}</td>
            <td>{address}</td>
            <td>
              <Age at={usedAt} />
            </td>
            <td>
              {isCurrent ? (
                'this one'
              ) : (
                <Act
                  mutation={RevokeBrowserSessionDocument}
                  variables={{ input: { id } }}
                  least="VIEWER"
                  onDone={() => again({ requestPolicy: 'network-only' })}
                >
                  End
                </Act>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

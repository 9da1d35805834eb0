/** The desk: one organization's pages, its client, its live events, and what the person's role lets them do. */
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from 'react'
import { Provider } from 'urql'
import { DeskDocument, ViewerDocument, type Role } from '../generated/documents.ts'
import { Problem } from '../parts/problem.tsx'
import { openBerth, type Berth } from './client.ts'
import { useKeptQuery } from './kept.ts'
import { followOrganization, type Connection } from './live.ts'
import { usePerson } from './person.tsx'

/** What every page of an organization knows. */
export type Desk = {
  organization: { id: string; name: string }
  role: Role
  berth: Berth
  connection: Connection
}

const DeskContext = createContext<Desk | null>(null)

/** The organization of this page. */
export function useDesk(): Desk {
  const desk = use(DeskContext)
  if (!desk) throw new Error('This page belongs to an organization.')
  return desk
}

/** Opens an organization, which the address names by its name or id, for the pages inside. */
export function ForOrganization({ named, children }: { named: string; children: ReactNode }): ReactNode {
  const { organizations, onSignedOut } = usePerson()
  const organization = organizations.find(({ id, name }) => name === named || id === named)
  const [opening, setOpening] = useState(0)
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- opened anew when the events since its cursor are gone
  const berth = useMemo(
    () => openBerth(organization?.id ?? null, onSignedOut),
    [organization?.id, onSignedOut, opening],
  )
  useEffect(() => () => berth.socket.dispose(), [berth])
  if (!organization)
    return (
      <main className="alone">
        <h1>No such organization</h1>
        <p>You are no member of an organization that is called so. Ask one of its admins for an invitation.</p>
        <a href="/">To your organizations</a>
      </main>
    )
  return (
    <Provider value={berth.client}>
      <OpenDesk key={opening} {...{ organization, berth }} onTooOld={() => setOpening((count) => count + 1)}>
        {children}
      </OpenDesk>
    </Provider>
  )
}

function OpenDesk({
  organization,
  berth,
  onTooOld,
  children,
}: Pick<Desk, 'organization' | 'berth'> & { onTooOld: () => void; children: ReactNode }): ReactNode {
  const [{ data, error }, again] = useKeptQuery({ query: DeskDocument })
  const [connection, setConnection] = useState<Connection>({ since: null })
  const cursor = data?.viewer?.organization?.eventCursor
  const role = data?.viewer?.role
  const [from, setFrom] = useState<string>()
  if (from === undefined && cursor) setFrom(cursor)
  useEffect(
    () => (from === undefined ? undefined : followOrganization(berth, from, setConnection, onTooOld)),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the rest is the same for as long as it is open
    [berth, from],
  )
  const { berth: person } = usePerson()
  const isLost = connection.since !== null
  useEffect(() => {
    // The session may have ended, which a socket that is refused does not say.
    if (isLost) void person.client.query(ViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  }, [person, isLost])
  const desk = useMemo(() => role && { organization, role, berth, connection }, [organization, role, berth, connection])
  if (error && !desk) return <Problem error={error} onRetry={() => again({ requestPolicy: 'network-only' })} />
  return desk ? <DeskContext value={desk}>{children}</DeskContext> : null
}

const ranks: readonly Role[] = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER']

/** Whether the person's role is at least this one; and if not, the sentence that says so. */
export function useMay(least: Role): { may: boolean; why: string | undefined } {
  const { role } = useDesk()
  const may = ranks.indexOf(role) >= ranks.indexOf(least)
  return { may, why: may ? undefined : `Your role is ${role.toLowerCase()}: ask ${whoMay[least]} to do this.` }
}

const whoMay: Readonly<Record<Role, string>> = {
  VIEWER: 'anybody',
  MEMBER: 'a member',
  ADMIN: 'an admin',
  OWNER: 'an owner',
}

/** Who is signed in: the person, their organizations, and the dialog that opens over the page when their session has ended. */
import { createContext, Fragment, use, useCallback, useEffect, useMemo, useState, type ReactNode } from 'react'
import { ViewerDocument, type Viewer } from '../generated/documents.ts'
import { Problem } from '../parts/problem.tsx'
import { isSignedOut, openBerth, type Berth } from './client.ts'
import { forgetDrafts } from './drafts.ts'
import { SignIn } from './sign-in.tsx'

/** A person, as the whole console knows them. */
export type Person = {
  id: string
  name: string
  organizations: readonly { id: string; name: string }[]
  /** A client for what belongs to no organization. */
  berth: Berth
  /** Reads the organizations again. */
  refresh: () => Promise<void>
  /** The session has ended: sign-in opens over the page, and drafts stay. */
  onSignedOut: () => void
}

const PersonContext = createContext<Person | null>(null)

/** The person of this page. */
export function usePerson(): Person {
  const person = use(PersonContext)
  if (!person) throw new Error('Nobody is signed in here.')
  return person
}

type Known = NonNullable<Viewer['viewer']>

/** Shows what is inside to whoever is signed in, and sign-in to everybody else. */
export function ForPerson({ children }: { children: ReactNode }): ReactNode {
  const [isOut, setIsOut] = useState(false)
  const [known, setKnown] = useState<Known | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const onSignedOut = useCallback(() => setIsOut(true), [])
  const berth = useMemo(() => openBerth(null, onSignedOut), [onSignedOut])

  const refresh = useCallback(async () => {
    const answer = await berth.client.query(ViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise()
    if (answer.data?.viewer?.user) {
      setKnown(answer.data.viewer)
      setError(null)
      setIsOut(false)
    } else if (!answer.error || isSignedOut(answer.error)) setIsOut(true)
    else setError(answer.error)
  }, [berth])
  useEffect(() => void refresh(), [refresh])

  const person = useMemo<Person | null>(
    () =>
      known && {
        id: known.user?.id ?? '',
        name: known.user?.name ?? '',
        organizations: known.organizations.nodes,
        berth,
        refresh,
        onSignedOut,
      },
    [known, berth, refresh, onSignedOut],
  )
  if (error && !person) return <Problem error={error} onRetry={() => void refresh()} />
  if (!person) return isOut ? <SignIn onSignedIn={refresh} /> : null
  return (
    <PersonContext value={person}>
      <Fragment key={known?.user?.id}>{children}</Fragment>
      {isOut && <SignIn isOver problem={error} onSignedIn={refresh} />}
    </PersonContext>
  )
}

/** Ends the session of this browser, and shows sign-in. */
export async function signOut(): Promise<void> {
  forgetDrafts()
  await fetch('/identity/session', { method: 'DELETE' })
  location.assign('/')
}

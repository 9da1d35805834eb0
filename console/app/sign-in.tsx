/** Sign-in at this machine: a name, an organization, and the code that Berth printed for everybody but who started it. */
import { lazy, Suspense, useEffect, useState, type SubmitEvent, type ReactNode } from 'react'
import { InstanceDocument, type Instance } from '../generated/documents.ts'
import { Field } from '../parts/field.tsx'
import { givenIn } from '../parts/given.ts'
import { Problem } from '../parts/problem.tsx'
import { openBerth } from './client.ts'
import { keepInvitation } from './invitation.ts'

const Dialog = lazy(async () => ({ default: (await import('../parts/dialog.tsx')).Dialog }))

type Refusal = { code: string; message: string }

/**
 * @param isOver whether it opens over a page whose session has ended.
 * @param problem why who has signed in is not known yet.
 */
export function SignIn({
  isOver = false,
  problem = null,
  onSignedIn,
}: {
  isOver?: boolean
  problem?: Error | null
  onSignedIn: () => Promise<void>
}): ReactNode {
  const form = <SignInForm onSignedIn={onSignedIn} />
  if (isOver)
    return (
      <Suspense>
        <Dialog title="Your session has ended">
          {problem && <Problem error={problem} onRetry={() => void onSignedIn()} />}
          {form}
        </Dialog>
      </Suspense>
    )
  return (
    <main className="alone">
      <h1>Sign in to Berth</h1>
      <p>A cloud for software agents: machines, databases, builds, functions and agents, on hosts of your own.</p>
      {form}
      <ForDevelopers />
    </main>
  )
}

/** Where those go on who came for the interface. */
function ForDevelopers(): ReactNode {
  return (
    <p className="soft">
      For programs: <a href="/graphql">GraphQL</a>, <a href="/docs">REST</a>, <a href="/guide">the guide</a>.
    </p>
  )
}

function SignInForm({ onSignedIn }: { onSignedIn: () => Promise<void> }): ReactNode {
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const instance = useInstance()

  async function submit(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const { text, has } = givenIn(event.currentTarget)
    setIsBusy(true)
    const refused = await beginSession({
      user: text('user'),
      organization: text('organization'),
      create: has('create'),
      code: text('code') ?? '',
    })
    setRefusal(refused)
    if (!refused) await onSignedIn()
    setIsBusy(false)
  }
  if (!instance) return null
  const { hasLocalSignIn, signInProviders } = instance
  const to = encodeURIComponent(`${location.pathname}${location.search}`)
  const ways = signInProviders.map((name) => (
    <p key={name}>
      <a className="button" href={`/identity/oidc/${name}?to=${to}`} onClick={keepInvitation}>
        Sign in with {name}
      </a>
    </p>
  ))
  if (!hasLocalSignIn)
    return ways.length > 0 ? (
      <>{ways}</>
    ) : (
      <p>
        Sign-in without a password works only in a browser of the machine that runs Berth, at <code>localhost</code>.
        Forward its port: <code>ssh -L 4000:localhost:4000 host</code>, then open <code>http://localhost:4000</code>.
      </p>
    )
  return (
    <form onSubmit={(event) => void submit(event)}>
      {ways}
      <p className="soft">
        At the machine that runs Berth nobody needs a password. Others come by an invitation, or as its operator lets
        them.
      </p>
      <Field name="user" label="Your name" defaultValue="alice" required autoComplete="username" />
      <Field name="organization" label="Organization" defaultValue="acme" required />
      <label className="check">
        <input type="checkbox" name="create" defaultChecked /> Create them if they are new
      </label>
      {refusal?.code === 'sign_in_code_required' && (
        <Field name="code" label="Code that Berth printed when it started" required autoComplete="one-time-code" />
      )}
      {refusal && (
        <p role="alert" className="bad">
          {refusal.message}
        </p>
      )}
      <button className="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  )
}

async function beginSession(person: Record<string, unknown>): Promise<Refusal | null> {
  try {
    const answer = await fetch('/identity/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-berth-sign-in': '1' },
      body: JSON.stringify(person),
    })
    if (answer.ok) return null
    const { error } = (await answer.json()) as { error?: Partial<Refusal> }
    return { code: error?.code ?? '', message: error?.message ?? `Berth answered ${answer.status}.` }
  } catch {
    return { code: '', message: 'Berth does not answer. Is it running?' }
  }
}

type Known = NonNullable<Instance['instance']>
/** What is tried where Berth does not say how people sign in. */
const unknown: Known = { version: '', hasLocalSignIn: true, signInProviders: [], canSendMail: false }

function useInstance(): Known | undefined {
  const [known, setKnown] = useState<Known>()
  useEffect(() => {
    const { client } = openBerth(null, () => undefined)
    void client
      .query(InstanceDocument, {})
      .toPromise()
      .then(({ data }) => setKnown(data?.instance ?? unknown))
  }, [])
  return known
}

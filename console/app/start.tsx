/** What a person sees who has named no organization: theirs, or how to make a first one; and the page at an invitation's link. */
import { Navigate, useNavigate } from '@tanstack/react-router'
import { useState, type SubmitEvent, type ReactNode } from 'react'
import type { CombinedError } from 'urql'
import { AcceptInvitationDocument, CreateOrganizationDocument } from '../generated/documents.ts'
import { Field } from '../parts/field.tsx'
import { givenIn } from '../parts/given.ts'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { invitationHere } from './invitation.ts'
import { usePerson } from './person.tsx'

/** Leads to the person's organization, or lets them choose or make one. */
export function Start(): ReactNode {
  const { name, organizations } = usePerson()
  const [only] = organizations
  if (only && organizations.length === 1) return <Navigate to="/o/$org" params={{ org: only.name }} replace />
  return (
    <main className="alone">
      <h1>Hello, {plain(name)}</h1>
      {organizations.length > 0 && (
        <>
          <p>Choose an organization:</p>
          <ul>
            {organizations.map((one) => (
              <li key={one.id}>
                <a href={`/o/${encodeURIComponent(one.name)}`}>{plain(one.name)}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      <NewOrganization />
    </main>
  )
}

function NewOrganization(): ReactNode {
  const { berth, refresh } = usePerson()
  const navigate = useNavigate()
  const [error, setError] = useState<CombinedError>()
  async function submit(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const name = givenIn(event.currentTarget).text('name') ?? ''
    const answer = await berth.client.mutation(CreateOrganizationDocument, { input: { name } }).toPromise()
    setError(answer.error)
    const made = answer.data?.createOrganization?.organization
    if (!made) return
    await refresh()
    await navigate({ to: '/o/$org', params: { org: made.name } })
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <h2>A new organization</h2>
      <Field name="name" label="Name" required hint="What it makes belongs to it, and its members share it." />
      {error && <Problem error={error} />}
      <button>Make it</button>
    </form>
  )
}

/** Accepts the invitation whose secret follows `#`, which no server sees before the person agrees. */
export function Invitation(): ReactNode {
  const { name, berth, refresh } = usePerson()
  const navigate = useNavigate()
  const [error, setError] = useState<CombinedError>()
  const [url] = useState(invitationHere)
  async function accept(): Promise<void> {
    const answer = await berth.client.mutation(AcceptInvitationDocument, { input: { url } }).toPromise()
    setError(answer.error)
    const joined = answer.data?.acceptInvitation?.organization
    if (!joined) return
    await refresh()
    await navigate({ to: '/o/$org', params: { org: joined.name } })
  }
  return (
    <main className="alone">
      <h1>You are invited</h1>
      <p>Join as {plain(name)}? Your name and what you do there are then seen by its members.</p>
      {error && <Problem error={error} />}
      <button type="button" className="primary" onClick={() => void accept()}>
        Join
      </button>
    </main>
  )
}

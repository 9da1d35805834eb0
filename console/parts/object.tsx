/** The page of one object: its name and state, what one can do with it, and its tabs, of which the address names one. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { CombinedError, TypedDocumentNode } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { useTitle } from '../app/title.ts'
import { Copy } from './copy.tsx'
import { Heading } from './heading.tsx'
import { plain } from './plain.ts'
import { Problem, toldBy } from './problem.tsx'

/** A tab: its name in the address, its title, and what it shows. */
export type Tab = readonly [name: string, title: string, content: () => ReactNode]

/**
 * Reads the object that the address names, and says so where it is not there, or is gone while one looks at it.
 * @param what such as `VM`.
 */
export function ReadObject<Data, One>({
  document,
  read,
  what,
  children,
}: {
  document: TypedDocumentNode<Data, { id: string }>
  read: (data: Data) => One | null | undefined
  what: string
  /** @param again reads it again. */
  children: (one: One, again: () => void) => ReactNode
}): ReactNode {
  const { id } = useParams({ strict: false }) as { id: string } // its route has it
  const [{ data, error, fetching }, again] = useKeptQuery({ query: document, variables: { id } })
  const [seen, setSeen] = useState<Data>()
  const one = data && read(data)
  if (one && data !== seen) setSeen(data)
  if (seen && error && toldBy(error).code === 'NOT_FOUND') return <Gone what={what} />
  const kept = one ?? (seen && error && read(seen)) // what was read stays when reading it again fails
  return kept ? (
    children(kept, () => again({ requestPolicy: 'network-only' }))
  ) : (
    <NoObject {...{ error, fetching }} what={what} />
  )
}

function Gone({ what }: { what: string }): ReactNode {
  const navigate = useNavigate()
  return (
    <>
      <Heading>Gone</Heading>
      <div className="empty" role="status">
        <p>This {what} was deleted, or is not yours to see any more.</p>
        <button type="button" onClick={() => void navigate({ to: '..' })}>
          Back
        </button>
      </div>
    </>
  )
}

/** The head of an object's page, and its tabs. */
export function ObjectPage({
  folder,
  kind,
  name,
  id,
  state,
  actions,
  tabs,
}: {
  folder: string
  kind: string
  name: string
  id: string
  state?: ReactNode
  actions?: ReactNode
  tabs: readonly Tab[]
}): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  useTitle(name)
  const { tab } = useSearch({ from: '/o/$org' })
  return (
    <>
      <p className="crumbs">
        <Link to={`/o/${org}/${folder}`}>{kind}</Link>
      </p>
      <div className="head">
        <Heading>{plain(name)}</Heading>
        {state}
        <Copy text={id} label="id" />
        <span className="grow" />
        {actions}
      </div>
      <Tabs tabs={tabs} named={tab} />
    </>
  )
}

/** Tabs, and what the one shows that the address names; the first where it names none. */
export function Tabs({ tabs, named }: { tabs: readonly Tab[]; named: string | undefined }): ReactNode {
  const current = tabs.find(([one]) => one === named) ?? tabs[0]
  return (
    <>
      {tabs.length > 1 && (
        <nav className="tabs" aria-label="Parts">
          {tabs.map(([one, title], at) => (
            <Link
              key={one}
              to="."
              search={(at === 0 ? {} : { tab: one }) as never}
              activeOptions={{ exact: true, includeSearch: true }} // without it, one whose search is empty is always current
              aria-current={one === current?.[0] ? 'page' : undefined}
            >
              {title}
            </Link>
          ))}
        </nav>
      )}
      {current?.[2]()}
    </>
  )
}

/** What is shown in place of an object that is not there, or cannot be read. */
function NoObject({
  error,
  fetching,
  what,
}: {
  error: CombinedError | undefined
  fetching: boolean
  what: string
}): ReactNode {
  const navigate = useNavigate()
  if (fetching && !error) return null
  return (
    <>
      <Heading>No such {what}</Heading>
      {error ? (
        <Problem error={error} />
      ) : (
        <div className="empty">
          <p>There is no such {what}, or it is not yours to see.</p>
          <button type="button" onClick={() => void navigate({ to: '..' })}>
            Back
          </button>
        </div>
      )}
    </>
  )
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }): ReactNode {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  )
}

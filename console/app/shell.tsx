/** The frame of every page of an organization: where one is, where one can go, and whether what one sees is live. */
import { plain } from '../parts/plain.ts'
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { BookOpen, Braces, LifeBuoy, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react'
import { spanOf } from '../parts/age.tsx'
import { ForOrganization, useDesk } from './desk.tsx'
import { useKeys } from './keys.ts'
import { signOut, usePerson } from './person.tsx'
import { places, placesByGroup } from './places.ts'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

/** The frame, with the page inside. */
export function Shell(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  return (
    <ForOrganization key={org} named={org}>
      <Frame org={org} />
    </ForOrganization>
  )
}

function Frame({ org }: { org: string }): ReactNode {
  const navigate = useNavigate()
  const [isFinding, setIsFinding] = useState(false)
  useKeys({
    'Control+k': () => setIsFinding(true),
    'Meta+k': () => setIsFinding(true),
    ...Object.fromEntries(
      places.map(({ path, key }) => [`g ${key}`, () => void navigate({ to: `/o/${org}/${path}` })] as const),
    ),
  })
  return (
    <div className="shell">
      <a className="skip" href="#page">
        To the page
      </a>
      <header>
        <Link to="/o/$org" params={{ org }} className="brand">
          Berth
        </Link>
        <Organizations current={org} />
        <button type="button" className="find" onClick={() => setIsFinding(true)}>
          <Search size={14} aria-hidden /> Search <kbd>Ctrl K</kbd>
        </button>
        <PersonMenu />
      </header>
      <nav aria-label="Places">
        {placesByGroup.map(([group, ofGroup]) => (
          <PlaceGroup key={group} name={group}>
            {ofGroup.map(({ path, name, key, icon: Icon }) => (
              <Link
                key={path}
                to={`/o/${org}/${path}`}
                activeOptions={{ exact: path === '' }}
                activeProps={{ 'aria-current': 'page' }}
                title={`g ${key}`}
              >
                <Icon size={16} aria-hidden /> <span>{name}</span>
              </Link>
            ))}
          </PlaceGroup>
        ))}
        <PlaceGroup name="Reference">
          <a href="/guide">
            <LifeBuoy size={16} aria-hidden /> <span>Guide</span>
          </a>
          <a href="/docs">
            <BookOpen size={16} aria-hidden /> <span>REST</span>
          </a>
          <a href="/graphql">
            <Braces size={16} aria-hidden /> <span>GraphQL</span>
          </a>
        </PlaceGroup>
      </nav>
      <main id="page" tabIndex={-1}>
        <Stale />
        <Outlet />
      </main>
      {isFinding && (
        <Suspense>
          <Palette org={org} onClose={() => setIsFinding(false)} />
        </Suspense>
      )}
    </div>
  )
}

function PlaceGroup({ name, children }: { name: string | null; children: ReactNode }): ReactNode {
  if (name === null) return children
  return (
    <div role="group" aria-label={name}>
      <small aria-hidden>{name}</small>
      {children}
    </div>
  )
}

function Organizations({ current }: { current: string }): ReactNode {
  const { organizations } = usePerson()
  const { organization } = useDesk()
  const navigate = useNavigate()
  return (
    <select
      aria-label="Organization"
      value={organization.id}
      onChange={({ target }) => {
        const chosen = organizations.find(({ id }) => id === target.value)
        if (chosen && chosen.name !== current) void navigate({ to: '/o/$org', params: { org: chosen.name } })
      }}
    >
      {organizations.map(({ id, name }) => (
        <option key={id} value={id}>
          {plain(name)}
        </option>
      ))}
    </select>
  )
}

function PersonMenu(): ReactNode {
  const { name } = usePerson()
  const { role } = useDesk()
  return (
    <div className="person">
      <span>
        {plain(name)} <small>{role.toLowerCase()}</small>
      </span>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </div>
  )
}

/** Says when what one sees is no longer live; what was read stays. */
function Stale(): ReactNode {
  const { since } = useDesk().connection
  const [, tick] = useState(0)
  useEffect(() => {
    if (since === null) return undefined
    const ticking = setInterval(() => tick((count) => count + 1), 1_000)
    return () => clearInterval(ticking)
  }, [since])
  return (
    <div role="status" className="stale">
      {since !== null &&
        `Connection lost ${spanOf((Date.now() - since) / 1000)} ago. Trying again; what you see may be old.`}
    </div>
  )
}

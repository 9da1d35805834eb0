/** Lists that belong together, each with an address of its own: the way between them, above each. */
import { Link, useLocation, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/**
 * The way.
 * @param lists the path of each below the organization, and its title.
 * @param place the path that leads to the first one, where that is another.
 */
export function Ways({
  label,
  lists,
  place,
}: {
  label: string
  lists: readonly (readonly [path: string, title: string])[]
  place?: string
}): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { pathname } = useLocation()
  return (
    <nav className="tabs" aria-label={label}>
      {lists.map(([path, title], at) => (
        <Link
          key={path}
          to={`/o/${org}/${path}`}
          activeOptions={{ exact: true, includeSearch: false }}
          aria-current={at === 0 && pathname === `/o/${org}/${place}` ? 'page' : undefined}
        >
          {title}
        </Link>
      ))}
    </nav>
  )
}

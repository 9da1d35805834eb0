/** The objects of something else, such as the VMs of a project: the newest of them, each with its state. */
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Age } from './age.tsx'
import { plain } from './plain.ts'
import { State } from './state.tsx'
import { Table } from './table.tsx'

type Row = { id: string; name: string; isAsleep: boolean; createdAt: string }

/**
 * The list.
 * @param folder of their own pages.
 * @param none what is said when there are none.
 */
export function ShortList<R extends Row>({
  label,
  folder,
  of,
  statusOf,
  none,
}: {
  label: string
  folder: string
  of: { totalCount: number; nodes: readonly R[] } | null | undefined
  statusOf: (row: R) => string
  none: string
}): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const rows = of?.nodes ?? []
  if (rows.length === 0)
    return (
      <div className="empty">
        <p>{none}</p>
      </div>
    )
  return (
    <>
      <Table label={label} heads={['Name', 'Status', 'Made']}>
        {rows.map((row) => (
          <tr key={row.id}>
            <td>
              <Link to={`/o/${org}/${folder}/${row.id}`}>{plain(row.name)}</Link>
            </td>
            <td>
              <State status={statusOf(row)} isAsleep={row.isAsleep} />
            </td>
            <td>
              <Age at={row.createdAt} />
            </td>
          </tr>
        ))}
      </Table>
      {of && of.totalCount > rows.length && (
        <p className="soft">
          There are {of.totalCount}; these are the newest {rows.length}.
        </p>
      )}
    </>
  )
}

/** Sessions within the page of what began them. */
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SessionRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

/** @param empty the sentence for when there are none. */
export function SessionTable({ sessions, empty }: { sessions: readonly SessionRow[]; empty: string }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  if (sessions.length === 0)
    return (
      <div className="empty">
        <p>{empty}</p>
      </div>
    )
  return (
    <Table label="Sessions" heads={['Session', 'Status', 'Changed']}>
      {sessions.map(({ id, title, sessionStatus, activity, updatedAt }) => (
        <tr key={id}>
          <td>
            <Link to={`/o/${org}/sessions/${id}`}>{plain(title ?? id)}</Link>
          </td>
          <td>
            {activity.isActionRequired ? (
              <span className="state wait">waits for you</span>
            ) : (
              <State status={sessionStatus} />
            )}
          </td>
          <td>
            <Age at={updatedAt} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

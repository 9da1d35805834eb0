/** The person's sessions. */
import { useState, type ReactNode } from 'react'
import { SessionsDocument, type SessionRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'

const columns: readonly Column<SessionRow>[] = [
  ['Session', ({ title, id }) => plain(title ?? id)],
  ['Agent', ({ definition }) => plain(definition.name)],
  [
    'Status',
    ({ sessionStatus, activity }) =>
      activity.isActionRequired ? <span className="state wait">waits for you</span> : <State status={sessionStatus} />,
  ],
  ['Cost', ({ usage: { listCost } }) => `${listCost.amount} ${listCost.currency}`],
  ['Changed', ({ updatedAt }) => <Age at={updatedAt} />],
]

/** The list. */
export function Sessions(): ReactNode {
  const [isWaiting, setIsWaiting] = useState(false)
  return (
    <List
      title="Sessions"
      document={SessionsDocument}
      variables={(text) =>
        text || isWaiting
          ? { filter: { ...(text ? { text } : {}), ...(isWaiting ? { isActionRequired: true } : {}) } }
          : {}
      }
      read={({ sessions }) => sessions}
      columns={columns}
      folder="sessions"
      actions={
        <label className="check">
          <input type="checkbox" checked={isWaiting} onChange={({ target }) => setIsWaiting(target.checked)} /> Waiting
          for you
        </label>
      }
      empty={
        <p>
          {isWaiting
            ? 'No session waits for you.'
            : 'A session is one conversation with an agent. Begin one at an agent’s page.'}
        </p>
      }
    />
  )
}

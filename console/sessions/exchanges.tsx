/** What a session was to reach, and what it asked other sessions, or they it. */
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { StopPeerExchangeDocument, type PeerExchangeRow, type Session } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

type Goal = NonNullable<Session['session']>['outcomeEvaluations'][number]

/** Its goals, with how each was judged. */
export function Goals({ goals }: { goals: readonly Goal[] }): ReactNode {
  return (
    <Table label="Goals" heads={['Goal', 'Result', 'Tries', 'Why', 'When']}>
      {goals.map(({ outcomeId, description, outcomeResult, iteration, explanation, completedAt }) => (
        <tr key={outcomeId}>
          <td>{plain(description)}</td>
          <td>{wordOf(outcomeResult)}</td>
          <td>{iteration}</td>
          <td>{plain(explanation ?? '')}</td>
          <td>
            <Age at={completedAt} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

const over = /^(?:CANCELLED|COMPLETED|FAILED|REJECTED)$/

/** What it asked others, and what they asked it. @param id the session. */
export function Peers({ id, exchanges }: { id: string; exchanges: readonly PeerExchangeRow[] }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  return (
    <Table label="Other sessions" heads={['Asked', 'Session', 'Status', 'Answer', 'When', 'Now']}>
      {exchanges.map((one) => {
        const isAsker = one.requesterSessionId === id
        const other = isAsker ? one.responderSessionId : one.requesterSessionId
        return (
          <tr key={one.id}>
            <td>{plain(one.request.text)}</td>
            <td>
              {isAsker ? 'to ' : 'by '}
              <Link to={`/o/${org}/sessions/${other}`}>{other}</Link>
            </td>
            <td>
              <State status={one.state} />
            </td>
            <td>{plain(one.answer?.text ?? one.error?.message ?? '')}</td>
            <td>
              <Age at={one.createdAt} />
            </td>
            <td>
              {!over.test(one.state) && (
                <Act mutation={StopPeerExchangeDocument} variables={{ input: { id: one.id } }}>
                  Stop
                </Act>
              )}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

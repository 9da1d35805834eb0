/** What runs in a VM in the background. */
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { VmProcessesDocument } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { State } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'

/** The tab. */
export function Processes({ id }: { id: string }): ReactNode {
  const [{ data, error }, again] = useKeptQuery({ query: VmProcessesDocument, variables: { id } })
  const read = (): void => again({ requestPolicy: 'network-only' })
  if (error) return <Problem error={error} onRetry={read} />
  const processes = data?.vm?.processes?.nodes
  if (!processes) return null
  if (processes.length === 0)
    return (
      <div className="empty">
        <p>
          Nothing runs in the background. What the API starts with <code>background: true</code> is here, with its
          output, after its caller has gone. What somebody starts in a terminal is not: <code>ps aux</code> shows it.
        </p>
      </div>
    )
  return (
    <>
      <button type="button" onClick={read}>
        Look again
      </button>
      <Table label="Processes" heads={['Command', 'Status', 'Exit code', 'Started']}>
        {processes.map((one) => (
          <tr key={one.id}>
            <td>
              <code>{plain(one.command)}</code>
            </td>
            <td>
              <State status={one.status} />
            </td>
            <td>{one.exitCode ?? '–'}</td>
            <td>
              <Age at={one.startedAt} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

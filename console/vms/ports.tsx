/** What listens in a VM, and links to it. */
import type { ReactNode } from 'react'
import { useMay } from '../app/desk.tsx'
import { useKeptQuery } from '../app/kept.ts'
import { VmPortsDocument } from '../generated/documents.ts'
import { Copy } from '../parts/copy.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

/** The tab. */
export function Ports({ id, isUp }: { id: string; isUp: boolean }): ReactNode {
  const { may, why } = useMay('MEMBER')
  const [{ data, error, fetching }, again] = useKeptQuery({
    query: VmPortsDocument,
    variables: { id },
    pause: !isUp || !may,
    requestPolicy: 'network-only',
  })
  const read = (): void => again({ requestPolicy: 'network-only' })
  if (!may) return <p className="note">{why}</p>
  if (!isUp) return <p className="note">It is not running: start it to see what listens in it.</p>
  if (error) return <Problem error={error} onRetry={read} />
  if (!data) return null
  const ports = data.vm?.ports
  return (
    <>
      <button type="button" onClick={read} disabled={fetching}>
        Look again
      </button>
      {!ports && <p className="note">It does not answer right now.</p>}
      {ports?.length === 0 && (
        <div className="empty">
          <p>
            Nothing listens in it. Start a server, such as <code>python3 -m http.server 8000</code>, as a background
            command or in a terminal, and look again.
          </p>
        </div>
      )}
      {ports && ports.length > 0 && (
        <Table label="Ports" heads={['Port', 'Listens at', 'Process', 'Preview']}>
          {ports.map(({ port, address, processName, pid, isReachable, previewUrl }) => (
            <tr key={`${address} ${port}`}>
              <td>{port}</td>
              <td>
                <code>{address}</code>
              </td>
              <td>
                {processName === null ? '–' : plain(processName)} {pid !== null && <small>{pid}</small>}
              </td>
              <td>
                {previewUrl ? (
                  <>
                    <a href={previewUrl} rel="noreferrer noopener" target="_blank">
                      Open port {port}
                    </a>{' '}
                    <Copy text={previewUrl} label="address" />
                  </>
                ) : (
                  <small>{isReachable ? '–' : 'not at 127.0.0.1, where previews come'}</small>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p className="soft">
        A preview is for whoever has its address, for an hour. A browser that does not know the authority of this Berth
        warns of its certificate: see <a href="/guide/edge#certificates">certificates</a>.
      </p>
    </>
  )
}

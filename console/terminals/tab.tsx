/** The terminals of a VM: those that are open, and one on the screen. */
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { CloseTerminalDocument, TerminalsDocument } from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

const TerminalScreen = lazy(async () => ({ default: (await import('./screen.tsx')).TerminalScreen }))

type Shown = { key: number; terminalId: string | undefined }

/** The tab. */
export function Terminals({ vmId }: { vmId: string }): ReactNode {
  const [{ data, error }, again] = useKeptQuery({ query: TerminalsDocument, variables: { id: vmId } })
  const [shown, setShown] = useState<Shown>()
  const read = (): void => again({ requestPolicy: 'network-only' })
  const show = (terminalId?: string): void => setShown((before) => ({ key: (before?.key ?? 0) + 1, terminalId }))
  const open = (data?.vm?.terminals?.nodes ?? []).filter(({ terminalStatus }) => terminalStatus === 'RUNNING')
  return (
    <>
      {error && <Problem error={error} onRetry={read} />}
      <div className="buttons">
        <Open isPrimary={!shown} onClick={() => show()}>
          {shown ? 'Open another' : 'Open a terminal'}
        </Open>
        {shown && (
          <button
            type="button"
            onClick={() => {
              setShown(undefined)
              read()
            }}
          >
            Detach, and leave it running
          </button>
        )}
      </div>
      {shown ? (
        <Suspense>
          <TerminalScreen key={shown.key} vmId={vmId} terminalId={shown.terminalId} onOver={read} />
        </Suspense>
      ) : (
        open.length > 0 && (
          <Table label="Open terminals" heads={['Command', 'Opened', 'Go on', 'End']}>
            {open.map(({ id, command, createdAt }) => (
              <tr key={id}>
                <td>
                  <code>{plain(command ?? 'login shell')}</code>
                </td>
                <td>
                  <Age at={createdAt} />
                </td>
                <td>
                  <Open isPrimary={false} onClick={() => show(id)}>
                    Attach
                  </Open>
                </td>
                <td>
                  <Act
                    mutation={CloseTerminalDocument}
                    variables={{ input: { id } }}
                    ask={{ question: 'Close the terminal?', text: 'What runs in it is ended.' }}
                    onDone={read}
                  >
                    Close
                  </Act>
                </td>
              </tr>
            ))}
          </Table>
        )
      )}
    </>
  )
}

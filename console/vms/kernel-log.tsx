/** What the kernel of a VM printed. */
import type { ReactNode } from 'react'
import { useMay } from '../app/desk.tsx'
import { useKeptQuery } from '../app/kept.ts'
import { VmKernelLogDocument } from '../generated/documents.ts'
import { plainOutput } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'

/** The tab. */
export function KernelLog({ id, isUp }: { id: string; isUp: boolean }): ReactNode {
  const { may, why } = useMay('MEMBER')
  const [{ data, error, fetching }, again] = useKeptQuery({
    query: VmKernelLogDocument,
    variables: { id },
    pause: !isUp || !may,
    requestPolicy: 'network-only',
  })
  const read = (): void => again({ requestPolicy: 'network-only' })
  if (!may) return <p className="note">{why}</p>
  if (!isUp) return <p className="note">It is not running: start it to see what its kernel prints.</p>
  if (error) return <Problem error={error} onRetry={read} />
  if (!data) return null
  const log = data.vm?.kernelLog
  return (
    <>
      <button type="button" onClick={read} disabled={fetching}>
        Look again
      </button>
      {log ? (
        <pre tabIndex={0}>{plainOutput(log)}</pre>
      ) : (
        <p className="note">{log === '' ? 'It has printed nothing.' : 'It does not answer right now.'}</p>
      )}
      <p className="soft">What was killed for want of memory, and what crashed, is here.</p>
    </>
  )
}

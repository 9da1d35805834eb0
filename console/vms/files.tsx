/** The folders of a VM. */
import { useState, type ReactNode } from 'react'
import { useClient } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { VmFolderDocument, type VmFolder } from '../generated/documents.ts'
import { Age, bytesOf } from '../parts/age.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { download } from './transfers.ts'
import { Uploads } from './uploads.tsx'

const start = '/home/user'
/** A longer folder is shown as far: what else is in it is not known. */
const entriesMax = 1_000

/** The tab. */
export function Files({ id, isUp, diskMb }: { id: string; isUp: boolean; diskMb: number }): ReactNode {
  const [path, setPath] = useState(start)
  const client = useClient()
  const [refusal, setRefusal] = useState<string>()
  const [{ data, error, fetching }, again] = useKeptQuery({
    query: VmFolderDocument,
    variables: { vmId: id, path },
    pause: !isUp,
    requestPolicy: 'network-only',
  })
  if (!isUp) return <p className="note">It is not running: start it to see its files.</p>
  const read = (): void => again({ requestPolicy: 'network-only' })
  const within = (name: string): string => `${path === '/' ? '' : path}/${name}`
  async function save(name: string, isFolder: boolean): Promise<void> {
    setRefusal(undefined)
    await download(client, { vmId: id, path: within(name), isFolder }).catch((error: Error) =>
      setRefusal(error.message),
    )
  }
  const entries = fetching ? undefined : data?.vmFolder?.entries
  const above = path.slice(0, path.lastIndexOf('/')) || '/'
  return (
    <>
      <p className="row">
        <code>{plain(path)}</code>
        {path !== '/' && (
          <button type="button" onClick={() => setPath(above)}>
            Up
          </button>
        )}
      </p>
      {error && <Problem error={error} onRetry={read} />}
      {entries && (
        <Table label="Files" heads={['Name', 'Size', 'Changed', 'Save']}>
          {entries.map((entry) => (
            <Row
              key={entry.name}
              entry={entry}
              onOpen={() => setPath(within(entry.name))}
              onSave={() => void save(entry.name, entry.type === 'DIRECTORY')}
            />
          ))}
        </Table>
      )}
      {refusal && (
        <p role="alert" className="bad">
          {refusal}
        </p>
      )}
      {entries?.length === 0 && <p className="soft">This folder is empty.</p>}
      <Uploads
        vmId={id}
        folder={path}
        names={entries && entries.length < entriesMax ? entries.map(({ name }) => name) : undefined}
        diskMb={diskMb}
        onDone={read}
      />
    </>
  )
}

type Entry = NonNullable<VmFolder['vmFolder']>['entries'][number]

function Row({
  entry: { name, type, sizeBytes, modifiedAt },
  onOpen,
  onSave,
}: {
  entry: Entry
  onOpen: () => void
  onSave: () => void
}): ReactNode {
  const isFolder = type === 'DIRECTORY'
  return (
    <tr>
      <td>
        {isFolder ? (
          <button type="button" className="link" onClick={onOpen}>
            {plain(name)}/
          </button>
        ) : (
          plain(name)
        )}
      </td>
      <td>{isFolder ? '' : bytesOf(sizeBytes)}</td>
      <td>
        <Age at={modifiedAt} />
      </td>
      <td>
        {(isFolder || type === 'FILE') && (
          <button
            type="button"
            aria-label={`Download ${plain(name)}`}
            title={isFolder ? 'As a tar archive' : undefined}
            onClick={onSave}
          >
            Download
          </button>
        )}
      </td>
    </tr>
  )
}

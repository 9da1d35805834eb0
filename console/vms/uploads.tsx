/** Uploads to a folder of a VM: chosen or dropped, one after the other, with how far each is. */
import { useId, useState, type DragEvent, type ReactNode } from 'react'
import { useMay } from '../app/desk.tsx'
import { bytesOf } from '../parts/age.tsx'
import { Copy } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { plain } from '../parts/plain.ts'
import { Table } from '../parts/table.tsx'
import { filesMax, useTransfers, type Transfer } from './uploading.ts'

const mebibyte = 1024 * 1024

/**
 * @param folder the path of the folder that is shown.
 * @param names what is in it; undefined while that is not known.
 * @param diskMb no file is larger than the disk.
 */
export function Uploads({
  vmId,
  folder,
  names,
  diskMb,
  onDone,
}: {
  vmId: string
  folder: string
  names: readonly string[] | undefined
  diskMb: number
  onDone: () => void
}): ReactNode {
  const { transfers, refusal, add, cancel } = useTransfers(vmId, diskMb * mebibyte, onDone)
  const [asked, setAsked] = useState<readonly File[]>([])

  const mayReplace = ({ name }: File): boolean => names?.includes(name) ?? true
  function take(files: readonly File[]): void {
    if (files.length === 0) return
    const areTaken = files.length <= filesMax && files.every(({ size }) => size <= diskMb * mebibyte)
    if (areTaken && files.some(mayReplace)) setAsked(files)
    else add(folder, files)
  }
  const replaced = asked.filter(mayReplace).map(({ name }) => name)
  return (
    <>
      <DropBox bytesMax={diskMb * mebibyte} onFiles={take} />
      {refusal && (
        <p role="alert" className="bad">
          {refusal}
        </p>
      )}
      {transfers.length > 0 && <Progress {...{ transfers, cancel }} />}
      <AsCode vmId={vmId} folder={folder} />
      {replaced.length > 0 && (
        <Replace
          names={replaced}
          onClose={() => setAsked([])}
          onDone={() => {
            add(folder, asked)
            setAsked([])
          }}
        />
      )}
    </>
  )
}

/** Where files are chosen, or dropped, by those who may. */
function DropBox({ bytesMax, onFiles }: { bytesMax: number; onFiles: (files: readonly File[]) => void }): ReactNode {
  const { may, why } = useMay('MEMBER')
  const [isOver, setIsOver] = useState(false)
  const id = useId()
  function drop(event: DragEvent): void {
    event.preventDefault()
    setIsOver(false)
    if (may) onFiles([...event.dataTransfer.files])
  }
  const most = bytesMax.toLocaleString('en')
  return (
    <div
      className={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <label htmlFor={id}>Upload files to this folder</label>
      <input
        id={id}
        type="file"
        multiple
        disabled={!may}
        title={why}
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          target.value = '' // the same file may be chosen again
        }}
      />
      <small id={`${id}-hint`}>
        {why ??
          `Or drop them here: ${filesMax} at once, each of up to ${most} bytes, which is the disk, and what is free of it. Stay on this tab meanwhile.`}
      </small>
    </div>
  )
}

/** The same as a command. */
function AsCode({ vmId, folder }: { vmId: string; folder: string }): ReactNode {
  return (
    <details className="code">
      <summary>As code</summary>
      <Copy
        text={`curl -T FILE "${location.origin}/api/v1/vms/${vmId}/files?path=${encodeURIComponent(folder)}/FILE" -H "authorization: Bearer $BERTH_TOKEN"`}
        label="command"
      />
    </details>
  )
}

/** Asks before files are replaced. */
function Replace({
  names,
  onClose,
  onDone,
}: {
  names: readonly string[]
  onClose: () => void
  onDone: () => void
}): ReactNode {
  const shown = names.map(plain)
  return (
    <Dialog title={`Replace ${shown.length === 1 ? shown[0] : `${shown.length} files`}?`} onClose={onClose}>
      <p>What is there already is lost: {shown.join(', ')}.</p>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="primary" onClick={onDone}>
          Replace
        </button>
      </div>
    </Dialog>
  )
}

function Progress({ transfers, cancel }: { transfers: readonly Transfer[]; cancel: (key: number) => void }): ReactNode {
  return (
    <Table label="Uploads" heads={['File', 'Sent', 'State', 'Stop']}>
      {transfers.map(({ key, file, path, sentBytes, end, message }) => (
        <tr key={key}>
          <td>{plain(path)}</td>
          <td>
            <progress
              aria-label={`Sent of ${plain(file.name)}`}
              max={file.size || 1}
              value={end === 'done' ? file.size || 1 : sentBytes}
            />{' '}
            {bytesOf(end === 'done' ? file.size : sentBytes)} of {bytesOf(file.size)}
          </td>
          <td role="status" className={end === 'failed' ? 'bad' : undefined}>
            {end === 'done' ? 'uploaded' : end === 'failed' ? message : 'under way'}
          </td>
          <td>
            {end === null && (
              <button type="button" onClick={() => cancel(key)}>
                Cancel
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

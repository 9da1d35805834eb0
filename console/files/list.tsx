/** Files of agents: for messages, and for the machines of sessions. */
import type { ReactNode } from 'react'
import { CreateFileDocument, FilesDocument, type FileRow } from '../generated/documents.ts'
import { Age, bytesOf } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { FileTabs } from './tabs.tsx'
import { UploadDialog } from './upload.tsx'

const daySeconds = 86_400

const columns: readonly Column<FileRow>[] = [
  ['Name', ({ filename }) => plain(filename)],
  ['Kind', ({ mimeType }) => plain(mimeType)],
  ['Size', ({ sizeBytes }) => bytesOf(sizeBytes)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
  ['Until', ({ expiresAt }) => (expiresAt ? <Age at={expiresAt} /> : 'it is deleted')],
]

/** The list. */
export function Files(): ReactNode {
  return (
    <>
      <FileTabs />
      <List
        title="Files"
        document={FilesDocument}
        read={({ files }) => files}
        columns={columns}
        folder="files"
        create={{
          title: 'Upload a file',
          form: (close) => (
            <UploadDialog
              title="Upload a file"
              label="File"
              mutation={CreateFileDocument}
              input={(binaryUrl, { number }, file) => {
                const days = number('days')
                return {
                  binaryUrl,
                  filename: file?.name,
                  ...(file?.type ? { mimeType: file.type } : {}),
                  ...(days ? { expiresInSeconds: days * daySeconds } : {}),
                }
              }}
              onDone={close}
              onClose={close}
            >
              <Field
                name="days"
                label="Deleted by itself after, days"
                type="number"
                min={1}
                max={90}
                placeholder="Never"
              />
            </UploadDialog>
          ),
        }}
        empty={<p>A file is kept for agents: for messages, and for the machines of their sessions.</p>}
      />
    </>
  )
}

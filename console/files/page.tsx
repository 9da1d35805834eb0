/** One file of agents. */
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { DeleteFileDocument, FileDocument } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, bytesOf } from '../parts/age.tsx'
import { Copy } from '../parts/copy.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'

type Known = NonNullable<import('../generated/documents.ts').File['file']>

/** The page. */
export function FilePage(): ReactNode {
  return (
    <ReadObject document={FileDocument} read={({ file }) => file} what="file">
      {(file) => <Shown file={file} />}
    </ReadObject>
  )
}

function Shown({ file }: { file: Known }): ReactNode {
  const { id } = file
  const navigate = useNavigate()
  return (
    <ObjectPage
      folder="files"
      kind="Files"
      name={file.filename}
      id={id}
      actions={
        <Act
          mutation={DeleteFileDocument}
          variables={{ input: { id } }}
          ask={{
            question: `Delete ${plain(file.filename)}?`,
            text: 'Agents that are given it do not find it any more.',
          }}
          onDone={() => void navigate({ to: '..' })}
        >
          Delete
        </Act>
      }
      tabs={[
        [
          'facts',
          'Facts',
          () => (
            <>
              <Facts
                facts={[
                  ['Kind', plain(file.mimeType)],
                  ['Size', bytesOf(file.sizeBytes)],
                  ['SHA-256', <code key="sha256">{file.sha256}</code>],
                  ['Made', <Age key="made" at={file.createdAt} />],
                  ['Until', file.expiresAt ? <Age key="until" at={file.expiresAt} /> : 'it is deleted'],
                ]}
              />
              <h2>Its bytes</h2>
              <Copy
                text={`curl -s ${location.origin}/agents/v1/files/${id}/content -H "authorization: Bearer $BERTH_TOKEN" -OJ`}
                label="command"
              />
            </>
          ),
        ],
      ]}
    />
  )
}

/** Folders that outlive the VMs which mount them. */
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { DeleteFolderDocument, FoldersDocument, type FolderRow } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'
import { Age, sizeOf } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { FileTabs } from './tabs.tsx'

const columns: readonly Column<FolderRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Size', ({ sizeMb }) => sizeOf(sizeMb)],
  ['VM', ({ vmId }) => (vmId ? <VmLink id={vmId} /> : 'none')],
  ['By', ({ createdBy }) => createdBy && plain(createdBy.name)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
  [
    'Now',
    ({ id, name }) => (
      <Act
        mutation={DeleteFolderDocument}
        variables={{ input: { id } }}
        ask={{ question: `Delete ${plain(name)}?`, text: 'All that is in it is gone. This cannot be undone.' }}
      >
        Delete
      </Act>
    ),
  ],
]

function VmLink({ id }: { id: string }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  return <Link to={`/o/${org}/vms/${id}`}>{id}</Link>
}

/** The list. */
export function Folders(): ReactNode {
  return (
    <>
      <FileTabs />
      <List
        title="Folders"
        document={FoldersDocument}
        read={({ folders }) => folders}
        columns={columns}
        empty={
          <p>
            A folder is a disk that outlives the VM which mounts it. One is made with a VM that asks for it:{' '}
            <a href="/docs/vms.md">how</a>.
          </p>
        }
      />
    </>
  )
}

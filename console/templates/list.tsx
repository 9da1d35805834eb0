/** What the disks of VMs start from: the organization's own templates, and those that come with Berth. */
import type { ReactNode } from 'react'
import { TemplateListDocument, type TemplateRow } from '../generated/documents.ts'
import { Age, bytesOf } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'

const columns: readonly Column<TemplateRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['What is in it', ({ content }) => plain(content)],
  ['Whose', ({ organization }) => (organization ? 'yours' : 'comes with Berth')],
  ['Ready', ({ isReady }) => (isReady ? 'yes' : 'built for its first VM')],
  ['Disk', ({ diskBytes }) => (diskBytes === null || diskBytes === undefined ? '–' : bytesOf(diskBytes))],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Templates(): ReactNode {
  return (
    <List
      title="Templates"
      document={TemplateListDocument}
      read={({ templates }) => templates}
      columns={columns}
      folder="templates"
      empty={<p>A template is the disk that a VM starts from. A build makes one of what its commands installed.</p>}
    />
  )
}

/** Who did what to which object, from where. */
import type { ReactNode } from 'react'
import { AuditDocument, type Audit as Answer } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { wordOf } from '../parts/state.tsx'

type Row = NonNullable<Answer['auditEvents']>['nodes'][number]

const columns: readonly Column<Row>[] = [
  ['When', ({ at }) => <Age at={at} />],
  ['Who', ({ actor }) => plain(actor.name ?? wordOf(actor.kind))],
  ['Did', ({ operation }) => <code>{plain(operation)}</code>],
  ['To', ({ nodeType, nodeName, nodeId }) => plain(`${wordOf(nodeType)} ${nodeName ?? nodeId}`)],
  ['From', ({ address }) => address],
]

/** The list. */
export function Audit(): ReactNode {
  return (
    <List
      title="Audit"
      document={AuditDocument}
      read={({ auditEvents }) => auditEvents}
      columns={columns}
      actions={<a href="/docs/reference/audit.md">Export</a>}
      empty={<p>Nothing was recorded yet, or your role may not read it: admins and owners may.</p>}
    />
  )
}

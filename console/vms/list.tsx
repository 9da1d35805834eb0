/** The organization's VMs. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { VmsDocument, type VmRow } from '../generated/documents.ts'
import { Age, sizeOf } from '../parts/age.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { CreateVm } from './create.tsx'

const columns: readonly Column<VmRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ vmStatus, isAsleep }) => <State status={vmStatus} isAsleep={isAsleep} />],
  ['Size', ({ vcpuCount, memoryMb }) => `${vcpuCount} vCPU, ${sizeOf(memoryMb)}`],
  ['Template', ({ template }) => template && plain(template.name)],
  ['Made by', ({ createdBy }) => createdBy && plain(createdBy.name)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Vms(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="VMs"
      document={VmsDocument}
      variables={(text) => (text ? { filter: { text } } : {})}
      read={({ vms }) => vms}
      columns={columns}
      folder="vms"
      create={{
        title: 'New VM',
        form: (close) => (
          <CreateVm
            onClose={close}
            onDone={(id) => {
              close()
              void navigate({ to: `/o/${org}/vms/${id}` })
            }}
          />
        ),
      }}
      empty={
        <p>
          A VM is a machine of its own, with its own kernel, disk and network. It starts in seconds, and what runs in it
          cannot reach the host.
        </p>
      }
    />
  )
}

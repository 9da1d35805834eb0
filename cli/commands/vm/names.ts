/** VMs by their names. */
import type { Berth } from '../../../src/client/berth.ts'
import { ageOf, word } from '../../output.ts'
import { finderOf, type PlainNoun } from '../../plain.ts'

type Vms = Berth['vms']
type VmRow = Awaited<ReturnType<Vms['list']>>['nodes'][number]

/** VMs, as the usual verbs know them. */
export const vmNoun: PlainNoun<VmRow, Vms> = {
  one: 'VM',
  argument: 'vm',
  part: (berth) => berth.vms,
  nameOf: (row) => row.name,
  isSearchable: true,
  columns: [
    ['NAME', (row) => row.name],
    ['ID', (row) => row.id],
    ['STATUS', (row) => (row.isAsleep ? 'asleep' : word(row.status))],
    ['CPUS', (row) => row.vcpuCount],
    ['MEMORY', (row) => `${row.memoryMb} MB`],
    ['AGE', (row) => ageOf(row.createdAt)],
  ],
}

/** The id of a VM that a person names. */
export const findVmOf = finderOf(vmNoun)

/** Larger disks: QEMU is told the size, and the guest's file system is resized while it is mounted. */
import { BerthError } from '#src/platform/errors.ts'
import type { Fleet } from '#src/drivers/compute/fleet.ts'
import { execInGuest } from '#src/drivers/compute/guest/exec.ts'
import { writeRecord } from '#src/drivers/compute/records.ts'
import { rootDiskMbOf } from '#src/drivers/compute/templates/database-disks.ts'
import { dataDiskMb } from '#src/drivers/compute/templates/postgres.ts'
import type { RunningMachine } from './running-machine.ts'

const growLimitMs = 120_000
const mebibyte = 1024 * 1024
const devices = { root: '/dev/vda', folder: '/dev/vdb' } as const

/** Gives a machine that has just started the disks that its record says, where they are larger than at first. */
export async function growDisks(machine: RunningMachine, templateDiskMb: number): Promise<void> {
  const { diskMb, folderMb } = machine.record
  if (diskMb > templateDiskMb) await grow(machine, 'root', diskMb)
  if (folderMb && folderMb > dataDiskMb) await grow(machine, 'folder', folderMb)
}

/**
 * Grows the folder's disk of a running machine, and its own where that depends on it. The record comes first: what is
 * interrupted here is done at the next boot.
 */
export async function growFolder({ find, node }: Fleet, id: string, sizeMb: number): Promise<void> {
  const machine = find(id)
  if (!machine) throw new BerthError('vm_unreachable', 'The VM does not run right now. Start it, and try again.')
  const { record } = machine
  if (sizeMb <= Math.max(record.folderMb ?? 0, dataDiskMb)) return
  record.folderMb = sizeMb
  const rootMb = record.recipe === 'postgres' ? rootDiskMbOf(sizeMb) : 0
  const growsRoot = rootMb > record.diskMb
  if (growsRoot) record.diskMb = rootMb
  writeRecord(node.roots, record)
  await grow(machine, 'folder', sizeMb)
  if (growsRoot) await grow(machine, 'root', rootMb)
}

async function grow(machine: RunningMachine, disk: keyof typeof devices, sizeMb: number): Promise<void> {
  // To the size that it has already, this does nothing.
  await machine.qmp.execute('block_resize', { 'node-name': disk, size: sizeMb * mebibyte })
  const { exitCode, stderr } = await execInGuest(machine, {
    argv: ['resize2fs', devices[disk]],
    as: 'root',
    workingDir: '/',
    timeoutMs: growLimitMs,
  })
  if (exitCode !== 0) throw new Error(`the machine’s disk could not be grown: ${stderr.trim().slice(-200)}`)
}

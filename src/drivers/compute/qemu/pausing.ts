/** Saves a machine's memory and ends it; resumes it exactly where it was, or not at all. */
import { rmSync, statSync } from 'node:fs'
import { BerthError } from '#src/platform/errors.ts'
import type { ComputeNode } from '#src/drivers/compute/compute-node.ts'
import type { Fleet } from '#src/drivers/compute/fleet.ts'
import { launch } from './launch.ts'
import { userOf } from './machine-users.ts'
import { folderDiskPlace, machinePlaces } from '#src/drivers/compute/places.ts'
import { writeRecord, type MachineRecord, type Paused } from '#src/drivers/compute/records.ts'
import type { RunningMachine } from './running-machine.ts'
import { saveState } from './saving.ts'

/**
 * Pauses a machine. That it is paused is recorded while its QEMU, which writes to no disk any more, still has all memory: a
 * worker that is killed in between loses neither.
 * @throws Error when its memory cannot be saved; then it continues to run.
 */
export async function pauseMachine(fleet: Fleet, machine: RunningMachine): Promise<void> {
  const { node } = fleet
  const { record, qmp } = machine
  const places = machinePlaces(node.roots, record.machineUuid)
  await machine.halts.halt()
  try {
    await saveState(qmp, {
      socketPath: places.saving,
      file: places.pausedMemory,
      uid: userOf(node.users, record),
      memoryMb: record.memoryMb,
    })
    record.paused = pausedNow(node, record)
    writeRecord(node.roots, record)
  } catch (error) {
    record.paused = null // what is written on disk was not changed
    rmSync(places.pausedMemory, { force: true })
    await machine.halts.resume()
    throw error
  }
  await fleet.end(machine, false)
}

/**
 * Resumes a paused machine.
 * @throws BerthError invalid_transition when its memory, its disks and this QEMU no longer match.
 */
export async function resumeMachine(fleet: Fleet, record: MachineRecord | undefined): Promise<RunningMachine> {
  if (!record?.paused)
    throw new BerthError(
      'invalid_transition',
      'The VM has no saved memory to continue from. Start it to boot from its disk.',
    )
  if (JSON.stringify(pausedNow(fleet.node, record)) !== JSON.stringify(record.paused))
    throw new BerthError(
      'invalid_transition',
      'The VM’s saved memory no longer matches its disk or this node. Start it to boot from its disk.',
    )
  return fleet.keep(await launch(fleet.node, record, { from: 'paused' }))
}

/** What must be unchanged for saved memory to be resumed. */
function pausedNow(node: ComputeNode, record: MachineRecord): Paused {
  const places = machinePlaces(node.roots, record.machineUuid)
  const disks = [places.disk, folderDiskPlace(node.roots.dataDir, record.folderId)].map((path) =>
    statSync(path, { throwIfNoEntry: false }),
  )
  return {
    qemu: node.qemuVersion,
    acceleration: node.acceleration,
    memoryBytes: statSync(places.pausedMemory, { throwIfNoEntry: false })?.size ?? 0,
    disks: disks.map((stat) => ({ sizeBytes: stat?.size ?? 0, changedMs: stat?.mtimeMs ?? 0 })),
  }
}

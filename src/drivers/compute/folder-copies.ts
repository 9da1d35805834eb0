/** Consistent copies of a workspace folder's disk, also while a machine writes to it. */
import { constants, existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { execInGuest } from './guest/exec.ts'
import type { Fleet } from './fleet.ts'
import { folderDiskPlace } from './places.ts'
import { readRecords } from './records.ts'
import type { RunningMachine } from './qemu/running-machine.ts'

const syncLimitMs = 10_000

/**
 * Copies the disk to this path. A machine that has it mounted flushes its caches, and is then paused until the copy is
 * complete: pausing makes QEMU flush all of its own layers.
 * @param inOrder runs work on one machine, by its VM's id, after earlier operations on it.
 * @returns false when there is no such disk.
 */
export async function copyFolderDisk(
  fleet: Fleet,
  inOrder: <T>(id: string, work: () => Promise<T>) => Promise<T>,
  folderId: string,
  to: string,
): Promise<boolean> {
  const { roots } = fleet.node
  const holder = readRecords(roots).records.find(
    (record) => record.id !== null && record.hasFolder && record.folderId === folderId,
  )?.id
  const disk = folderDiskPlace(roots.dataDir, folderId)
  const copy = async (): Promise<boolean> => {
    if (!existsSync(disk)) return false
    const machine = holder ? fleet.find(holder) : undefined
    // Where the file system can share blocks, the copy takes no time and no room.
    const copyNow = (): Promise<void> => copyFile(disk, to, constants.COPYFILE_FICLONE)
    await (machine ? whileHalted(fleet, machine, copyNow) : copyNow())
    return true
  }
  return holder ? inOrder(holder, copy) : copy() // nothing starts, stops or removes the machine meanwhile
}

async function whileHalted(fleet: Fleet, machine: RunningMachine, work: () => Promise<void>): Promise<void> {
  // The copy is made even if the guest does not answer: its file system then recovers as after a crash.
  await execInGuest(machine, { argv: ['sync'], timeoutMs: syncLimitMs, as: 'root' }).catch((error: unknown) =>
    fleet.node.log.debug({ err: error }, 'a guest did not flush its files before its folder was copied'),
  )
  await machine.halts.halt()
  try {
    await work()
  } finally {
    await machine.halts.resume()
    machine.line.refresh() // its clock stood still
  }
}

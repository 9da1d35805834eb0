/** A copy of a workspace folder's disk, of one moment, also while a machine writes to it. */
import { constants, existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { execInGuest } from './guest/exec.ts'
import type { Fleet } from './fleet.ts'
import { folderDiskPlace } from './places.ts'
import { readRecords } from './records.ts'
import type { RunningMachine } from './qemu/running-machine.ts'

const syncLimitMs = 10_000

/**
 * Copies the disk to this path. A machine that has it writes out what it holds, then stands still until the copy is whole:
 * QEMU has then flushed every layer of its own.
 * @param inOrder runs work on one machine, by its VM's id, after what was asked of it before.
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
  // A guest that does not answer is copied all the same: its file system recovers as after a crash.
  await execInGuest(machine, { argv: ['sync'], timeoutMs: syncLimitMs, as: 'root' }).catch((error: unknown) =>
    fleet.node.log.debug({ err: error }, 'a guest did not write out its files before its folder was copied'),
  )
  await machine.halts.halt()
  try {
    await work()
  } finally {
    await machine.halts.goOn()
    machine.line.refresh() // its clock stood still
  }
}

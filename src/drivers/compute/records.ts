/** What is known about a machine across restarts of the worker: one small file in its folder, replaced atomically. */
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { flushFolder } from '#src/drivers/flushed-folders.ts'
import type { MachineKeys } from './ssh/keys.ts'
import type { TemplateName } from './templates/names.ts'
import { machinePlaces, machinesFolder, type Roots } from './places.ts'

/** The state of the disks when the memory was saved; the two only match together. Sizes in bytes, times in ms. */
export type Paused = {
  qemu: string
  acceleration: string
  memoryBytes: number
  disks: readonly { sizeBytes: number; changedMs: number }[]
}

/** The record of one machine. It contains the machine's keys: never logged, readable by us only. */
export type MachineRecord = {
  machineUuid: string
  /** The VM that it serves; null while it waits in the pool. */
  id: string | null
  /**
   * The user of its QEMU for the life of this record; null: the current user; absent: the shared user of earlier
   * versions.
   */
  uid?: number | null
  /** The backing file of its disk; absent in older records. */
  backing?: string
  /** Which of Berth's own templates its disk starts from; absent in older records: `base`. */
  recipe?: TemplateName
  templateHash: string
  /** The kept template that its disk starts from; null for `base`. */
  templateId: string | null
  vcpuCount: number
  memoryMb: number
  diskMb: number
  hostname: string
  /** A machine always has a second disk; it is its VM's workspace only when `hasFolder`. */
  folderId: string
  hasFolder: boolean
  /** How large that disk shall be; absent or null: as it was made. */
  folderMb?: number | null
  /** Whether that disk was made with the machine. */
  madeFolder: boolean
  keys: MachineKeys
  address: string
  port: number
  /** The port of its Postgres at that address; null, or absent in older records, when it runs none. */
  postgresPort?: number | null
  /** Whether it ever ran as a machine of its own; before that, its disk is worthless. */
  up: boolean
  /** False from the start of its QEMU until its guest answered: a worker that was killed in between left it half started. */
  reached: boolean
  paused: Paused | null
}

/** Replaces the record, surviving a kill of this process and a loss of power. Takes about 2 ms. */
export function writeRecord(roots: Roots, record: MachineRecord): void {
  const { record: path } = machinePlaces(roots, record.machineUuid)
  const next = `${path}.next`
  const file = openSync(next, 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(record))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(next, path)
  flushFolder(dirname(path))
}

/** Every machine on disk; a folder without a record was being made or removed when we were killed. */
export function readRecords(roots: Roots): { records: MachineRecord[]; halfMade: string[] } {
  const records: MachineRecord[] = []
  const halfMade: string[] = []
  const folder = machinesFolder(roots.dataDir)
  for (const machineUuid of existsSync(folder) ? readdirSync(folder) : []) {
    const { record } = machinePlaces(roots, machineUuid)
    if (existsSync(record))
      records.push(JSON.parse(readFileSync(record, 'utf8')) as MachineRecord) // written by us
    else halfMade.push(machineUuid)
  }
  return { records, halfMade }
}

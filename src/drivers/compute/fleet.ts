/** The machines that run on this node, each watched for its end; and what is left of one that has ended. */
import { existsSync, rmSync } from 'node:fs'
import type { ComputeNode } from './compute-node.ts'
import { takeBack, userOf } from './qemu/machine-users.ts'
import { folderDiskPlace, machinePlaces } from './places.ts'
import { killQemu } from './qemu/processes.ts'
import { stopServer } from './guest/postgres.ts'
import { readRecords, type MachineRecord } from './records.ts'
import type { RunningMachine } from './qemu/running-machine.ts'

const powerOffLimitMs = 10_000

/** The machines of this node. */
export type Fleet = {
  node: ComputeNode
  /** Watches this machine for its end. */
  keep(machine: RunningMachine): RunningMachine
  find(id: string): RunningMachine | undefined
  /** What is on disk of a VM's machine, running or not. */
  findRecord(id: string): MachineRecord | undefined
  isLive(machineUuid: string): boolean
  /** Ends a machine: if `cleanly`, by shutting it down within 10 s; otherwise, or if that fails, by killing it. */
  end(machine: RunningMachine, cleanly: boolean): Promise<void>
  /** Sets the clock of every guest. */
  setClocks(): void
  /** Disconnects from every machine, and leaves it running. */
  release(): void
}

/**
 * Makes the fleet.
 * @param onEnd called for every machine that ended by itself: its guest powered off, or it was lost.
 */
export function createFleet(node: ComputeNode, onEnd: (machine: RunningMachine, how: 'guest' | 'lost') => void): Fleet {
  const machines = new Map<string, RunningMachine>()
  const ending = new Set<string>()
  const find = (id: string): RunningMachine | undefined => [...machines.values()].find(({ record }) => record.id === id)
  return {
    node,
    find,
    findRecord: (id) => find(id)?.record ?? readRecords(node.roots).records.find((record) => record.id === id),
    isLive: (machineUuid) => machines.has(machineUuid),
    keep(machine) {
      const { machineUuid } = machine.record
      machines.set(machineUuid, machine)
      void machine.qmp.closed.then(async ({ guestEnd }) => {
        if (machines.get(machineUuid) !== machine) return
        machines.delete(machineUuid)
        machine.release()
        if (ending.has(machineUuid)) return
        node.log.warn({ machine: machineUuid, guestEnd }, 'a machine ended')
        // A QEMU that merely stopped responding would hold its disk and block the next one.
        await killQemu(machine.pid, machineUuid, userOf(node.users, machine.record)).catch((error: Error) =>
          node.log.error({ machine: machineUuid, err: error }, 'a machine that was given up is still running'),
        )
        onEnd(machine, guestEnd === 'shutdown' ? 'guest' : 'lost')
      })
      return machine
    },
    async end(machine, cleanly) {
      const { machineUuid } = machine.record
      ending.add(machineUuid)
      try {
        if (cleanly) await poweredOff(node, machine)
        machines.delete(machineUuid)
        machine.release()
        await killQemu(machine.pid, machineUuid, userOf(node.users, machine.record))
      } finally {
        ending.delete(machineUuid)
      }
    },
    setClocks() {
      for (const machine of machines.values()) machine.line.refresh()
    },
    release() {
      for (const machine of machines.values()) machine.release()
      machines.clear()
    },
  }
}

async function poweredOff(node: ComputeNode, machine: RunningMachine): Promise<void> {
  if (machine.record.recipe === 'postgres')
    await stopServer(machine).catch((error: unknown) =>
      node.log.warn({ machine: machine.record.machineUuid, err: error }, 'a Postgres did not stop in order'),
    ) // it recovers at its next start, as after a crash
  machine.line.powerOff()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, powerOffLimitMs)
  })
  await Promise.race([machine.qmp.closed, late])
  clearTimeout(timer)
}

/** Removes a dead machine's files; its folder's disk only when no VM uses it as a workspace, or the machine never ran. */
export function removeFiles(node: ComputeNode, record: MachineRecord): void {
  const places = machinePlaces(node.roots, record.machineUuid)
  const folderDisk = folderDiskPlace(node.roots.dataDir, record.folderId)
  if (!record.hasFolder || record.id === null || (record.madeFolder && !record.up)) rmSync(folderDisk, { force: true })
  else if (existsSync(folderDisk)) takeBack(folderDisk, 0o600) // the disk waits for its next machine, and its user may become another machine's
  for (const path of [places.qmp, places.line, places.saving]) rmSync(path, { force: true })
  rmSync(places.folder, { recursive: true, force: true })
  if (typeof record.uid === 'number') node.users?.free(record.uid, places.folder)
}

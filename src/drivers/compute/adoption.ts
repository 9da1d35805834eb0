/**
 * Adopting machines after a restart of the worker: they are found by their processes, and reconnected with the keys in
 * their records.
 */
import { existsSync, rmSync } from 'node:fs'
import type { ComputeNode } from './compute-node.ts'
import { removeFiles, type Fleet } from './fleet.ts'
import { openLine } from './guest/line.ts'
import { mayBeMachine, userOf } from './qemu/machine-users.ts'
import { machinePlaces, machinesFolder, socketsFolder } from './places.ts'
import { connectQmp } from './qemu/qmp.ts'
import { endQemus, findQemus, killQemu } from './qemu/processes.ts'
import { readRecords, type MachineRecord } from './records.ts'
import { runMachine, type RunningMachine } from './qemu/running-machine.ts'

const connectLimitMs = 5_000

/** Finds what an earlier worker left: running machines are reconnected; incomplete and orphaned ones are removed. */
export async function adoptMachines(
  { node, keep }: Fleet,
  addToPool: (machine: RunningMachine) => boolean,
): Promise<RunningMachine[]> {
  const { records, halfMade } = readRecords(node.roots)
  const known = new Map(records.map((record) => [record.machineUuid, record]))
  for (const { machineUuid, uid } of records)
    if (typeof uid === 'number') node.users?.keep(uid, machinePlaces(node.roots, machineUuid).folder)
  const live = await findQemus(machinesFolder(node.roots.dataDir), (machineUuid, uid) => {
    const record = known.get(machineUuid)
    return record !== undefined && uid === (userOf(node.users, record) ?? process.getuid!())
  })
  // The name of its sockets also finds a QEMU that was making a snapshot when its worker was killed.
  await endQemus(
    socketsFolder(node.roots.runDir),
    (machineUuid, uid) => !known.has(machineUuid) && mayBeMachine(node.users, uid),
  )
  for (const machineUuid of halfMade)
    rmSync(machinePlaces(node.roots, machineUuid).folder, { recursive: true, force: true })
  const adopted = await Promise.all(
    records.map(async (record) => {
      const pid = live.get(record.machineUuid)
      const machine = pid === undefined ? undefined : await reach(node, record, pid)
      const isStock = record.id === null
      if (machine && (!isStock || (record.templateHash === node.templates.base.hash && addToPool(machine))))
        return keep(machine)
      machine?.release()
      if (pid !== undefined) await killQemu(pid, record.machineUuid, userOf(node.users, record))
      if (isStock) removeFiles(node, record)
      return undefined
    }),
  )
  return adopted.filter((machine): machine is RunningMachine => machine !== undefined && machine.record.id !== null)
}

/**
 * A machine that was still starting cannot be adopted, nor one that is paused but for the end of its QEMU. One whose guest is
 * busy can: connecting is retried with each command.
 */
async function reach(node: ComputeNode, record: MachineRecord, pid: number): Promise<RunningMachine | undefined> {
  if (!record.reached || record.paused) return undefined
  const places = machinePlaces(node.roots, record.machineUuid)
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`))
    const machine = runMachine(node, { record, pid, qmp, line: await openLine(places.line) })
    await qmp.execute('cont') // a worker that was killed while pausing it left it stopped
    if (record.id !== null) {
      machine.wake() // commands to it wait for the connection; other machines do not
      return machine
    }
    await machine.line.endSessions()
    await machine.reach(connectLimitMs)
    return machine
  } catch (error) {
    node.log.warn({ machine: record.machineUuid, err: error }, 'a machine could not be adopted')
    return undefined
  }
}

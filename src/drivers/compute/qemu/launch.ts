/** Starts one machine: its files, its QEMU, its identity, and the first SSH connection. */
import { constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { newUuid } from '#src/platform/ids.ts'
import type { ComputeNode } from '#src/drivers/compute/compute-node.ts'
import { openLine, type GuestLine } from '#src/drivers/compute/guest/line.ts'
import { authorizedKey, dropbearHostKey, newKeys } from '#src/drivers/compute/ssh/keys.ts'
import { chooseAddress } from '#src/drivers/compute/loopback-addresses.ts'
import type { MachineSpec } from '#src/drivers/compute/machine.ts'
import { folderDiskPlace, machinePlaces, type MachinePlaces, type SnapshotPlaces } from '#src/drivers/compute/places.ts'
import { connectQmp, type Qmp } from './qmp.ts'
import { startQemu, type Memory, type QemuStart } from '#src/drivers/compute/qemu.ts'
import { killQemu } from './processes.ts'
import { writeRecord, type MachineRecord } from '#src/drivers/compute/records.ts'
import { runMachine, type RunningMachine } from './running-machine.ts'
import { loadState } from './saving.ts'
import type { Template } from '#src/drivers/compute/templates.ts'
import { diskOf, lentTemplate, startOf } from '#src/drivers/compute/kept-templates.ts'
import { createOverlay } from './disk-images.ts'
import { growDisks } from './growing.ts'
import { giveTo, takeBack } from './machine-users.ts'

/** The time limit from a running QEMU to a guest whose SSH server listens. */
const personaLimitMs = 60_000

/** What a machine starts from. */
export type Origin = { from: 'boot' } | { from: 'snapshot'; snapshot: SnapshotPlaces } | { from: 'paused' }

/** The record of a new machine; nothing is on disk yet. */
export async function newRecord(
  node: ComputeNode,
  spec: Pick<MachineSpec, 'template' | 'vcpuCount' | 'memoryMb' | 'diskMb' | 'hostname' | 'folder' | 'folderMb'>,
  id: string | null,
): Promise<MachineRecord> {
  const machineUuid = newUuid()
  const recipe = typeof spec.template === 'string' ? spec.template : 'base'
  const { hash, diskMb } = node.templates[recipe]
  return {
    machineUuid,
    id,
    uid: node.users?.take(machinePlaces(node.roots, machineUuid).folder) ?? null,
    recipe,
    templateHash: hash,
    templateId: typeof spec.template === 'object' ? spec.template.templateId : null,
    vcpuCount: spec.vcpuCount,
    memoryMb: spec.memoryMb,
    diskMb: Math.max(spec.diskMb, diskMb),
    hostname: spec.hostname,
    folderId: typeof spec.folder === 'object' ? spec.folder.folderId : newUuid(),
    hasFolder: spec.folder !== 'none',
    folderMb: spec.folderMb ?? null,
    madeFolder: typeof spec.folder === 'string',
    keys: newKeys(),
    ...(await chooseAddress(recipe === 'postgres')),
    up: false,
    reached: false,
    paused: null,
  }
}

/** Puts a new machine's files on disk: the record first, so that whatever follows can be found and removed. */
export async function makeFiles(
  node: ComputeNode,
  record: MachineRecord,
  origin: Exclude<Origin, { from: 'paused' }>,
): Promise<void> {
  const places = machinePlaces(node.roots, record.machineUuid)
  mkdirSync(places.folder, { mode: 0o711 })
  const { image } = startOf(node, record)
  record.backing = origin.from === 'snapshot' ? origin.snapshot.disk : image.path
  writeRecord(node.roots, record)
  if (origin.from === 'snapshot') copyFileSync(origin.snapshot.overlay, places.disk)
  else await createOverlay(record.uid ?? null, places.disk, image, record.diskMb)
  if (existsSync(folderDiskPlace(node.roots.dataDir, record.folderId))) return
  const { folderDisk } =
    record.recipe === 'postgres' && origin.from === 'snapshot' ? origin.snapshot : templateOf(node, record).places
  await copyFolderDisk(node, folderDisk, record.folderId)
}

function templateOf(node: ComputeNode, { recipe }: MachineRecord): Template {
  return node.templates[recipe ?? 'base']
}

/** Creates an empty folder disk, and returns its id. */
export async function makeFolderDisk(node: ComputeNode, folderId: string): Promise<string> {
  await copyFolderDisk(node, node.templates.base.places.folderDisk, folderId)
  return folderId
}

/** Creates a folder disk by copying a file system, without its blocks where they can be shared. We own it until a machine uses it. */
async function copyFolderDisk(node: ComputeNode, from: string, folderId: string): Promise<void> {
  const place = folderDiskPlace(node.roots.dataDir, folderId)
  await copyFile(from, `${place}.next`, constants.COPYFILE_FICLONE)
  takeBack(`${place}.next`, 0o600)
  renameSync(`${place}.next`, place)
}

/**
 * Makes a machine's user the owner of its disks. It gets a new user if it has none yet, or if on this host that user
 * belongs to another machine.
 */
function giveDisks(node: ComputeNode, record: MachineRecord): void {
  const places = machinePlaces(node.roots, record.machineUuid)
  if (!node.users) record.uid = null
  else if (typeof record.uid !== 'number' || !node.users.keep(record.uid, places.folder))
    record.uid = node.users.take(places.folder)
  for (const disk of [places.disk, folderDiskPlace(node.roots.dataDir, record.folderId)]) giveTo(record.uid, disk)
}

/**
 * Starts a machine whose files are on disk, and connects to it.
 * @throws Error when it does not start; then nothing of it is running.
 */
export async function launch(node: ComputeNode, record: MachineRecord, origin: Origin): Promise<RunningMachine> {
  const places = machinePlaces(node.roots, record.machineUuid)
  giveDisks(node, record)
  const disk = await diskOf(node, record)
  if (record.up) Object.assign(record, await chooseAddress(record.recipe === 'postgres')) // another machine may use the old address by now
  record.reached = false
  writeRecord(node.roots, record)
  for (const socket of [places.qmp, places.line]) rmSync(socket, { force: true })
  const took = stopwatch()
  const { pid, errors } = await startQemu(startFor(node, record, origin, disk))
  let machine: RunningMachine | undefined
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`)).catch((error: Error) => {
      throw new Error(`${error.message}: ${errors()}`)
    })
    const line = await openLine(places.line)
    took('qemuMs')
    machine = runMachine(node, { record, pid, qmp, line })
    await continueFrom(node, origin, { record, places, qmp, line })
    took('personaMs')
    if (origin.from === 'paused') await reachLater(node, machine)
    else await machine.reach()
    node.log.debug({ machine: record.machineUuid, from: origin.from, ...took('sshMs') }, 'a machine came up')
    if (origin.from !== 'paused') await growIn(node, machine, record)
    record.up = true
    record.reached = true
    writeRecord(node.roots, record)
    return machine
  } catch (error) {
    machine?.release()
    await killQemu(pid, record.machineUuid, record.uid ?? null)
    throw error
  }
}

/**
 * Grows the file systems of a guest to its disks, with its own programs. Whoever has a machine may have broken those: one that has
 * come up before goes on in the size that it had.
 */
async function growIn(node: ComputeNode, machine: RunningMachine, record: MachineRecord): Promise<void> {
  try {
    await growDisks(machine, templateOf(node, record).diskMb)
  } catch (error) {
    if (!record.up) throw error
    node.log.warn({ machine: record.machineUuid, err: error }, 'the file system of a machine did not grow')
  }
}

/** A guest whose memory is loaded is worth more than an answer in time: on a busy host it is connected to when it answers. */
async function reachLater(node: ComputeNode, machine: RunningMachine): Promise<void> {
  try {
    await machine.reach()
  } catch (error) {
    node.log.warn({ machine: machine.record.machineUuid, err: error }, 'a resumed machine does not answer yet')
    machine.wake()
  }
}

function startFor(node: ComputeNode, record: MachineRecord, origin: Origin, disk: QemuStart['disk']): QemuStart {
  const places = machinePlaces(node.roots, record.machineUuid)
  return {
    machineUuid: record.machineUuid,
    acceleration: node.acceleration,
    vcpuCount: record.vcpuCount,
    memoryMb: record.memoryMb,
    memory: memoryOf(origin),
    template: startOf(node, record),
    disk,
    places,
    mark: places.mark,
    folderDisk: folderDiskPlace(node.roots.dataDir, record.folderId),
    address: record.address,
    port: record.port,
    postgresPort: record.postgresPort ?? null,
    stateFile:
      origin.from === 'snapshot' ? origin.snapshot.state : origin.from === 'paused' ? places.pausedMemory : null,
    lent:
      origin.from === 'snapshot'
        ? { library: node.templates.base.places.lend, path: origin.snapshot.memory }
        : lentTemplate(node, record),
    uid: record.uid ?? null,
  }
}

/** Names the time since the last call. Unit: ms. */
function stopwatch(): (name: string) => Record<string, number> {
  const laps: Record<string, number> = {}
  let lastMs = performance.now()
  return (name) => {
    const nowMs = performance.now()
    laps[name] = Math.round(nowMs - lastMs)
    lastMs = nowMs
    return laps
  }
}

function memoryOf(origin: Origin): Memory {
  return origin.from === 'snapshot' ? { from: 'snapshot', path: origin.snapshot.memory } : { from: 'empty' }
}

async function continueFrom(
  node: ComputeNode,
  origin: Origin,
  { record, places, qmp, line }: { record: MachineRecord; places: MachinePlaces; qmp: Qmp; line: GuestLine },
): Promise<void> {
  if (origin.from === 'paused') {
    await loadState(qmp, true)
    // From here on the disks change, so this memory image must never be used again; but what it holds is in a QEMU that a
    // next worker can adopt.
    record.paused = null
    record.reached = true
    writeRecord(node.roots, record)
    await qmp.execute('cont')
    rmSync(places.pausedMemory, { force: true })
    line.refresh()
    await line.endSessions().catch((error: unknown) => {
      node.log.warn({ machine: record.machineUuid, err: error }, 'old sessions of a resumed machine may go on') // until it is connected to
    })
    return
  }
  if (origin.from === 'snapshot') {
    await loadState(qmp, false)
    await qmp.execute('cont')
  }
  await line.personalise(
    {
      hostname: record.hostname,
      machineId: record.keys.machineId,
      mountFolder: record.hasFolder && record.recipe !== 'postgres', // its guest mounts it itself, before Postgres starts
      hostKey: dropbearHostKey(record.keys),
      authorizedKey: authorizedKey(record.keys),
    },
    personaLimitMs,
  )
}

/** Brings one machine up: its files, its QEMU, what makes it one of a kind, and the first SSH connection. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { newUuid } from '#src/platform/ids.ts'
import type { ComputeNode } from './compute-node.ts'
import { openLine, type GuestLine } from './guest-line.ts'
import { authorizedKey, dropbearHostKey, newKeys } from './keys.ts'
import { chooseAddress } from './loopback-addresses.ts'
import type { MachineSpec } from './machine.ts'
import { folderDiskPlace, machinePlaces, type MachinePlaces, type SnapshotPlaces } from './places.ts'
import { connectQmp, type Qmp } from './qmp.ts'
import { killQemu, startQemu, type Memory } from './qemu.ts'
import { writeRecord, type MachineRecord } from './records.ts'
import { runMachine, type RunningMachine } from './running-machine.ts'
import { loadState } from './saving.ts'
import { giveToQemu } from './snapshots.ts'
import { baseDiskMb } from './templates.ts'
import { startOf } from './kept-templates.ts'

const run = promisify(execFile)
const imageTimeoutMs = 30_000
/** From a QEMU that runs to a guest whose SSH server listens. */
const personaLimitMs = 60_000
const growLimitMs = 60_000

/** What a machine continues from. */
export type Origin = { from: 'boot' } | { from: 'snapshot'; snapshot: SnapshotPlaces } | { from: 'paused' }

/** The record of a machine that is about to be made; nothing is on disk yet. */
export async function newRecord(node: ComputeNode, spec: Pick<MachineSpec, 'template' | 'vcpuCount' | 'memoryMb' | 'diskMb' | 'hostname' | 'folder'>, id: string | null): Promise<MachineRecord> {
  return {
    machineUuid: newUuid(), id, templateHash: node.template.hash, templateId: typeof spec.template === 'object' ? spec.template.templateId : null,
    vcpuCount: spec.vcpuCount, memoryMb: spec.memoryMb, diskMb: Math.max(spec.diskMb, baseDiskMb), hostname: spec.hostname,
    folderId: typeof spec.folder === 'object' ? spec.folder.folderId : newUuid(), hasFolder: spec.folder !== 'none', madeFolder: typeof spec.folder === 'string',
    keys: newKeys(), ...(await chooseAddress()), up: false, reached: false, paused: null,
  }
}

/** Puts a new machine's files on disk: the record first, so that whatever follows can be found and removed. */
export async function makeFiles(node: ComputeNode, record: MachineRecord, origin: Exclude<Origin, { from: 'paused' }>): Promise<void> {
  const places = machinePlaces(node.roots, record.machineUuid)
  mkdirSync(places.folder, { mode: 0o711 })
  writeRecord(node.roots, record)
  if (origin.from === 'snapshot') copyFileSync(origin.snapshot.overlay, places.disk)
  else {
    const { image, format } = startOf(node, record)
    await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', format, '-b', image, places.disk, `${record.diskMb}M`], { timeout: imageTimeoutMs })
  }
  closeToOthers(node, places.disk)
  if (!existsSync(folderDiskPlace(node.roots.dataDir, record.folderId))) makeFolderDisk(node, record.folderId)
}

/** An empty file system, copied; every folder disk has the same size. */
export function makeFolderDisk(node: ComputeNode, folderId: string): void {
  const place = folderDiskPlace(node.roots.dataDir, folderId)
  copyFileSync(node.template.places.folderDisk, `${place}.next`)
  closeToOthers(node, `${place}.next`)
  renameSync(`${place}.next`, place)
}

function closeToOthers(node: ComputeNode, disk: string): void {
  chmodSync(disk, 0o600)
  giveToQemu(node, disk)
}

/**
 * Starts a machine whose files are on disk, and connects to it.
 * @throws Error when it does not come up; nothing of it runs then.
 */
export async function launch(node: ComputeNode, record: MachineRecord, origin: Origin): Promise<RunningMachine> {
  const places = machinePlaces(node.roots, record.machineUuid)
  const template = startOf(node, record)
  if (record.up) Object.assign(record, await chooseAddress()) // the old address may be another's by now
  record.reached = false
  writeRecord(node.roots, record)
  for (const socket of [places.qmp, places.line]) rmSync(socket, { force: true })
  const took = stopwatch()
  const pid = await startQemu({
    machineUuid: record.machineUuid, acceleration: node.acceleration, vcpuCount: record.vcpuCount, memoryMb: record.memoryMb,
    memory: memoryOf(origin), template, places, folderDisk: folderDiskPlace(node.roots.dataDir, record.folderId),
    address: record.address, port: record.port,
    stateFile: origin.from === 'snapshot' ? origin.snapshot.state : origin.from === 'paused' ? places.pausedMemory : null, user: node.user,
  })
  let machine: RunningMachine | undefined
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`)).catch((error: Error) => { throw new Error(`${error.message}: ${lastErrors(places)}`) })
    const line = await openLine(places.line)
    took('qemuMs')
    machine = runMachine(node, { record, pid, qmp, line })
    await continueFrom(node, origin, { record, places, qmp, line })
    took('personaMs')
    await machine.connect()
    node.log.debug({ machine: record.machineUuid, from: origin.from, ...took('sshMs') }, 'a machine came up')
    if (record.diskMb > baseDiskMb && origin.from !== 'paused') await growDisk(machine, qmp, origin)
    record.up = true
    record.reached = true
    writeRecord(node.roots, record)
    return machine
  } catch (error) {
    machine?.release()
    await killQemu(pid, record.machineUuid, node.user)
    throw error
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

async function continueFrom(node: ComputeNode, origin: Origin, { record, places, qmp, line }: { record: MachineRecord; places: MachinePlaces; qmp: Qmp; line: GuestLine }): Promise<void> {
  if (origin.from === 'paused') {
    await loadState(qmp, true)
    // From here on the disks change: this memory must never be used a second time.
    record.paused = null
    writeRecord(node.roots, record)
    await qmp.execute('cont')
    rmSync(places.pausedMemory, { force: true })
    line.refresh()
    await line.endSessions()
    return
  }
  if (origin.from === 'snapshot') {
    await loadState(qmp, false)
    await qmp.execute('cont')
  }
  await line.personalise({
    hostname: record.hostname, machineId: record.keys.machineId, mountFolder: record.hasFolder,
    hostKey: dropbearHostKey(record.keys), authorizedKey: authorizedKey(record.keys),
  }, personaLimitMs)
}

/** A disk larger than the template's: the machine is told, and the guest's file system follows. */
async function growDisk(machine: RunningMachine, qmp: Qmp, origin: Origin): Promise<void> {
  if (origin.from === 'snapshot') await qmp.execute('block_resize', { device: 'root', size: machine.record.diskMb * 1024 * 1024 })
  const { exit, stdout, stderr } = await machine.run({ argv: ['resize2fs', '/dev/vda'], as: 'root', timeoutMs: growLimitMs })
  stdout.resume()
  stderr.resume()
  if ((await exit).exitCode !== 0) throw new Error('the machine’s disk could not be grown')
}

/** The end of what QEMU complained of. */
function lastErrors(places: MachinePlaces): string {
  const keptCharacters = 2000
  return statSync(places.errors, { throwIfNoEntry: false }) ? readFileSync(places.errors, 'utf8').slice(-keptCharacters) : ''
}

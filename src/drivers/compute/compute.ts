/**
 * The QEMU driver. A machine is one QEMU process with a folder of its own (records.ts); this file decides which are
 * started, taken, stopped and removed. Operations on one machine run one after the other.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { knownAcceleration, probeAcceleration, qemuVersion } from './qemu/acceleration.ts'
import { adoptMachines } from './adoption.ts'
import type { ComputeNode } from './compute-node.ts'
import { execInGuest } from './guest/exec.ts'
import { copyFolderDisk } from './folder-copies.ts'
import { createFleet, removeFiles, type Fleet } from './fleet.ts'
import { isKept, keepTemplate, removeTemplate, takeTemplates } from './kept-templates.ts'
import { launch, makeFiles, makeFolderDisk, newRecord } from './qemu/launch.ts'
import type { Compute, ComputeOptions, MachineSpec, Progress, Resident, TakenFrom } from './machine.ts'
import { createMachineUsers } from './qemu/machine-users.ts'
import { pauseMachine, resumeMachine } from './qemu/pausing.ts'
import {
  folderDiskPlace,
  foldersFolder,
  keptTemplatesFolder,
  machinePlaces,
  machinesFolder,
  socketsFolder,
} from './places.ts'
import { createPool, type Pool } from './pool.ts'
import { readRecords, writeRecord, type MachineRecord } from './records.ts'
import type { RunningMachine } from './qemu/running-machine.ts'
import { ensureSnapshot, findSnapshot, type Size } from './qemu/snapshots.ts'
import { baseDiskMb, currentTemplate, ensureTemplate } from './templates.ts'

/** The shape of warm machines in the pool: that of a VM created without a size. */
const defaultSize: Size = { vcpuCount: 2, memoryMb: 2048 }
const warmShape = { ...defaultSize, template: 'base', diskMb: baseDiskMb, hostname: 'berth', folder: 'new' } as const
const firstCommandLimitMs = 15_000
const startTriesMax = 2
/** An emulated guest on a busy host loses some 30 ms in 5 s, so its clock is set from the host's. */
const setClocksEveryMs = 10_000
/** prepare() spends this share of its progress on the template; the rest on the snapshot. */
const templateShare = 0.9

type Shape = Omit<MachineSpec, 'id'>

/** Makes the driver. Nothing happens before `prepare`. */
export function createCompute(options: ComputeOptions): Compute {
  const node: ComputeNode = {
    roots: options,
    users: options.vmUids && createMachineUsers(options.vmUids),
    log: options.log,
    onEgress: options.onEgress,
    acceleration: knownAcceleration(options.cacheDir),
    qemuVersion: '',
    template: currentTemplate(options.cacheDir),
  }
  const inOrder = createQueues()
  const fleet = createFleet(node, (machine, how) => {
    if (machine.record.id !== null) return options.onExit(machine.record.id, how)
    pool.forget(machine)
    removeFiles(node, machine.record)
  })
  let clock: NodeJS.Timeout | undefined
  const pool = createPool(options.poolSize, () => startWarm(fleet), options.log)
  return {
    get acceleration() {
      return node.acceleration
    },
    get warm() {
      return pool.warm
    },
    prepare: (progress) => prepare(node, options, progress),
    adopt: () => adoptMachines(fleet, (machine) => pool.add(machine)),
    fillPool() {
      pool.start()
      clock ??= setInterval(() => fleet.setClocks(), setClocksEveryMs)
    },
    take: (spec) => inOrder(spec.id, () => asCapacity(node, () => take(fleet, pool, spec))),
    boot: (spec) => inOrder(spec.id, () => asCapacity(node, () => boot(fleet, spec.id))),
    find: (id) => fleet.find(id),
    stop: (id) =>
      inOrder(id, async () => {
        const machine = fleet.find(id)
        if (machine) await fleet.end(machine, true)
      }),
    destroy: (id) => inOrder(id, () => destroy(fleet, id)),
    pause: (id) =>
      inOrder(id, async () => {
        const machine = fleet.find(id)
        if (machine) await pauseMachine(fleet, machine)
      }),
    resume: (spec) =>
      inOrder(spec.id, async () => fleet.find(spec.id) ?? resumeMachine(fleet, fleet.findRecord(spec.id))),
    residents: async () => residentsOf(fleet),
    async createFolder() {
      const folderId = newUuid()
      makeFolderDisk(node, folderId)
      return folderId
    },
    copyFolder: (folderId, to) => copyFolderDisk(fleet, inOrder, folderId, to),
    keepTemplate: (id, templateId) => inOrder(id, async () => keepTemplate(node, stoppedRecord(fleet, id), templateId)),
    removeTemplate: async (templateId) => removeTemplate(node, templateId),
    removeFolder: async (folderId) => rmSync(folderDiskPlace(options.dataDir, folderId), { force: true }),
    async close({ keepPool = false } = {}) {
      clearInterval(clock)
      for (const machine of await pool.stop()) {
        if (keepPool) continue
        await fleet.end(machine, false)
        removeFiles(node, machine.record)
      }
      fleet.release()
    },
  }
}

async function prepare(node: ComputeNode, options: ComputeOptions, progress: Progress): Promise<void> {
  mkdirSync(options.cacheDir, { recursive: true, mode: 0o755 })
  const folders = [
    options.dataDir,
    machinesFolder(options.dataDir),
    foldersFolder(options.dataDir),
    keptTemplatesFolder(options.dataDir),
    options.runDir,
    socketsFolder(options.runDir),
  ]
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o711 })
  if (node.users) {
    chownSync(socketsFolder(options.runDir), 0, 0) // in older versions it belonged to the QEMUs' user
    // A machine's user may traverse the folders above its files, but not list them. (A restore makes them private.)
    for (const folder of folders) chmodSync(folder, statSync(folder).mode | 0o111)
    takeTemplates(node)
  }
  node.qemuVersion = await qemuVersion()
  node.template = await ensureTemplate(options.cacheDir, (fraction, sentence) =>
    progress(fraction * templateShare, sentence),
  )
  node.acceleration = await probeAcceleration(options.cacheDir, node.template.places, node.users)
  progress(templateShare, 'Saving the snapshot that machines start from')
  await ensureSnapshot(node, defaultSize)
  progress(1, 'The templates are ready')
}

async function take(
  fleet: Fleet,
  pool: Pool,
  spec: MachineSpec,
): Promise<{ machine: RunningMachine; from: TakenFrom }> {
  const { node } = fleet
  const running = fleet.find(spec.id)
  if (running) return { machine: running, from: 'existing' }
  const left = fleet.findRecord(spec.id)
  if (left?.up) return { machine: await bootAgain(fleet, left), from: 'boot' }
  if (left) removeFiles(node, left) // it died before it ever ran
  const warm = fitsPool(spec) ? await pool.take() : undefined
  if (warm) return { machine: await assign(node, warm, spec), from: 'pool' }
  const from = spec.template === 'base' && findSnapshot(node, spec).made ? 'snapshot' : 'boot'
  return { machine: await startNew(fleet, spec, spec.id), from }
}

function fitsPool(spec: MachineSpec): boolean {
  return (
    spec.template === 'base' &&
    spec.vcpuCount === defaultSize.vcpuCount &&
    spec.memoryMb === defaultSize.memoryMb &&
    spec.diskMb <= baseDiskMb &&
    typeof spec.folder === 'string'
  )
}

/** Assigns a warm machine to this VM. It does not wait for the guest, unless its workspace must be removed. */
async function assign(node: ComputeNode, machine: RunningMachine, spec: MachineSpec): Promise<RunningMachine> {
  const { record } = machine
  record.id = spec.id
  record.hostname = spec.hostname
  record.hasFolder = spec.folder !== 'none'
  writeRecord(node.roots, record)
  machine.line.refresh() // its clock drifted while it waited
  machine.line.setHostname(spec.hostname)
  if (!record.hasFolder) await machine.line.unmountFolder()
  return machine
}

/**
 * Starts a machine for the pool. Under emulation the first command takes three times as long as later ones, so one is
 * run here.
 */
async function startWarm(fleet: Fleet): Promise<RunningMachine> {
  const machine = await startNew(fleet, warmShape, null)
  try {
    await execInGuest(machine, { argv: ['/bin/bash', '-lc', 'true'], timeoutMs: firstCommandLimitMs })
    return machine
  } catch (error) {
    await fleet.end(machine, false)
    removeFiles(fleet.node, machine.record)
    throw error
  }
}

/** Starts a new machine in the fastest way available. */
async function startNew(fleet: Fleet, shape: Shape, id: string | null): Promise<RunningMachine> {
  const { node } = fleet
  if (typeof shape.folder === 'object' && !existsSync(folderDiskPlace(node.roots.dataDir, shape.folder.folderId)))
    throw new BerthError('capacity_unavailable', 'The disk of this folder is not on this node.')
  if (typeof shape.template === 'object' && !isKept(node, shape.template.templateId))
    throw new BerthError('capacity_unavailable', 'The disk of this template is not on this node.')
  if (shape.template === 'postgres')
    throw new BerthError('capacity_unavailable', 'This node has no template for databases yet.')
  const snapshot = shape.template === 'base' ? findSnapshot(node, shape) : null
  const origin = snapshot?.made
    ? ({ from: 'snapshot', snapshot: snapshot.places } as const)
    : ({ from: 'boot' } as const)
  const record = await newRecord(node, shape, id)
  try {
    await makeFiles(node, record, origin)
    const machine = fleet.keep(await launch(node, record, origin))
    // Makes a snapshot, so that the next machine of this size need not boot.
    if (snapshot && !snapshot.made)
      ensureSnapshot(node, shape).catch((error: Error) => node.log.warn({ err: error }, 'a snapshot could not be made'))
    return machine
  } catch (error) {
    removeFiles(node, record)
    throw error
  }
}

async function boot(fleet: Fleet, id: string): Promise<RunningMachine> {
  const record = fleet.findRecord(id)
  if (!record) throw new BerthError('invalid_transition', 'The VM has no disk on this node to start from.')
  return fleet.find(id) ?? bootAgain(fleet, record)
}

async function bootAgain({ node, keep }: Fleet, record: MachineRecord): Promise<RunningMachine> {
  record.paused = null
  rmSync(machinePlaces(node.roots, record.machineUuid).pausedMemory, { force: true })
  return keep(await launch(node, record, { from: 'boot' }))
}

async function destroy(fleet: Fleet, id: string): Promise<void> {
  const machine = fleet.find(id)
  if (machine) await fleet.end(machine, false)
  for (const record of readRecords(fleet.node.roots).records) if (record.id === id) removeFiles(fleet.node, record)
}

function stoppedRecord(fleet: Fleet, id: string): MachineRecord {
  const record = fleet.findRecord(id)
  if (!record || fleet.isLive(record.machineUuid)) throw new Error('only a stopped machine can be kept as a template')
  return record
}

/** The machines that belong to a VM, live or not. */
function residentsOf(fleet: Fleet): Resident[] {
  return readRecords(fleet.node.roots).records.flatMap(({ id, machineUuid, paused, hasFolder, folderId }) =>
    id === null
      ? []
      : [{ id, live: fleet.isLive(machineUuid), paused: paused !== null, folderId: hasFolder ? folderId : null }],
  )
}

/**
 * Turns a failure to start a machine into the node's fault, not the caller's. It is tried twice, because a busy host,
 * or an address that another machine took meanwhile, is no reason to fail.
 */
async function asCapacity<T>(node: ComputeNode, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof BerthError && error.code !== 'vm_unreachable') throw error
      node.log.warn({ err: error, tries }, 'a machine could not be started')
      if (tries < startTriesMax) continue
      throw new BerthError('capacity_unavailable', 'The node could not start the VM. Try again in a few seconds.', {
        retryAfterSeconds: 5,
      })
    }
  }
}

/** Runs operations on one machine in order. */
function createQueues(): <T>(id: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (id, work) => {
    const turn = (last.get(id) ?? Promise.resolve()).then(work, work)
    last.set(id, turn)
    try {
      return await turn
    } finally {
      if (last.get(id) === turn) last.delete(id)
    }
  }
}

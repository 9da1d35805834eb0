/**
 * The QEMU driver. A machine is one QEMU process with a folder of its own (records.ts); this file decides which are
 * started, taken, stopped and removed. What happens to one machine happens one after the other.
 */
import { chownSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { knownAcceleration, probeAcceleration, qemuVersion } from './acceleration.ts'
import type { ComputeNode } from './compute-node.ts'
import { openLine } from './guest-line.ts'
import { launch, makeFiles, makeFolderDisk, newRecord, type Origin } from './launch.ts'
import type { Compute, ComputeOptions, Machine, MachineSpec, Progress, TakenFrom } from './machine.ts'
import { folderDiskPlace, machinePlaces, machinesFolder, socketsFolder } from './places.ts'
import { createPool } from './pool.ts'
import { connectQmp } from './qmp.ts'
import { findQemus, killQemu } from './qemu.ts'
import { readRecords, writeRecord, type MachineRecord, type Paused } from './records.ts'
import { runMachine, type RunningMachine } from './running-machine.ts'
import { saveState } from './saving.ts'
import { ensureSnapshot, findSnapshot, type Size } from './snapshots.ts'
import { baseDiskMb, currentTemplate, ensureTemplate } from './templates.ts'

/** The shape that the pool keeps warm (decisions.md §4.1). */
const defaultSize: Size = { vcpuCount: 2, memoryMb: 2048 }
const poolHostname = 'berth'
const powerOffLimitMs = 10_000
const adoptConnectLimitMs = 5_000
/** prepare() spends this share of its progress on the template; the rest on the snapshot. */
const templateShare = 0.9

/** Makes the driver. Nothing happens before `prepare`. */
export function createCompute(options: ComputeOptions): Compute {
  const node: ComputeNode = {
    roots: options, user: options.qemuUser, log: options.log, onEgress: options.onEgress,
    acceleration: knownAcceleration(options.cacheDir), qemuVersion: '', template: currentTemplate(options.cacheDir),
  }
  const machines = new Map<string, RunningMachine>()
  /** Machines that we are ending ourselves; everybody else's end is news. */
  const ending = new Set<string>()
  const inOrder = createQueues()
  const pool = createPool(options.poolSize, () => start({ ...defaultSize, diskMb: baseDiskMb, hostname: poolHostname, folder: 'new' }, null), options.log)
  const state: State = { node, machines, ending, start, keep }

  /** Starts a new machine by the quickest way there is. */
  async function start(spec: Omit<MachineSpec, 'id' | 'template'>, id: string | null): Promise<RunningMachine> {
    if (typeof spec.folder === 'object' && !existsSync(folderDiskPlace(options.dataDir, spec.folder.folderId))) throw new BerthError('capacity_unavailable', 'The disk of this folder is not on this node.')
    const snapshot = findSnapshot(node, spec)
    const origin: Origin = snapshot.made ? { from: 'snapshot', snapshot: snapshot.places } : { from: 'boot' }
    const record = await newRecord(node, spec, id)
    try {
      await makeFiles(node, record, origin as Exclude<Origin, { from: 'paused' }>)
      const machine = keep(await launch(node, record, origin))
      // The next machine of this size shall not have to boot.
      if (!snapshot.made) ensureSnapshot(node, spec).catch((error: Error) => options.log.warn({ err: error }, 'a snapshot could not be made'))
      return machine
    } catch (error) {
      removeFiles(node, record)
      throw error
    }
  }

  /** From now on this machine is watched. */
  function keep(machine: RunningMachine): RunningMachine {
    const { record } = machine
    machines.set(record.machineUuid, machine)
    void machine.qmp.closed.then(({ guestEnd }) => {
      if (machines.get(record.machineUuid) !== machine) return
      machines.delete(record.machineUuid)
      machine.release()
      if (ending.has(record.machineUuid)) return
      options.log.warn({ machine: record.machineUuid, guestEnd }, 'a machine ended')
      if (record.id !== null) return options.onExit(record.id, guestEnd === 'shutdown' ? 'guest' : 'lost')
      pool.forget(machine)
      removeFiles(node, record)
    })
    return machine
  }

  const findRunning = (id: string): RunningMachine | undefined => [...machines.values()].find(({ record }) => record.id === id)
  const findRecord = (id: string): MachineRecord | undefined => findRunning(id)?.record ?? readRecords(options).records.find((record) => record.id === id)

  return {
    get acceleration() { return node.acceleration },
    prepare: (progress) => prepare(node, options, progress),
    adopt: () => adopt(state, (machine) => pool.add(machine)),
    fillPool: () => pool.start(),
    take: (spec) => inOrder(spec.id, () => asCapacity(node, async () => {
      const running = findRunning(spec.id)
      if (running) return { machine: running, from: 'existing' as const }
      const left = findRecord(spec.id)
      if (left?.up) return { machine: await bootAgain(state, left), from: 'boot' as const }
      if (left) removeFiles(node, left) // it died before it ever ran
      const warm = isPooled(spec) ? await pool.take() : undefined
      if (warm) return { machine: await assign(node, warm, spec), from: 'pool' as const }
      const from: TakenFrom = findSnapshot(node, spec).made ? 'snapshot' : 'boot'
      return { machine: await start(spec, spec.id), from }
    })),
    boot: (spec) => inOrder(spec.id, () => asCapacity(node, async () => {
      const record = findRecord(spec.id)
      if (!record) throw new BerthError('invalid_transition', 'The VM has no disk on this node to start from.')
      return findRunning(spec.id) ?? bootAgain(state, record)
    })),
    find: findRunning,
    stop: (id) => inOrder(id, async () => {
      const machine = findRunning(id)
      if (machine) await end(state, machine, true)
    }),
    destroy: (id) => inOrder(id, async () => {
      const machine = findRunning(id)
      if (machine) await end(state, machine, false)
      for (const record of readRecords(options).records) if (record.id === id) removeFiles(node, record)
    }),
    pause: (id) => inOrder(id, async () => {
      const machine = findRunning(id)
      if (machine) await pause(state, machine)
    }),
    resume: (spec) => inOrder(spec.id, async () => {
      const record = findRecord(spec.id)
      return findRunning(spec.id) ?? resume(state, record)
    }),
    async residents() {
      return readRecords(options).records.flatMap((record) => record.id === null ? [] : [{ id: record.id, live: machines.has(record.machineUuid), paused: record.paused !== null, folderId: record.hasFolder ? record.folderId : null }])
    },
    async createFolder() {
      const folderId = newUuid()
      makeFolderDisk(node, folderId)
      return folderId
    },
    async removeFolder(folderId) {
      rmSync(folderDiskPlace(options.dataDir, folderId), { force: true })
    },
    async close() {
      await pool.stop()
      for (const machine of machines.values()) machine.release()
      machines.clear()
    },
  }
}

type State = {
  node: ComputeNode
  machines: Map<string, RunningMachine>
  ending: Set<string>
  start: (spec: Omit<MachineSpec, 'id' | 'template'>, id: string | null) => Promise<RunningMachine>
  keep: (machine: RunningMachine) => RunningMachine
}

async function prepare(node: ComputeNode, options: ComputeOptions, progress: Progress): Promise<void> {
  mkdirSync(options.cacheDir, { recursive: true, mode: 0o755 })
  mkdirSync(machinesFolder(options.dataDir), { recursive: true, mode: 0o711 })
  mkdirSync(join(options.dataDir, 'folders'), { recursive: true, mode: 0o711 })
  const sockets = socketsFolder(options.runDir)
  mkdirSync(options.runDir, { recursive: true, mode: 0o711 })
  mkdirSync(sockets, { recursive: true, mode: 0o700 })
  if (node.user) chownSync(sockets, node.user.uid, node.user.gid)
  node.qemuVersion = await qemuVersion()
  node.template = await ensureTemplate(options.cacheDir, (fraction, sentence) => progress(fraction * templateShare, sentence))
  node.acceleration = await probeAcceleration(options.cacheDir, node.template.places, node.user)
  progress(templateShare, 'Saving the moment from which machines start')
  await ensureSnapshot(node, defaultSize)
  progress(1, 'The templates are ready')
}

/** A warm machine becomes this VM's. No word with the guest is waited for, unless its workspace must go. */
async function assign(node: ComputeNode, machine: RunningMachine, spec: MachineSpec): Promise<RunningMachine> {
  const { record } = machine
  record.id = spec.id
  record.hostname = spec.hostname
  record.hasFolder = spec.folder !== 'none'
  writeRecord(node.roots, record)
  machine.line.setHostname(spec.hostname)
  if (!record.hasFolder) await machine.line.unmountFolder()
  return machine
}

function isPooled(spec: MachineSpec): boolean {
  return spec.vcpuCount === defaultSize.vcpuCount && spec.memoryMb === defaultSize.memoryMb && spec.diskMb <= baseDiskMb && typeof spec.folder === 'string'
}

async function bootAgain({ node, keep }: State, record: MachineRecord): Promise<RunningMachine> {
  record.paused = null
  rmSync(machinePlaces(node.roots, record.machineUuid).pausedMemory, { force: true })
  return keep(await launch(node, record, { from: 'boot' }))
}

/** Ends a machine: cleanly within the limit when asked to, and in any case. */
async function end({ node, machines, ending }: State, machine: RunningMachine, cleanly: boolean): Promise<void> {
  const { record } = machine
  ending.add(record.machineUuid)
  try {
    if (cleanly) {
      machine.line.powerOff()
      let timer: NodeJS.Timeout | undefined
      await Promise.race([machine.qmp.closed, new Promise((resolve) => { timer = setTimeout(resolve, powerOffLimitMs) })])
      clearTimeout(timer)
    }
    await killQemu(machine.pid, record.machineUuid, node.user)
    machine.release()
    machines.delete(record.machineUuid)
  } finally {
    ending.delete(record.machineUuid)
  }
}

async function pause(state: State, machine: RunningMachine): Promise<void> {
  const { node } = state
  const { record, qmp } = machine
  const places = machinePlaces(node.roots, record.machineUuid)
  await qmp.execute('stop')
  try {
    await saveState(qmp, places.saving, places.pausedMemory, true)
  } catch (error) {
    await qmp.execute('cont')
    rmSync(places.pausedMemory, { force: true })
    throw error
  }
  await end(state, machine, false)
  record.paused = pausedNow(node, record)
  writeRecord(node.roots, record)
}

async function resume({ node, keep }: State, record: MachineRecord | undefined): Promise<RunningMachine> {
  if (!record?.paused) throw new BerthError('invalid_transition', 'The VM has no saved memory to continue from. Start it to boot from its disk.')
  if (JSON.stringify(pausedNow(node, record)) !== JSON.stringify(record.paused)) throw new BerthError('invalid_transition', 'The VM’s saved memory does not fit its disk or this node any more. Start it to boot from its disk.')
  return keep(await launch(node, record, { from: 'paused' }))
}

/** What must be the same for saved memory to be continued. */
function pausedNow(node: ComputeNode, record: MachineRecord): Paused {
  const places = machinePlaces(node.roots, record.machineUuid)
  const disks = [places.disk, folderDiskPlace(node.roots.dataDir, record.folderId)].map((path) => statSync(path, { throwIfNoEntry: false }))
  return {
    qemu: node.qemuVersion, acceleration: node.acceleration,
    memoryBytes: statSync(places.pausedMemory, { throwIfNoEntry: false })?.size ?? 0,
    disks: disks.map((stat) => ({ sizeBytes: stat?.size ?? 0, changedMs: stat?.mtimeMs ?? 0 })),
  }
}

/** Finds what an earlier worker left: machines that live are connected again, what is half made or nobody's is removed. */
async function adopt({ node, keep }: State, addToPool: (machine: RunningMachine) => boolean): Promise<Machine[]> {
  const live = await findQemus(machinesFolder(node.roots.dataDir), node.user)
  const { records, halfMade } = readRecords(node.roots)
  const known = new Set(records.map(({ machineUuid }) => machineUuid))
  for (const [machineUuid, pid] of live) if (!known.has(machineUuid)) await killQemu(pid, machineUuid, node.user)
  for (const machineUuid of halfMade) rmSync(machinePlaces(node.roots, machineUuid).folder, { recursive: true, force: true })
  const adopted = await Promise.all(records.map(async (record) => {
    const pid = live.get(record.machineUuid)
    const machine = pid === undefined ? undefined : await reach(node, record, pid)
    const isStock = record.id === null
    if (machine && (!isStock || (record.templateHash === node.template.hash && addToPool(machine)))) return keep(machine)
    machine?.release()
    if (pid !== undefined) await killQemu(pid, record.machineUuid, node.user)
    if (isStock) removeFiles(node, record)
    return undefined
  }))
  return adopted.filter((machine) => machine !== undefined && machine.record.id !== null) as Machine[] // filtered on this line
}

/** A machine that was still being started is not one that can be adopted. One whose guest is busy is: it is tried again with each command. */
async function reach(node: ComputeNode, record: MachineRecord, pid: number): Promise<RunningMachine | undefined> {
  if (!record.up) return undefined
  const places = machinePlaces(node.roots, record.machineUuid)
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`))
    const machine = runMachine(node, { record, pid, qmp, line: await openLine(places.line) })
    await qmp.execute('cont') // a worker that was killed while it paused it left it standing
    await machine.line.endSessions().then(() => machine.connect(adoptConnectLimitMs)).catch((error: Error) => {
      if (record.id === null) throw error
      node.log.warn({ machine: record.machineUuid, err: error }, 'an adopted machine does not answer yet')
    })
    return machine
  } catch (error) {
    node.log.warn({ machine: record.machineUuid, err: error }, 'a machine could not be adopted')
    return undefined
  }
}

/** Removes a dead machine's files; its folder's disk only when it is nobody's workspace, or was made for a machine that never ran. */
function removeFiles(node: ComputeNode, record: MachineRecord): void {
  const places = machinePlaces(node.roots, record.machineUuid)
  if (!record.hasFolder || record.id === null || (record.madeFolder && !record.up)) rmSync(folderDiskPlace(node.roots.dataDir, record.folderId), { force: true })
  for (const path of [places.qmp, places.line, places.saving]) rmSync(path, { force: true })
  rmSync(places.folder, { recursive: true, force: true })
}

/** A machine that does not come up is the node's trouble, not the caller's mistake. */
async function asCapacity<T>(node: ComputeNode, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BerthError && error.code !== 'vm_unreachable') throw error
    node.log.warn({ err: error }, 'a machine could not be started')
    throw new BerthError('capacity_unavailable', 'The node could not start the VM. Try again in a few seconds.', { retryAfterSeconds: 5 })
  }
}

/** Runs what is asked of one machine in order. */
function createQueues(): <T>(id: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (id, work) => {
    const mine = (last.get(id) ?? Promise.resolve()).then(work, work)
    last.set(id, mine)
    try {
      return await mine
    } finally {
      if (last.get(id) === mine) last.delete(id)
    }
  }
}

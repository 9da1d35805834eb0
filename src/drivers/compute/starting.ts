/** How a machine comes up: from the warm pool, from a snapshot, or by a boot of its disk. */
import { existsSync, rmSync } from 'node:fs'
import { BerthError } from '#src/platform/errors.ts'
import type { ComputeNode } from './compute-node.ts'
import { removeFiles, type Fleet } from './fleet.ts'
import { execInGuest } from './guest/exec.ts'
import { isKept } from './kept-templates.ts'
import type { MachineSpec, TakenFrom } from './machine.ts'
import { folderDiskPlace, machinePlaces } from './places.ts'
import type { Pool } from './pool.ts'
import { defaultSize, type LaterPreparations } from './preparation.ts'
import { launch, makeFiles, newRecord } from './qemu/launch.ts'
import type { RunningMachine } from './qemu/running-machine.ts'
import { ensureSnapshot, findSnapshot } from './qemu/snapshots.ts'
import { writeRecord, type MachineRecord } from './records.ts'
import { baseDiskMb } from './templates/base.ts'
import { isLater, type TemplateName } from './templates/names.ts'

const warmShape = { ...defaultSize, template: 'base', diskMb: baseDiskMb, hostname: 'berth', folder: 'new' } as const
const firstCommandLimitMs = 15_000

type Shape = Omit<MachineSpec, 'id'>

/** What starting machines needs besides the spec. */
export type Starters = { fleet: Fleet; pool: Pool; later: LaterPreparations }

/** A running machine for this spec; the existing one if there is one. */
export async function takeMachine(
  { fleet, pool, later }: Starters,
  spec: MachineSpec,
): Promise<{ machine: RunningMachine; from: TakenFrom }> {
  const { node } = fleet
  const running = fleet.find(spec.id)
  if (running) return { machine: running, from: 'existing' }
  const left = fleet.findRecord(spec.id)
  if (left?.up) return { machine: await bootAgain(fleet, left), from: 'boot' }
  if (left) removeFiles(node, left) // it died before it ever ran
  if (isLater(spec.template)) await later.prepare(spec.template)
  const warm = fitsPool(spec) ? await pool.take(spec.busyMs) : undefined
  if (warm) return { machine: await assign(node, warm, spec), from: 'pool' }
  return startNew(fleet, spec, spec.id)
}

/**
 * Starts a stopped machine from its own disk, in the size of this spec; the running one if it has that size. Its disk only grows.
 * @throws BerthError invalid_transition when it has none here.
 */
export async function bootMachine(fleet: Fleet, spec: MachineSpec): Promise<RunningMachine> {
  const record = fleet.findRecord(spec.id)
  if (!record) throw new BerthError('invalid_transition', 'The VM has no disk on this node to start from.')
  const running = fleet.find(spec.id)
  const { vcpuCount, memoryMb } = spec
  const size = { vcpuCount, memoryMb, diskMb: Math.max(record.diskMb, spec.diskMb) }
  if (record.vcpuCount === vcpuCount && record.memoryMb === memoryMb && record.diskMb === size.diskMb)
    return running ?? bootAgain(fleet, record)
  if (running) await fleet.end(running, true) // it is of a start before
  return bootAgain(fleet, Object.assign(fleet.findRecord(spec.id) ?? record, size)) // launching writes it
}

/**
 * Starts a machine for the pool. Under emulation the first command takes three times as long as later ones, so one is
 * run here.
 */
export async function startWarm(fleet: Fleet): Promise<RunningMachine> {
  const { machine } = await startNew(fleet, warmShape, null)
  try {
    await execInGuest(machine, { argv: ['/bin/bash', '-lc', 'true'], timeoutMs: firstCommandLimitMs })
    return machine
  } catch (error) {
    await fleet.end(machine, false)
    removeFiles(fleet.node, machine.record)
    throw error
  }
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

/** Starts a new machine in the fastest way available. */
async function startNew(
  fleet: Fleet,
  shape: Shape,
  id: string | null,
): Promise<{ machine: RunningMachine; from: TakenFrom }> {
  const { node } = fleet
  if (typeof shape.folder === 'object' && !existsSync(folderDiskPlace(node.roots.dataDir, shape.folder.folderId)))
    throw new BerthError('capacity_unavailable', 'The disk of this folder is not on this node.')
  if (typeof shape.template === 'object' && !isKept(node, shape.template.templateId))
    throw new BerthError('capacity_unavailable', 'The disk of this template is not on this node.')
  const recipe = snapshotRecipe(shape)
  const snapshot = recipe && findSnapshot(node, recipe, shape)
  const origin = snapshot?.made
    ? ({ from: 'snapshot', snapshot: snapshot.places } as const)
    : ({ from: 'boot' } as const)
  const record = await newRecord(node, shape, id)
  try {
    await makeFiles(node, record, origin)
    const machine = fleet.keep(await launch(node, record, origin))
    // Makes a snapshot, so that the next machine of this size need not boot.
    if (recipe && !snapshot?.made)
      ensureSnapshot(node, recipe, shape).catch((error: Error) =>
        node.log.warn({ err: error }, 'a snapshot could not be made'),
      )
    return { machine, from: origin.from }
  } catch (error) {
    removeFiles(node, record)
    throw error
  }
}

/** The template whose snapshot a machine may start from. The memory of a database belongs to the data in its snapshot. */
function snapshotRecipe({ template, folder }: Shape): TemplateName | undefined {
  if (typeof template === 'object' || (template === 'postgres' && folder !== 'new')) return undefined
  return template
}

async function bootAgain({ node, keep }: Fleet, record: MachineRecord): Promise<RunningMachine> {
  record.paused = null
  rmSync(machinePlaces(node.roots, record.machineUuid).pausedMemory, { force: true })
  return keep(await launch(node, record, { from: 'boot' }))
}

/**
 * The QEMU driver. A machine is one QEMU process with a folder of its own (records.ts); this file decides which are
 * started, taken, stopped and removed. Operations on one machine run one after the other.
 */
import { rmSync } from 'node:fs'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { knownAcceleration } from './qemu/acceleration.ts'
import { adoptMachines } from './adoption.ts'
import type { ComputeNode } from './compute-node.ts'
import { copyFolderDisk } from './folder-copies.ts'
import { createFleet, removeFiles, type Fleet } from './fleet.ts'
import { keepTemplate, removeTemplate } from './kept-templates.ts'
import { makeFolderDisk } from './qemu/launch.ts'
import type { Compute, ComputeOptions, Resident } from './machine.ts'
import { createMachineUsers } from './qemu/machine-users.ts'
import { pauseMachine, resumeMachine } from './qemu/pausing.ts'
import { growFolder } from './qemu/growing.ts'
import { folderDiskPlace } from './places.ts'
import { createPool } from './pool.ts'
import { createLaterPreparations, prepareNode } from './preparation.ts'
import { readRecords, type MachineRecord } from './records.ts'
import { bootMachine, startWarm, takeMachine } from './starting.ts'
import { currentTemplates } from './templates.ts'

const startTriesMax = 2
/** An emulated guest on a busy host loses some 30 ms in 5 s, so its clock is set from the host's. */
const setClocksEveryMs = 10_000

/** Makes the driver. Nothing happens before `prepare`. */
export function createCompute(options: ComputeOptions): Compute {
  const node: ComputeNode = {
    roots: options,
    users: options.vmUids && createMachineUsers(options.vmUids),
    log: options.log,
    onEgress: options.onEgress,
    acceleration: knownAcceleration(options.cacheDir),
    qemuVersion: '',
    templates: currentTemplates(options.cacheDir),
  }
  const inOrder = createQueues()
  const fleet = createFleet(node, (machine, how) => {
    if (machine.record.id !== null) return options.onExit(machine.record.id, how)
    pool.forget(machine)
    removeFiles(node, machine.record)
  })
  const later = createLaterPreparations(node)
  let clock: NodeJS.Timeout | undefined
  const pool = createPool(options.poolSize, () => startWarm(fleet), options.log)
  return {
    get acceleration() {
      return node.acceleration
    },
    get warm() {
      return pool.warm
    },
    prepare: (progress) => prepareNode(node, options, progress),
    isPrepared: (name) => later.isPrepared(name),
    prepareLater: (name, progress) => later.prepare(name, progress),
    adopt: () => adoptMachines(fleet, (machine) => pool.add(machine)),
    fillPool() {
      pool.start()
      clock ??= setInterval(() => fleet.setClocks(), setClocksEveryMs)
    },
    take: (spec, onFailure) =>
      inOrder(spec.id, () => asCapacity(node, () => takeMachine({ fleet, pool, later }, spec), onFailure)),
    boot: (spec, onFailure) => inOrder(spec.id, () => asCapacity(node, () => bootMachine(fleet, spec), onFailure)),
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
    createFolder: () => makeFolderDisk(node, newUuid()),
    copyFolder: (folderId, to) => copyFolderDisk(fleet, inOrder, folderId, to),
    growFolder: (id, sizeMb) => inOrder(id, () => growFolder(fleet, id, sizeMb)),
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
async function asCapacity<T>(node: ComputeNode, work: () => Promise<T>, onFailure?: () => void): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof BerthError && error.code !== 'vm_unreachable') throw error
      node.log.warn({ err: error, tries }, 'a machine could not be started')
      if (tries < startTriesMax) {
        onFailure?.()
        continue
      }
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

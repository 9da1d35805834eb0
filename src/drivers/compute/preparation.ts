/** Makes a node ready for machines: its folders, the templates, and the snapshots of the default sizes. */
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import type { ComputeNode } from './compute-node.ts'
import { takeTemplates } from './kept-templates.ts'
import type { ComputeOptions, Progress } from './machine.ts'
import { foldersFolder, keptTemplatesFolder, machinesFolder, socketsFolder } from './places.ts'
import { probeAcceleration, qemuVersion } from './qemu/acceleration.ts'
import { ensureSnapshot, findSnapshot, type Size } from './qemu/snapshots.ts'
import { ensureTemplate } from './templates.ts'
import type { LaterTemplate } from './templates/names.ts'

/** The shape of a VM that is created without a size, and of warm machines. */
export const defaultSize: Size = { vcpuCount: 2, memoryMb: 2048 }
/** The shapes of those of the other templates that are created without a size: VMs, and databases. */
const usualSizes: Readonly<Record<LaterTemplate, Size>> = {
  data: defaultSize,
  postgres: { vcpuCount: 2, memoryMb: 1024 },
}
/** This share of the progress is a template's; the rest is its snapshot's. */
const templateShare = 0.9

/** Prepares everything that machines of `base` need. */
export async function prepareNode(node: ComputeNode, options: ComputeOptions, progress: Progress): Promise<void> {
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
  node.templates.base = await ensureTemplate(options.cacheDir, 'base', sharing(progress))
  node.acceleration = await probeAcceleration(options.cacheDir, node.templates.base.places, node.users)
  progress(templateShare, 'Saving the snapshot that machines start from')
  await ensureSnapshot(node, 'base', defaultSize)
  progress(1, 'The templates are ready')
}

/** What makes a node ready for the machines of a template that none needs from the start. */
export type LaterPreparations = {
  /** Whether its template and the snapshot of its usual size are there. */
  isPrepared(name: LaterTemplate): boolean
  /**
   * Builds its template and the snapshot of its usual size when they are missing. Those who ask meanwhile wait for the
   * same work; after a failure, or when somebody has removed what it made, the next one tries again.
   */
  prepare(name: LaterTemplate, progress?: Progress): Promise<void>
}

/** @param node one that is prepared by the time somebody asks. */
export function createLaterPreparations(node: ComputeNode): LaterPreparations {
  const underway = new Map<LaterTemplate, Promise<void>>()
  const work = async (name: LaterTemplate, progress: Progress): Promise<void> => {
    node.templates[name] = await ensureTemplate(node.roots.cacheDir, name, sharing(progress))
    progress(templateShare, 'Saving the snapshot that its machines start from')
    await ensureSnapshot(node, name, usualSizes[name])
    progress(1, 'The template is ready')
  }
  const isPrepared = (name: LaterTemplate): boolean =>
    existsSync(node.templates[name].places.made) && findSnapshot(node, name, usualSizes[name]).made
  return {
    isPrepared,
    async prepare(name, progress = () => undefined) {
      const before = underway.get(name)
      if (before) return before
      if (isPrepared(name)) return undefined
      const one = work(name, progress).finally(() => underway.delete(name)) // whoever finds later that it is gone makes it anew
      underway.set(name, one)
      return one
    },
  }
}

function sharing(progress: Progress): Progress {
  return (fraction, sentence) => progress(fraction * templateShare, sentence)
}

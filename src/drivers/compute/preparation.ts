/** Makes a node ready for machines: its folders, the templates, and the snapshots of the default sizes. */
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs'
import type { ComputeNode } from './compute-node.ts'
import { takeTemplates } from './kept-templates.ts'
import type { ComputeOptions, Progress } from './machine.ts'
import { foldersFolder, keptTemplatesFolder, machinesFolder, socketsFolder } from './places.ts'
import { probeAcceleration, qemuVersion } from './qemu/acceleration.ts'
import { ensureSnapshot, type Size } from './qemu/snapshots.ts'
import { ensureTemplate } from './templates.ts'

/** The shape of a VM that is created without a size, and of warm machines. */
export const defaultSize: Size = { vcpuCount: 2, memoryMb: 2048 }
/** The shape of a database that is created without a size. */
const databaseSize: Size = { vcpuCount: 2, memoryMb: 1024 }
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

/** What makes a node ready for the machines of databases. */
export type DatabasePreparation = {
  /**
   * Builds their template and the snapshot of the default size when they are missing. Those who ask meanwhile wait for
   * the same work; after a failure the next one tries again.
   */
  prepare(progress?: Progress): Promise<void>
}

/** @param node one that is prepared by the time somebody asks. */
export function createDatabasePreparation(node: ComputeNode): DatabasePreparation {
  let under: Promise<void> | undefined
  const work = async (progress: Progress): Promise<void> => {
    node.templates.postgres = await ensureTemplate(node.roots.cacheDir, 'postgres', sharing(progress))
    progress(templateShare, 'Saving the snapshot that databases start from')
    await ensureSnapshot(node, 'postgres', databaseSize)
    progress(1, 'The template of databases is ready')
  }
  return {
    prepare(progress = () => undefined) {
      under ??= work(progress).catch((error: unknown) => {
        under = undefined
        throw error
      })
      return under
    },
  }
}

function sharing(progress: Progress): Progress {
  return (fraction, sentence) => progress(fraction * templateShare, sentence)
}

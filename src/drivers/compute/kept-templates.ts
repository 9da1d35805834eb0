/**
 * Templates made from machines: one self-contained disk, and the matching kernel. They belong to an organization, so
 * they are in this node's data folder, and machines boot from them instead of sharing a snapshot.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import type { ComputeNode } from './compute-node.ts'
import type { Lent } from './qemu/confinement.ts'
import { checkHeader, flatten, readBacking, type Image } from './qemu/disk-images.ts'
import { giveTo, takeBack } from './qemu/machine-users.ts'
import { keptTemplatePlaces, keptTemplatesFolder, machinePlaces, snapshotsFolder, templatePlaces } from './places.ts'
import type { MachineRecord } from './records.ts'

/** What a machine of this record boots: the image at the bottom of its disk, and the kernel. */
export function startOf(
  { roots }: Pick<ComputeNode, 'roots'>,
  record: MachineRecord,
): { image: Image; kernel: string; initramfs: string } {
  if (record.templateId) {
    const { disk, kernel, initramfs } = keptTemplatePlaces(roots.dataDir, record.templateId)
    return { image: { path: disk, format: 'qcow2' }, kernel, initramfs }
  }
  const { baseImage, kernel, initramfs } = templatePlaces(roots.cacheDir, record.recipe ?? 'base', record.templateHash)
  return { image: { path: baseImage, format: 'raw' }, kernel, initramfs }
}

/**
 * A machine's disk with its backing files, as it was created.
 * @throws Error when the disk of an older record names another backing file.
 */
export async function diskOf(node: Pick<ComputeNode, 'roots'>, record: MachineRecord): Promise<Image> {
  const path = machinePlaces(node.roots, record.machineUuid).disk
  const { image } = startOf(node, record)
  // Older records do not have it. A path from the disk's header is trusted only if it is inside our own folders.
  const backing = record.backing ?? (await readBacking(record.uid ?? null, path)) ?? ''
  if (backing === image.path) return { path, format: 'qcow2', below: image }
  const snapshot = dirname(backing)
  if (
    record.templateId ||
    dirname(snapshot) !== snapshotsFolder(node.roots.cacheDir) ||
    basename(backing) !== 'disk.qcow2'
  )
    throw new Error(`the disk of machine ${record.machineUuid} is based on an image that is not ours`)
  return { path, format: 'qcow2', below: { path: backing, format: 'qcow2', below: image } }
}

/**
 * The template that a machine of this record reads, when it belongs to an organization: machines of others may not read
 * it.
 */
export function lentTemplate(node: Pick<ComputeNode, 'roots' | 'templates'>, record: MachineRecord): Lent | null {
  return record.templateId ? { library: node.templates.base.places.lend, path: startOf(node, record).image.path } : null
}

/** Whether this node has the complete template. */
export function isKept({ roots }: Pick<ComputeNode, 'roots'>, templateId: string): boolean {
  return existsSync(keptTemplatePlaces(roots.dataDir, templateId).made)
}

/**
 * Makes root the owner of every template here, and its kernel readable. This is for templates from a backup, and from
 * before machines had users of their own.
 */
export function takeTemplates({ roots }: Pick<ComputeNode, 'roots'>): void {
  for (const templateId of readdirSync(keptTemplatesFolder(roots.dataDir))) {
    const { folder, disk, kernel, initramfs, made } = keptTemplatePlaces(roots.dataDir, templateId)
    if (!existsSync(made)) continue
    chmodSync(folder, 0o711)
    takeBack(disk, 0o400)
    for (const file of [kernel, initramfs]) takeBack(file, 0o444)
  }
}

/**
 * Copies a stopped machine's disk with its backing files into one file.
 * @throws Error when the disk was altered or cannot be copied; then nothing is left behind.
 */
export async function keepTemplate(
  node: ComputeNode,
  record: MachineRecord,
  templateId: string,
): Promise<{ sizeBytes: number }> {
  const places = keptTemplatePlaces(node.roots.dataDir, templateId)
  const building = keptTemplatePlaces(node.roots.dataDir, `${templateId}.next`)
  const uid = record.uid ?? null
  rmSync(building.folder, { recursive: true, force: true })
  mkdirSync(building.folder, { mode: 0o711 })
  try {
    const disk = await diskOf(node, record)
    await checkHeader(uid, disk, record.diskMb)
    closeSync(openSync(building.disk, 'wx', 0o600))
    giveTo(uid, building.disk)
    await flatten(uid, disk, building.disk, record.diskMb, lentTemplate(node, record))
    takeBack(building.disk, 0o400) // an organization's files: passed to its machines as descriptors, and readable by nobody else
    const { kernel, initramfs } = startOf(node, record)
    for (const [from, to] of [
      [kernel, building.kernel],
      [initramfs, building.initramfs],
    ] as const) {
      copyFileSync(from, to)
      chmodSync(to, 0o444)
    }
    const sizeBytes = statSync(building.disk).blocks * 512
    writeFileSync(building.made, JSON.stringify({ sizeBytes }))
    renameSync(building.folder, places.folder)
    return { sizeBytes }
  } catch (error) {
    rmSync(building.folder, { recursive: true, force: true })
    throw error
  }
}

/** Removes a template, and what an interrupted copy of it left. */
export function removeTemplate({ roots }: Pick<ComputeNode, 'roots'>, templateId: string): void {
  for (const name of [templateId, `${templateId}.next`])
    rmSync(keptTemplatePlaces(roots.dataDir, name).folder, { recursive: true, force: true })
}

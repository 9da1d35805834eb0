/**
 * Templates that were kept of machines: one disk that needs no other, and the kernel it fits. They are an organization's
 * own, so they lie in this node's data folder, and machines boot from them instead of sharing a snapshot.
 */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { ComputeNode } from './compute-node.ts'
import { keptTemplatePlaces, machinePlaces, templatePlaces } from './places.ts'
import type { MachineRecord } from './records.ts'
import { giveToQemu } from './snapshots.ts'

const run = promisify(execFile)
/** A whole disk, read and written once on a slow host. */
const copyTimeoutMs = 10 * 60_000

/** What a machine of this record boots: the image below its disk, and the kernel. */
export function startOf({ roots }: Pick<ComputeNode, 'roots'>, record: MachineRecord): { image: string; format: 'raw' | 'qcow2'; kernel: string; initramfs: string } {
  if (record.templateId) {
    const { disk, kernel, initramfs } = keptTemplatePlaces(roots.dataDir, record.templateId)
    return { image: disk, format: 'qcow2', kernel, initramfs }
  }
  const { baseImage, kernel, initramfs } = templatePlaces(roots.cacheDir, record.templateHash)
  return { image: baseImage, format: 'raw', kernel, initramfs }
}

/** Whether this node has the template, whole. */
export function isKept({ roots }: Pick<ComputeNode, 'roots'>, templateId: string): boolean {
  return existsSync(keptTemplatePlaces(roots.dataDir, templateId).made)
}

/** Copies a stopped machine's disk with everything below it into one file. @throws Error; nothing is left then. */
export async function keepTemplate(node: ComputeNode, record: MachineRecord, templateId: string): Promise<{ sizeBytes: number }> {
  const places = keptTemplatePlaces(node.roots.dataDir, templateId)
  const building = keptTemplatePlaces(node.roots.dataDir, `${templateId}.next`)
  rmSync(building.folder, { recursive: true, force: true })
  mkdirSync(building.folder, { mode: 0o711 })
  try {
    await run('qemu-img', ['convert', '-O', 'qcow2', machinePlaces(node.roots, record.machineUuid).disk, building.disk], { timeout: copyTimeoutMs })
    chmodSync(building.disk, 0o600) // an organization's files: for QEMU alone
    giveToQemu(node, building.disk)
    const { kernel, initramfs } = startOf(node, record)
    copyFileSync(kernel, building.kernel)
    copyFileSync(initramfs, building.initramfs)
    const sizeBytes = statSync(building.disk).blocks * 512
    writeFileSync(building.made, JSON.stringify({ sizeBytes }))
    renameSync(building.folder, places.folder)
    return { sizeBytes }
  } catch (error) {
    rmSync(building.folder, { recursive: true, force: true })
    throw error
  }
}

/** Removes a template and what a copy of it that broke off has left. */
export function removeTemplate({ roots }: Pick<ComputeNode, 'roots'>, templateId: string): void {
  for (const name of [templateId, `${templateId}.next`]) rmSync(keptTemplatePlaces(roots.dataDir, name).folder, { recursive: true, force: true })
}

/** The layout of the driver's files: the only file that knows the names of folders and files. */
import { join } from 'node:path'
import type { TemplateName } from './templates/names.ts'

/** The root folders of this node, from the options. */
export type Roots = { cacheDir: string; dataDir: string; runDir: string }

/** A built template: read-only, shared by all machines that started from it. */
export type TemplatePlaces = {
  folder: string
  baseImage: string
  kernel: string
  initramfs: string
  folderDisk: string
  lend: string
  made: string
}
/**
 * A snapshot of a booted template of one size; overlay is the empty disk that each restored machine copies, and
 * folderDisk, of `postgres` only, the disk of the data.
 */
export type SnapshotPlaces = {
  folder: string
  memory: string
  state: string
  disk: string
  overlay: string
  folderDisk: string
  made: string
}
/** One machine's own files, and its two sockets. */
export type MachinePlaces = {
  folder: string
  record: string
  disk: string
  pausedMemory: string
  qmp: string
  line: string
  saving: string
  mark: string
}

/** Templates by the hash of their recipe. */
export function templatePlaces(cacheDir: string, name: TemplateName, hash: string): TemplatePlaces {
  const folder = join(cacheDir, 'templates', `${name}-${hash}`)
  return {
    folder,
    baseImage: join(folder, 'base.img'),
    kernel: join(folder, 'kernel'),
    initramfs: join(folder, 'initramfs'),
    folderDisk: join(folder, 'folder.qcow2'),
    lend: join(folder, 'lend.so'),
    made: join(folder, 'made.json'),
  }
}

/** A template made from a machine: its disk, and the matching kernel. */
export function keptTemplatePlaces(
  dataDir: string,
  templateId: string,
): { folder: string; disk: string; kernel: string; initramfs: string; made: string } {
  const folder = join(keptTemplatesFolder(dataDir), templateId)
  return {
    folder,
    disk: join(folder, 'disk.qcow2'),
    kernel: join(folder, 'kernel'),
    initramfs: join(folder, 'initramfs'),
    made: join(folder, 'made.json'),
  }
}

/** The folder of templates made from machines. */
export function keptTemplatesFolder(dataDir: string): string {
  return join(dataDir, 'templates')
}

/** All snapshots. */
export function snapshotsFolder(cacheDir: string): string {
  return join(cacheDir, 'snapshots')
}

/** Snapshots by a key of everything that must be the same when one is restored. */
export function snapshotPlaces(cacheDir: string, key: string): SnapshotPlaces {
  const folder = join(snapshotsFolder(cacheDir), key)
  return {
    folder,
    memory: join(folder, 'memory'),
    state: join(folder, 'state'),
    disk: join(folder, 'disk.qcow2'),
    overlay: join(folder, 'overlay.qcow2'),
    folderDisk: join(folder, 'folder.qcow2'),
    made: join(folder, 'made.json'),
  }
}

/** A machine's folder keeps its name for life, whichever VM it serves; sockets stand apart, because their paths must be short. */
export function machinePlaces({ dataDir, runDir }: Roots, machineUuid: string): MachinePlaces {
  const folder = join(machinesFolder(dataDir), machineUuid)
  const socket = join(socketsFolder(runDir), machineUuid)
  return {
    folder,
    record: join(folder, 'machine.json'),
    disk: join(folder, 'disk.qcow2'),
    pausedMemory: join(folder, 'paused-memory'),
    qmp: `${socket}.qmp`,
    line: `${socket}.con`,
    saving: `${socket}.sav`,
    mark: socket,
  }
}

/** The folder of all machines, one folder each. */
export function machinesFolder(dataDir: string): string {
  return join(dataDir, 'machines')
}

/** The sockets of all machines. They belong to this process, and QEMU gets them as open descriptors. */
export function socketsFolder(runDir: string): string {
  return join(runDir, 'vms')
}

/** A workspace folder's disk; it outlives the machines it is attached to. */
export function folderDiskPlace(dataDir: string, folderId: string): string {
  return join(foldersFolder(dataDir), `${folderId}.qcow2`)
}

/** The disks of all workspace folders. */
export function foldersFolder(dataDir: string): string {
  return join(dataDir, 'folders')
}

/** What an authority signs certificates for: hosts of guests' secrets, which the egress proxy plays, or databases. */
export type AuthorityUse = 'egress' | 'databases'

/** The key and certificate of an authority. Each use has its own: who trusts one does not trust the other. */
export function authorityPlace(dataDir: string, use: AuthorityUse): string {
  return join(dataDir, `${use}-authority.pem`)
}

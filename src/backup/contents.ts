/** Which files of the data folder belong in a backup, and how to copy files that keep changing. */
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { folderDiskPlace, foldersFolder, keptTemplatesFolder, machinesFolder } from '#src/drivers/compute/places.ts'
import { nodeClient } from '#src/drivers/node.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { lastBackupFile } from '#src/platform/metrics/last-backup.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { BackupError } from './backup-error.ts'

/** A file of the data folder: its path below it, with `/`. */
export type DataFile = { name: string; path: string; mode: number }

/** Files that are created again when missing, or that only matter on this host at this moment. `compiled` is Node's, of earlier versions. */
const leftOut = [
  ...['compiled', 'postgres', 'postgres-passwords.json', 'run', 'run.json', lastBackupFile],
  join('objects', 'incoming'),
]
const ownWork = /^\.(?:postgres-|backup-|restore)/
/** The time limit for copying a folder's disk of 10 GiB on a slow host. */
const copySilenceMs = 10 * 60_000

/**
 * The files that are copied as they are, in the order of their names: keys, authorities, objects, the disks of
 * templates. Files that later versions of Berth add are included without a change here.
 */
export function listDataFiles(dataDir: string): DataFile[] {
  const skipped = new Set([
    ...leftOut.map((name) => join(dataDir, name)),
    machinesFolder(dataDir),
    foldersFolder(dataDir),
  ])
  const found: DataFile[] = []
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (skipped.has(path) || (folder === dataDir && ownWork.test(entry.name))) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile() && !isHalfMade(dataDir, path))
        found.push({ name: relative(dataDir, path).split(sep).join('/'), path, mode: statSync(path).mode & 0o777 })
    }
  }
  walk(dataDir)
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The ids of the folders whose disks are in the data folder. */
export function listFolderDisks(dataDir: string): string[] {
  const folder = foldersFolder(dataDir)
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.qcow2'))
        .map((name) => name.slice(0, -'.qcow2'.length))
        .sort()
    : []
}

/** The name of a folder's disk in a backup. */
export function folderEntry(dataDir: string, folderId: string): string {
  return relative(dataDir, folderDiskPlace(dataDir, folderId)).split(sep).join('/')
}

/**
 * Makes a consistent copy of a folder's disk. If a VM has it mounted, the worker does it, and the VM is paused
 * meanwhile.
 * @returns false when the folder was deleted meanwhile.
 * @throws BackupError when a VM has it mounted and no worker is running.
 */
export async function copyFolderDisk(config: Config, sealer: Sealer, folderId: string, to: string): Promise<boolean> {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  rmSync(to, { force: true })
  const socket = join(config.runDir, 'node.sock')
  const disk = folderDiskPlace(config.dataDir, folderId)
  if (existsSync(socket) && (await askWorker(socket, sealer, folderId, to))) return existsSync(to)
  if (!existsSync(disk)) return false
  if (isOpen(disk))
    throw new BackupError(
      'A VM is running but no worker is, so its folder cannot be copied completely. Start Berth, then take the backup; or stop the VM first.',
    )
  copyFileSync(disk, to, constants.COPYFILE_FICLONE)
  return true
}

/** Asks the worker to copy the disk. @returns false when none runs: after a kill its socket is still there. */
async function askWorker(socket: string, sealer: Sealer, folderId: string, to: string): Promise<boolean> {
  try {
    await nodeClient(`unix:${socket}`, sealer.derive(nodeTokenPurpose)).call(
      'copyFolder',
      { folderId, to },
      { silenceMs: copySilenceMs },
    )
    return true
  } catch (error) {
    if (error instanceof BerthError && error.code === 'vm_unreachable') return false
    throw error
  }
}

/** A template is complete when its `made.json` is there. */
function isHalfMade(dataDir: string, path: string): boolean {
  const folder = keptTemplatesFolder(dataDir)
  return path.startsWith(folder + sep) && dirname(path) !== folder && !existsSync(join(dirname(path), 'made.json'))
}

/** Whether any process of this host has the file open, as far as this user may see. */
function isOpen(file: string): boolean {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    for (const descriptor of readOrNone(() => readdirSync(`/proc/${pid}/fd`), [])) {
      if (readOrNone(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`), '') === file) return true
    }
    if (readOrNone(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').includes(file)) return true // another user's, whose descriptors we may not see
  }
  return false
}

function readOrNone<T>(read: () => T, none: T): T {
  try {
    return read()
  } catch {
    return none // it ended meanwhile, or is another user's
  }
}

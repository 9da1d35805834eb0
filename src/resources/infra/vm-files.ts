/** Files in a VM: read, written, listed and deleted as `user`. Content is base64 text. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Call } from '#src/platform/services.ts'
import type { FileEntry } from '#src/drivers/node.ts'
import { reachVm } from './vms/access.ts'

const silenceMs = 30_000
const pathBytesMax = 4096

/** Deletes a file, or with `recursive` a folder. If it does not exist, `success` is false. */
export async function removePath(
  call: Call,
  vmId: string,
  path: string,
  recursive: boolean,
): Promise<{ vmId: string; path: string; success: boolean }> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  const { removed } = await vm.node.call('removePath', { vmId: vm.id, path, recursive }, { silenceMs })
  return { vmId, path, success: removed }
}

/** Gives a file or a folder another path, whose folder is there. @throws BerthError invalid_request when something is at that path. */
export async function renamePath(
  call: Call,
  vmId: string,
  path: string,
  newPath: string,
): Promise<{ vmId: string; path: string }> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  checkPath(newPath, 'new_path')
  await vm.node.call('renamePath', { vmId: vm.id, path, newPath }, { silenceMs })
  return { vmId, path: newPath }
}

/** Makes a folder with those above it; one that is there stays as it is. @throws BerthError invalid_request when a file is there. */
export async function makeFolder(call: Call, vmId: string, path: string): Promise<{ vmId: string; path: string }> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  await vm.node.call('makeFolder', { vmId: vm.id, path }, { silenceMs })
  return { vmId, path }
}

/** Reads a file of at most 700 KiB. @throws BerthError invalid_request when it is not there, not a file, or larger. */
export async function readFile(
  call: Call,
  vmId: string,
  path: string,
): Promise<{ path: string; content: string; sizeBytes: number }> {
  const vm = await reachVm(call, vmId, 'inside-vms:read')
  checkPath(path)
  const { content, sizeBytes } = await vm.node.call('readFile', { vmId: vm.id, path }, { silenceMs })
  return { path, content, sizeBytes }
}

/** Writes a file of at most 700 KiB, creating the folders above it. */
export async function writeFile(
  call: Call,
  vmId: string,
  path: string,
  content: string,
): Promise<{ path: string; sizeBytes: number }> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  if (Buffer.byteLength(content, 'base64') > limits.fileBytes)
    throw new BerthError(
      'request_too_large',
      `A file written here may have at most ${limits.fileBytes / 1024} KiB. Send a larger one as a stream: PUT /api/v1/vms/${vmId}/files?path=… (docs/vms.md).`,
    )
  const { sizeBytes } = await vm.node.call('writeFile', { vmId: vm.id, path, content }, { silenceMs })
  return { path, sizeBytes }
}

/** Lists a folder: 1000 entries at most, ordered by name. */
export async function listFolder(
  call: Call,
  vmId: string,
  path: string,
): Promise<{ path: string; entries: FileEntry[] }> {
  const vm = await reachVm(call, vmId, 'inside-vms:read')
  checkPath(path)
  const { entries } = await vm.node.call('listFolder', { vmId: vm.id, path }, { silenceMs })
  return { path, entries }
}

/** @throws BerthError invalid_request for a path that is not absolute, or that no file can have. */
export function checkPath(path: string, field = 'path'): void {
  if (!path.startsWith('/'))
    throw new BerthError('invalid_request', `${field} must be absolute, such as /home/user/notes.txt.`)
  if (!path.isWellFormed())
    throw new BerthError(
      'invalid_request',
      `${field} is not Unicode text. A file whose name is not passes in an archive of its folder: format=tar.`,
    )
  if (path.includes('\0') || Buffer.byteLength(path) > pathBytesMax)
    throw new BerthError(
      'invalid_request',
      `${field} is longer than a file system allows, or contains a NUL character.`,
    )
}

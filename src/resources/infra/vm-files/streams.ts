/** Files and folders of a VM as streams, of any size. */
import type { Readable } from 'node:stream'
import type {
  FileAnswer,
  FileFormat,
  FileQuestion,
  FileUpload,
  UploadResult,
} from '#src/drivers/node/file-transfers.ts'
import { checkPath } from '#src/resources/infra/vm-files.ts'
import { reachVm } from '#src/resources/infra/vms/access.ts'
import type { Call } from '#src/platform/services.ts'

/** A file, or a folder as a tar archive, of a VM. */
export type FileAddress = { vmId: string; path: string; format: FileFormat }

type Asked<Request> = Omit<Request, keyof FileAddress | 'organizationId'>

/**
 * Opens a file, or a folder as a tar archive.
 * @throws BerthError not_found for the VM or the file; invalid_request when it cannot be read, or the VM does not run;
 * rate_limited, capacity_unavailable beyond the transfers at once; vm_unreachable; timeout.
 */
export async function openVmFile(
  call: Call,
  { vmId, path, format }: FileAddress,
  question: Asked<FileQuestion>,
): Promise<{ answer: FileAnswer; body: Readable | null }> {
  const vm = await reachVm(call, vmId, 'inside-vms:read')
  checkPath(path)
  return vm.node.openFile({ ...question, vmId: vm.id, organizationId: vm.scope.organizationId, path, format })
}

/**
 * How much has arrived of an unfinished upload to a path, for who may write but need not be able to read; null when there is none.
 * @throws BerthError as openVmFile.
 */
export async function findUploadProgress(call: Call, { vmId, path, format }: FileAddress): Promise<number | null> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  const place = { vmId: vm.id, organizationId: vm.scope.organizationId, path, format }
  const { answer } = await vm.node.openFile({
    ...place,
    range: null,
    ifRange: null,
    ifNoneMatch: null,
    headOnly: true,
    progressOnly: true,
  })
  return answer.uploadedBytes
}

/**
 * Stores a stream, or a part of it, as a file of a VM, or unpacks it into a folder, as `user`.
 * @throws BerthError not_found for the VM; invalid_request when the path cannot be written, or the VM does not run;
 * invalid_transition when another upload took its place; request_too_large when the disk is full; rate_limited,
 * capacity_unavailable beyond the transfers at once; vm_unreachable; timeout.
 */
export async function putVmFile(
  call: Call,
  { vmId, path, format }: FileAddress,
  upload: Asked<FileUpload>,
  body: Readable,
): Promise<UploadResult> {
  const vm = await reachVm(call, vmId, 'vms:write')
  checkPath(path)
  return vm.node.sendFile({ ...upload, vmId: vm.id, organizationId: vm.scope.organizationId, path, format }, body)
}

/** Checks the same before the body of an upload is read. @throws BerthError as putVmFile. */
export async function checkUpload(call: Call, { vmId, path }: FileAddress): Promise<void> {
  await reachVm(call, vmId, 'vms:write')
  checkPath(path)
}

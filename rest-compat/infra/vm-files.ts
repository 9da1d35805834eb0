/** Files in a VM: read, written, listed and deleted. */
import type { Routes } from '../routes.ts'

/** Files of a VM. */
export const vmFileRoutes: Routes = {
  'POST /api/v1/vms/{vm_id}/envd/delete': {
    status: 200,
    errors: [400, 401, 500],
    absentIs403: ['VM'],
    summary: 'Deletes a file, or with recursive a folder',
    operation: `mutation removeVmPath ($input: RemoveVmPathInput!) { body: removeVmPath(input: $input) { vm_id: vmId path success: isRemoved } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/read': {
    status: 200,
    errors: [400, 401, 404, 502],
    additive: true,
    summary: 'Reads a file of at most 700 KiB as base64',
    operation: `query readVmFile ($vm_id: ID!, $path: String!) { body: vmFile(vmId: $vm_id, path: $path) { path content size_bytes: sizeBytes } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/write': {
    status: 200,
    errors: [400, 401, 404, 413, 502],
    additive: true,
    summary: 'Writes a file of at most 700 KiB given as base64',
    operation: `mutation writeVmFile ($input: WriteVmFileInput!) { body: writeVmFile(input: $input) { path size_bytes: sizeBytes } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/list': {
    status: 200,
    errors: [400, 401, 404, 502],
    additive: true,
    summary: 'Lists a folder: 1000 entries at most',
    operation: `query listVmFolder ($vm_id: ID!, $path: String!) { body: vmFolder(vmId: $vm_id, path: $path) { path entries { name type size_bytes: sizeBytes modified_at: modifiedAt } } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/mkdir': {
    status: 200,
    errors: [400, 401, 404, 502],
    additive: true,
    summary: 'Creates a folder with those above it',
    operation: `mutation createVmFolder ($input: CreateVmFolderInput!) { body: createVmFolder(input: $input) { path } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/rename': {
    status: 200,
    errors: [400, 401, 404, 502],
    additive: true,
    summary: 'Gives a file or a folder another path; nothing is replaced',
    operation: `mutation renameVmPath ($input: RenameVmPathInput!) { body: renameVmPath(input: $input) { path } }`,
  },
  'POST /api/v1/vms/{vm_id}/file-urls': {
    status: 201,
    errors: [400, 401, 404],
    additive: true,
    summary: 'Creates a signed URL that gets or puts a file of any size without a token',
    operation: `mutation createVmFileUrl ($input: CreateVmFileUrlInput!) { createVmFileUrl(input: $input) { body: fileUrl { url method expires_at: expiresAt } } }`,
  },
}

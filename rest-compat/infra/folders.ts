/** Workspace folders over REST, which are ours. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

/** Workspace folders. */
export const folderRoutes: Routes = {
  'GET /api/v1/folders': {
    status: 200,
    errors: [400],
    additive: true,
    summary: 'The organization’s workspace folders, newest first',
    list: { shape: 'page', most: limits.connectionFirstMax, usual: limits.connectionFirstDefault },
    operation: `query listFolders ($first: Int, $after: String) {
      body: folders(first: $first, after: $after) { nodes { folder_id: id name size_mb: sizeMb vm_id: vmId created_at: createdAt } ${pageInfo} } }`,
  },
  'DELETE /api/v1/folders/{folder_id}': {
    status: 204,
    errors: [404, 409],
    additive: true,
    into: { folder_id: 'id' },
    summary: 'Deletes a workspace folder and its disk; 409 while a VM has it',
    operation: `mutation deleteFolder ($input: DeleteFolderInput!) { deleteFolder(input: $input) { deletedId } }`,
  },
}

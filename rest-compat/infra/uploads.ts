/** Uploads: files that builds start from. */
import type { Routes } from '../routes.ts'

/** Uploads. */
export const uploadRoutes: Routes = {
  'POST /api/v1/compute/uploads': {
    status: 200,
    errors: [400, 500],
    always: ['organization_id'],
    summary: 'Creates a place for a file, with a URL that accepts it for 30 minutes',
    operation: `mutation createUpload ($input: CreateUploadInput!) { createUpload(input: $input) { body: upload { upload_url: uploadUrl binary_url: binaryUrl expires_at: expiresAt } } }`,
  },
}

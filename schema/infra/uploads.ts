/** Uploads in GraphQL. */
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { createUpload, type Upload } from '#src/resources/infra/uploads.ts'

const upload = builder.objectRef<Upload>('Upload').implement({
  description: 'A place for a file in the object store.',
  fields: (t) => ({
    uploadUrl: t.exposeString('uploadUrl', {
      description: 'PUT the file here, without a token, within 30 minutes; 1 GiB at most.',
    }),
    binaryUrl: t.exposeString('binaryUrl', {
      description:
        'Names the file in later requests, for example as a build’s `context`. It grants no access by itself.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When `uploadUrl` expires.' }),
  }),
})

mutationOf(
  'createUpload',
  { field: 'upload', type: upload },
  'Creates a place to upload a file to. Errors: INVALID_REQUEST.',
  (t) => ({
    organizationId: t.id({ description: 'The organization that will own the file; by default the active one.' }),
  }),
  (call, { organizationId }) => createUpload(call, organizationId),
)

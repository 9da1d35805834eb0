/** Uploads in GraphQL. */
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { createUpload, type Upload } from '#src/resources/infra/uploads.ts'

const upload = builder.objectRef<Upload>('Upload').implement({
  description: 'Room for a file in the object store.',
  fields: (t) => ({
    uploadUrl: t.exposeString('uploadUrl', {
      description: 'Takes the file by PUT, without a token, for 30 minutes; 1 GiB at most.',
    }),
    binaryUrl: t.exposeString('binaryUrl', {
      description: 'What to call the file afterwards, such as a build’s `context`. It opens nothing by itself.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when `uploadUrl` works.' }),
  }),
})

mutationOf(
  'createUpload',
  { field: 'upload', type: upload },
  'Makes room for a file. Errors: INVALID_REQUEST.',
  (t) => ({ organizationId: t.id({ required: true, description: 'Whose file it will be.' }) }),
  (call, { organizationId }) => createUpload(call, organizationId),
)

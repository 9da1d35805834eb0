/** Uploads in GraphQL. */
import { builder } from '../builder.ts'
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

builder.mutationFields((t) => ({
  createUpload: t.field({
    type: upload,
    description: 'Makes room for a file. Errors: INVALID_REQUEST.',
    args: { organizationId: t.arg.id({ required: true, description: 'Whose file it will be.' }) },
    resolve: (_, { organizationId }, call) => createUpload(call, organizationId),
  }),
}))

/** Files of the agents service in GraphQL. Their bytes pass over REST, or as uploads. */
import { builder } from '../builder.ts'
import { deletionOf, mutationOf } from '../mutations.ts'
import { timesIfAny } from '../nodes.ts'
import { nounOf, organizationOf } from '../nouns.ts'
import { always } from '../words.ts'
import { createFile, deleteFile, fileReads } from '#src/resources/agents/files.ts'

const fileFilter = builder.inputType('FileFilter', {
  description: 'Narrows a list of files.',
  fields: (t) => ({
    ids: t.idList({ description: 'Only these: at most 100. Those that are not there are left out.' }),
  }),
})

/** A file. */
export const fileType = nounOf('File', fileReads, {
  description:
    'A person’s file for agents: for messages, and for the VMs of sessions. Its bytes are at `GET /agents/v1/files/{id}/content`.',
  list: {
    description: 'The caller’s files, newest first.',
    inOrganization: 'The caller’s files in it, newest first. Not available to API keys.',
    filter: fileFilter,
  },
  fields: (t) => ({
    type: t.string(always('file')),
    filename: t.exposeString('filename', { description: 'Its name, without a path.' }),
    mimeType: t.exposeString('mimeType', { description: 'Its media type, such as `application/pdf`.' }),
    sizeBytes: t.field({ type: 'BigInt', description: 'Its size.', resolve: ({ sizeBytes }) => sizeBytes }),
    sha256: t.exposeString('sha256', { description: 'The SHA-256 of its bytes, in hexadecimal digits.' }),
    isDownloadable: t.boolean({
      description: 'Always true: whoever sees a file may download it.',
      resolve: () => true,
    }),
    ...organizationOf(t, 'The organization that it counts for.'),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When its upload began.' }),
    ...timesIfAny(t, { expiresAt: 'When it is deleted by itself; null for never.' }),
  }),
})

mutationOf(
  'createFile',
  { field: 'file', type: fileType, description: 'The file.' },
  'Makes a file from an upload, whose bytes are copied. Over REST a file is sent directly, to `POST /agents/v1/files`. Errors: INVALID_REQUEST.',
  (t) => ({
    binaryUrl: t.string({ required: true, description: 'The `binaryUrl` of `createUpload`, once the file was PUT.' }),
    filename: t.string({ description: 'Its name: at most 255 characters. Only what follows the last slash is kept.' }),
    mimeType: t.string({ description: 'Its media type; found out from the file without it.' }),
    expiresInSeconds: t.int({ description: 'When it is deleted by itself: 3600 to 7776000 seconds from now.' }),
  }),
  (call, input) => createFile(call, input),
)
deletionOf(
  'deleteFile',
  'Deletes a file. What a VM or a model already has of it stays there. Errors: NOT_FOUND.',
  deleteFile,
)

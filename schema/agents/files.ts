/** Files of the agents service in GraphQL. Their bytes pass over REST, or as uploads. */
import { organizationOf } from '../nouns.ts'
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { deletionOf, mutationOf } from '../mutations.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { always } from '../words.ts'
import { createFile, deleteFile, findFiles, getFile, pageFiles } from '#src/resources/agents/files.ts'

/** A file. */
export const fileType = nodeOf('File', findFiles)

builder.objectType(fileType, {
  description:
    'A person’s file for agents: for messages, and for the VMs of sessions. Its bytes are at `GET /agents/v1/files/{id}/content`.',
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
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is deleted by itself; null for never.',
    }),
  }),
})

const fileConnection = connectionOf('File', fileType)
const fileFilter = builder.inputType('FileFilter', {
  description: 'Narrows a list of files.',
  fields: (t) => ({
    ids: t.idList({ description: 'Only these: at most 100. Those that are not there are left out.' }),
  }),
})
const fileArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: fileFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  file: t.field({
    type: fileType,
    description: 'One file. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getFile(call, id),
  }),
  files: t.field({
    type: fileConnection,
    description: 'The caller’s files, newest first.',
    args: fileArguments,
    resolve: (_, { filter, order, ...window }, call) => pageFiles(call, window, filter, order),
  }),
}))

type FilesGiven = Parameters<typeof pageFiles>[1] & OrderGiven & { filter?: Parameters<typeof pageFiles>[2] }
const filesOf = listOfOrganizations((call, { filter, order, ...window }: FilesGiven) =>
  pageFiles(call, window, filter, order),
)
builder.objectField(organizationType, 'files', (t) =>
  t.field({
    type: fileConnection,
    nullable: true,
    description: 'The caller’s files in it, newest first. Not available to API keys.',
    args: fileArguments,
    resolve: ({ id }, given, call) => filesOf(call, id, given),
  }),
)

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

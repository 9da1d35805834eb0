/** Files of a VM in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { decodeId } from '#src/platform/ids.ts'
import type { FileEntry } from '#src/drivers/node.ts'
import type { FileFormat } from '#src/drivers/node/file-transfers.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { listFolder, makeFolder, readFile, removePath, renamePath, writeFile } from '#src/resources/infra/vm-files.ts'
import { createFileUrl, type FileUrl, type FileUrlMethod } from '#src/resources/infra/vm-files/urls.ts'
import { mutationOf } from '../mutations.ts'
import { vmType } from './vms.ts'

const fileEntryType = enumOf('VmFileEntryType', 'The kind of a folder’s entry.', {
  file: 'A file.',
  directory: 'A folder.',
  symlink: 'A symbolic link.',
  other: 'A device, a socket, or a pipe.',
} satisfies Record<FileEntry['type'], string>)
const fileEntry = builder.objectRef<FileEntry>('VmFileEntry').implement({
  description: 'An entry of a folder in a VM.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name in the folder.' }),
    type: t.field({ type: fileEntryType, description: 'The kind of entry.', resolve: (entry) => entry.type }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'Its size in bytes.' }),
    modifiedAt: t.expose('modifiedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})
const fileContent = builder.objectRef<{ path: string; content: string; sizeBytes: number }>('VmFile').implement({
  description: 'A file of a VM.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'The path as it was requested.' }),
    content: t.field({ type: 'Bytes', description: 'Its content as base64.', resolve: (file) => file.content }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Its size in bytes.' }),
  }),
})
const folderListing = builder.objectRef<{ path: string; entries: FileEntry[] }>('VmFolderListing').implement({
  description: 'The content of a folder in a VM.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'The path as it was requested.' }),
    entries: t.field({
      type: [fileEntry],
      description: 'Its entries ordered by name, 1000 at most.',
      resolve: (listing) => listing.entries,
    }),
  }),
})
const vmIdArgument = { required: true, description: 'The VM.' } as const
const pathArgument = { required: true, description: 'An absolute path.' } as const

builder.queryFields((t) => ({
  vmFile: t.field({
    type: fileContent,
    description:
      'Reads a file of at most 700 KiB as `user`; `createVmFileUrl` leads to larger ones. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: { vmId: t.arg.id(vmIdArgument), path: t.arg.string(pathArgument) },
    resolve: (_, { vmId, path }, call) => readFile(call, vmId, path),
  }),
  vmFolder: t.field({
    type: folderListing,
    description: 'Lists a folder’s content. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: { vmId: t.arg.id(vmIdArgument), path: t.arg.string(pathArgument) },
    resolve: (_, { vmId, path }, call) => listFolder(call, vmId, path),
  }),
}))

/** What a change at a path answers: the VM, and that path. */
const placeFields = <Answer extends { vmId: string; path: string }>(
  t: PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], Answer>,
  path = 'As given.',
) => ({
  vmId: t.id({ description: 'The VM.', resolve: ({ vmId }) => vmId }),
  vm: t.field({ type: vmType, nullable: true, description: 'The VM.', resolve: ({ vmId }) => decodeId('vm', vmId) }),
  path: t.string({ description: path, resolve: (answer) => answer.path }),
})

builder.relayMutationField(
  'writeVmFile',
  {
    description: 'What `writeVmFile` takes.',
    inputFields: (t) => ({
      vmId: t.id(vmIdArgument),
      path: t.string(pathArgument),
      content: t.field({ type: 'Bytes', required: true, description: 'The new content as base64.' }),
    }),
  },
  {
    description:
      'Writes a file of at most 700 KiB as `user`, creating the folders above it; `createVmFileUrl` takes larger ones. Errors: NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE.',
    resolve: async (_, { input: { vmId, path, content } }, call) => ({
      vmId,
      ...(await writeFile(call, vmId, path, content)),
    }),
  },
  {
    description: 'What `writeVmFile` answers.',
    outputFields: (t) => ({
      ...placeFields(t),
      sizeBytes: t.exposeInt('sizeBytes', { description: 'Its size in bytes.' }),
    }),
  },
)
builder.relayMutationField(
  'removeVmPath',
  {
    description: 'What `removeVmPath` takes.',
    inputFields: (t) => ({
      vmId: t.id(vmIdArgument),
      path: t.string(pathArgument),
      recursive: t.boolean({ description: 'Whether to delete a folder with everything in it.' }),
    }),
  },
  {
    description:
      'Deletes a file, or with `recursive` a folder. Mount points and the folders above them are refused. Errors: NOT_FOUND, INVALID_REQUEST.',
    resolve: (_, { input: { vmId, path, recursive } }, call) => removePath(call, vmId, path, recursive ?? false),
  },
  {
    description: 'What `removeVmPath` answers.',
    outputFields: (t) => ({
      ...placeFields(t),
      isRemoved: t.exposeBoolean('success', { description: 'Whether there was something at the path.' }),
    }),
  },
)

builder.relayMutationField(
  'createVmFolder',
  {
    description: 'What `createVmFolder` takes.',
    inputFields: (t) => ({ vmId: t.id(vmIdArgument), path: t.string(pathArgument) }),
  },
  {
    description:
      'Creates a folder as `user`, with those above it; one that is there stays as it is. Errors: NOT_FOUND, INVALID_REQUEST.',
    resolve: (_, { input: { vmId, path } }, call) => makeFolder(call, vmId, path),
  },
  { description: 'What `createVmFolder` answers.', outputFields: (t) => placeFields(t) },
)
builder.relayMutationField(
  'renameVmPath',
  {
    description: 'What `renameVmPath` takes.',
    inputFields: (t) => ({
      vmId: t.id(vmIdArgument),
      path: t.string(pathArgument),
      newPath: t.string({ required: true, description: 'The absolute path that it gets; its folder must be there.' }),
    }),
  },
  {
    description:
      'Gives a file or a folder another name or place, as `user`. Nothing is replaced: what is at the new path is refused, and so are mount points. Errors: NOT_FOUND, INVALID_REQUEST.',
    resolve: (_, { input: { vmId, path, newPath } }, call) => renamePath(call, vmId, path, newPath),
  },
  { description: 'What `renameVmPath` answers.', outputFields: (t) => placeFields(t, 'Its new path.') },
)

const fileUrlMethod = enumOf('VmFileUrlMethod', 'What a signed URL of a file is for.', {
  GET: 'Getting it, as a whole or a part; and HEAD.',
  PUT: 'Putting it, as a whole or in parts; and HEAD, which says how much has arrived.',
} satisfies Record<FileUrlMethod, string>)
const fileFormat = enumOf('VmFileFormat', 'How a file passes through a signed URL.', {
  file: 'A file as it is.',
  tar: 'A folder as a tar archive.',
} satisfies Record<FileFormat, string>)
const fileUrl = builder.objectRef<FileUrl>('VmFileUrl').implement({
  description: 'A signed URL of a file in a VM. Whoever has it needs no token.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'The URL. It is a secret until it expires.' }),
    method: t.field({ type: fileUrlMethod, description: 'What it is for.', resolve: ({ method }) => method }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it expires.' }),
  }),
})

mutationOf(
  'createVmFileUrl',
  { field: 'fileUrl', type: fileUrl },
  'Creates a signed URL that gets or puts a file of any size without a token, or a folder as a tar archive. It also ends when the VM is deleted, and when its creator may no longer do this. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({
    vmId: t.id(vmIdArgument),
    path: t.string(pathArgument),
    method: t.field({ type: fileUrlMethod, required: true, description: 'What the URL is for.' }),
    format: t.field({ type: fileFormat, description: 'How the file passes; `FILE` by default.' }),
    ttlSeconds: t.int({
      description: `How long the URL is valid, in seconds: ${fileLimits.urlSecondsDefault} by default, ${fileLimits.urlSecondsMax} at most; one made with the token inside a VM ends with that token.`,
    }),
  }),
  (call, input) => createFileUrl(call, input),
)

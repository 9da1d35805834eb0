/** Workspace folders in GraphQL. */
import { organizationOf } from '../nouns.ts'
import { builder } from '../builder.ts'
import { deletionOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deleteFolder, findFolders, pageFolders } from '#src/resources/infra/folders.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { machineType } from './machines.ts'

/** A workspace folder. */
export const folderType = nodeOf('Folder', findFolders)

builder.objectType(folderType, {
  description: 'A workspace folder: a disk mounted at /home/user/workspace that outlives its VM.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name of the VM it was created for.' }),
    sizeMb: t.exposeInt('sizeMb', { description: 'Its capacity in MB.' }),
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created the VM it was created for; null for an API key.',
      id: (folder) => folder.userId,
    }),
    ...linkTo(t, 'machine', {
      type: machineType,
      description: 'The machine that stores its disk.',
      id: (folder) => folder.nodeId,
    }),
    vmId: t.id({
      nullable: true,
      description: 'The VM that has it mounted.',
      resolve: (folder) => folder.vmId && encodeId('vm', folder.vmId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

const folderConnection = connectionOf('Folder', folderType)
const folderArguments = {
  ...pageArguments,
  ...builder.args((t) => ({ order: t.field(newestFirst) })),
}

builder.queryFields((t) => ({
  folders: t.field({
    type: folderConnection,
    description: 'The active organization’s workspace folders, newest first.',
    args: folderArguments,
    resolve: (_, { order, ...window }, call) => pageFolders(call, window, order),
  }),
}))
type FoldersGiven = Parameters<typeof pageFolders>[1] & OrderGiven
const foldersOf = listOfOrganizations((call, { order, ...window }: FoldersGiven) => pageFolders(call, window, order))
builder.objectField(organizationType, 'folders', (t) =>
  t.field({
    type: folderConnection,
    nullable: true,
    description: 'Its workspace folders, newest first.',
    args: folderArguments,
    resolve: ({ id }, given, call) => foldersOf(call, id, given),
  }),
)

deletionOf(
  'deleteFolder',
  'Deletes a folder and its disk. Errors: NOT_FOUND, INVALID_TRANSITION while a VM uses it.',
  deleteFolder,
)

/** Workspace folders in GraphQL. */
import { builder } from '../builder.ts'
import { deletionOf } from '../mutations.ts'
import { linkTo, nodeOf, times } from '../nodes.ts'
import { listOf, organizationOf } from '../nouns.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deleteFolder, folderReads } from '#src/resources/infra/folders.ts'
import { userType } from '../identity/users.ts'
import { machineType } from './machines.ts'

/** A workspace folder. */
export const folderType = nodeOf('Folder', folderReads.find)

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
    ...times(t, 'createdAt'),
  }),
})

listOf('Folder', folderType, folderReads.page, {
  description: 'The active organization’s workspace folders, newest first.',
  inOrganization: 'Its workspace folders, newest first.',
})

deletionOf(
  'deleteFolder',
  'Deletes a folder and its disk. Errors: NOT_FOUND, INVALID_TRANSITION while a VM uses it.',
  deleteFolder,
)

/** Workspace folders and templates in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deleteFolder, listFolders, type Folder } from '#src/resources/infra/folders.ts'
import { listTemplates, type Template } from '#src/resources/infra/templates.ts'

const folder = builder.objectRef<Folder>('Folder').implement({
  description: 'A workspace folder: a disk mounted at /home/user/workspace that outlives its VM.',
  fields: (t) => ({
    id: t.id({ description: '`fld_` and 26 characters.', resolve: (one) => encodeId('folder', one.id) }),
    name: t.exposeString('name', { description: 'The name of the VM it was made for.' }),
    sizeMb: t.exposeInt('sizeMb', { description: 'The most it may hold, in MB.' }),
    vmId: t.id({
      nullable: true,
      description: 'The VM that has it mounted.',
      resolve: (one) => one.vmId && encodeId('vm', one.vmId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})
const template = builder.objectRef<Template>('Template').implement({
  description: 'What a VM’s disk starts from.',
  fields: (t) => ({
    id: t.id({ description: '`tpl_` and 26 characters.', resolve: (one) => encodeId('template', one.id) }),
    name: t.exposeString('name', { description: 'Can be given instead of the id.' }),
    description: t.exposeString('description', { description: 'What is on it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})
const folderConnection = connectionOf('Folder', folder)

builder.queryFields((t) => ({
  folders: t.field({
    type: folderConnection,
    description: 'The organization’s workspace folders, newest first.',
    args: pageArguments,
    resolve: (_, page, call) => listFolders(call, page) as never,
  }), // see pages.ts
  templates: t.field({
    type: [template],
    description: 'The templates a VM may be made from.',
    resolve: (_, _arguments, call) => listTemplates(call),
  }),
}))
builder.mutationFields((t) => ({
  deleteFolder: t.field({
    type: 'ID',
    description: 'Deletes a folder and its disk. Errors: NOT_FOUND, INVALID_TRANSITION while a VM has it.',
    args: idArguments,
    resolve: async (_, { id }, call) => (await deleteFolder(call, id), id),
  }),
}))

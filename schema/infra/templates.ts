/** Templates in GraphQL. */
import { builder } from '../builder.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findTemplates, pageTemplates } from '#src/resources/infra/templates.ts'
import { callIn, organizationType } from '../identity/organizations.ts'
import { machineType } from './machines.ts'

/** A template. */
export const templateType = nodeOf('Template', '`tpl_` and 26 characters.', findTemplates)

builder.objectType(templateType, {
  description: 'What a VM’s disk starts from: everybody’s, or made by a build of an organization.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Can be given instead of the id.' }),
    description: t.exposeString('description', { description: 'What is on it.' }),
    organizationId: t.id({
      nullable: true,
      description: 'Whose it is; null: everybody’s.',
      resolve: (template) => template.organizationId && encodeId('organization', template.organizationId),
    }),
    organization: t.field({
      type: organizationType,
      nullable: true,
      description: 'Whose it is; null: everybody’s.',
      resolve: (template) => template.organizationId,
    }),
    machineId: t.id({
      nullable: true,
      description: 'The machine that has its disk; null where every machine has it, or none any more.',
      resolve: (template) => template.nodeId && encodeId('node', template.nodeId),
    }),
    machine: t.field({
      type: machineType,
      nullable: true,
      description: 'The machine that has its disk.',
      resolve: (template) => template.nodeId,
    }),
    buildId: t.id({
      nullable: true,
      description: 'The build that made it; null for one that came with Berth.',
      resolve: (template) => template.buildJobId && encodeId('build', template.buildJobId),
    }),
    sizeBytes: t.field({
      type: 'BigInt',
      nullable: true,
      description: 'How large its disk is, when a build made it.',
      resolve: (template) => template.sizeBytes,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    replacedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When another of its name took its place; only what started from it before shows it then.',
    }),
  }),
})

const templateConnection = connectionOf('Template', templateType)

builder.queryFields((t) => ({
  templates: t.field({
    type: templateConnection,
    description: 'The templates a VM may be made from: everybody’s and the active organization’s, oldest first.',
    args: pageArguments,
    resolve: (_, window, call) => pageTemplates(call, window),
  }),
}))
builder.objectField(organizationType, 'templates', (t) =>
  t.field({
    type: templateConnection,
    nullable: true,
    description: 'The templates its VMs may be made from: everybody’s and its own, oldest first.',
    args: pageArguments,
    resolve: (organization, window, call) => pageTemplates(callIn(call, organization), window),
  }),
)

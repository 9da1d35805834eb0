/** Templates in GraphQL. */
import { builder } from '../builder.ts'
import { deletionOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deleteTemplate, findTemplates, pageTemplates } from '#src/resources/infra/templates.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { machineType } from './machines.ts'

/** A template. */
export const templateType = nodeOf('Template', findTemplates)

builder.objectType(templateType, {
  description:
    'The image that a VM’s disk starts from. Some come with Berth for everybody; others are built by an organization.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, which can be used instead of the id.' }),
    description: t.exposeString('description', { description: 'A description of its content.' }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      nullable: true,
      description: 'The organization that owns it; null for one that everybody may use.',
      id: (template) => template.organizationId,
    }),
    ...linkTo(t, 'machine', {
      type: machineType,
      nullable: true,
      description: 'The machine that stores its disk; null when every machine does, or none any more.',
      id: (template) => template.nodeId,
    }),
    buildId: t.id({
      nullable: true,
      description: 'The build that made it; null for one that comes with Berth.',
      resolve: (template) => template.buildJobId && encodeId('build', template.buildJobId),
    }),
    sizeBytes: t.field({
      type: 'BigInt',
      nullable: true,
      description: 'The size of its disk; null when no build made it.',
      resolve: (template) => template.sizeBytes,
    }),
    isReady: t.exposeBoolean('isReady', {
      description:
        'Whether a machine has its disk. If not, the machine of the first VM builds it, for minutes, and its `statusReason` says how far it is.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    replacedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it was deleted, or a newer template of the same name replaced it. From then on only VMs that started from it show it.',
    }),
  }),
})

const templateConnection = connectionOf('Template', templateType)

builder.queryFields((t) => ({
  templates: t.field({
    type: templateConnection,
    description: 'The templates available to the active organization, its own and everybody’s, oldest first.',
    args: pageArguments,
    resolve: (_, window, call) => pageTemplates(call, window),
  }),
}))
const templatesOf = listOfOrganizations(pageTemplates)
builder.objectField(organizationType, 'templates', (t) =>
  t.field({
    type: templateConnection,
    nullable: true,
    description: 'The templates available to it, its own and everybody’s, oldest first.',
    args: pageArguments,
    resolve: ({ id }, window, call) => templatesOf(call, id, window),
  }),
)
deletionOf(
  'deleteTemplate',
  'Deletes a template of the organization: no VM can start from it any more; those that did go on. Errors: NOT_FOUND, also for one that comes with Berth.',
  deleteTemplate,
)

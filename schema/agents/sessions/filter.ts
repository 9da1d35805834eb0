/** What narrows lists of sessions. */
import { createdFields } from '../../arguments.ts'
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { sessionStatus } from './parts.ts'

const archivedFilter = enumOf('ArchivedFilter', 'Whether a list includes archived sessions.', {
  exclude: 'The list leaves archived sessions out.',
  include: 'The list has archived sessions too.',
  only: 'The list has archived sessions only.',
})

/** What narrows a list of sessions. */
export const sessionFilter = builder.inputType('SessionFilter', {
  description: 'Narrows a list of sessions; all conditions must hold.',
  fields: (t) => ({
    agentId: t.id({ description: 'Only those of this agent.' }),
    agentVersion: t.int({ description: 'With `agentId`: only those that started with this version of it.' }),
    deploymentId: t.id({ description: 'Only those that this deployment started.' }),
    archived: t.field({ type: archivedFilter, description: 'Whether to include archived ones; not by default.' }),
    includeArchived: t.boolean({ description: 'Whether to include archived ones too; false by default.' }),
    statuses: t.field({ type: [sessionStatus], description: 'Only those with one of these statuses.' }),
    isActionRequired: t.boolean({
      description:
        'With true, only those that wait for somebody: to approve a tool use, or to answer one; with false, only the others.',
    }),
    text: t.string({ description: 'Only those with this piece of text in their title, in upper or lower case.' }),
    ...createdFields(t),
  }),
})

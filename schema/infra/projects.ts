/** Projects in GraphQL. */
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, times } from '../nodes.ts'
import { nameFilter, nounOf, organizationOf } from '../nouns.ts'
import { createProject, deleteProject, projectReads, updateProject } from '#src/resources/infra/projects.ts'

/** A project. */
export const projectType = nounOf('Project', projectReads, {
  description: 'What belongs together: databases, and the VMs that use them.',
  list: { description: 'The active organization’s projects, newest first.', filter: nameFilter('Project') },
  fields: (t) => ({
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created it; null for an API key.',
      id: (project) => project.userId,
    }),
    ...times(t, 'createdAt', 'updatedAt'),
  }),
})

const project = { field: 'project', type: projectType }
mutationOf(
  'createProject',
  project,
  'Creates a project. Errors: INVALID_REQUEST.',
  (t) => ({ name: t.string({ required: true, description: '1 to 255 characters.' }) }),
  (call, input) => createProject(call, input),
)
mutationOf(
  'updateProject',
  project,
  'Changes the name. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({ ...idField(t), name: t.string({ description: '1 to 255 characters.' }) }),
  (call, { id, ...changes }) => updateProject(call, id, changes),
)
deletionOf(
  'deleteProject',
  'Deletes a project. Errors: NOT_FOUND, INVALID_TRANSITION while it has databases or VMs.',
  deleteProject,
)

/** Projects in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import {
  createProject,
  deleteProject,
  findProjects,
  getProject,
  pageProjects,
  updateProject,
} from '#src/resources/infra/projects.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'

/** A project. */
export const projectType = nodeOf('Project', findProjects)

builder.objectType(projectType, {
  description: 'What belongs together: databases, and the VMs that use them.',
  fields: (t) => ({
    name: t.exposeString('name', { description: '1 to 255 characters.' }),
    ...linkTo(t, 'organization', {
      type: organizationType,
      description: 'The organization that owns it.',
      id: (project) => project.organizationId,
    }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who created it; null for an API key.',
      id: (project) => project.userId,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

const projectConnection = connectionOf('Project', projectType)
const projectArguments = {
  ...pageArguments,
  ...builder.args((t) => ({ order: t.field(newestFirst) })),
}
type ProjectsGiven = Parameters<typeof pageProjects>[1] & OrderGiven
const projectsOf = listOfOrganizations((call, { order, ...window }: ProjectsGiven) => pageProjects(call, window, order))

builder.queryFields((t) => ({
  project: t.field({
    type: projectType,
    description: 'One project. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getProject(call, id),
  }),
  projects: t.field({
    type: projectConnection,
    description: 'The active organization’s projects, newest first.',
    args: projectArguments,
    resolve: (_, { order, ...window }, call) => pageProjects(call, window, order),
  }),
}))
builder.objectField(organizationType, 'projects', (t) =>
  t.field({
    type: projectConnection,
    nullable: true,
    description: 'Its projects, newest first.',
    args: projectArguments,
    resolve: ({ id }, given, call) => projectsOf(call, id, given),
  }),
)

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

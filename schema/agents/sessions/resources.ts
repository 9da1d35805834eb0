/** What is put into the VMs of sessions, in GraphQL. Tokens are write-only. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { deletionOf, idField, mutationOf } from '../../mutations.ts'
import { connectionOf, oldestFirst, pageArguments } from '../../pages.ts'
import { rowsOfEach } from '../../rows-of-each.ts'
import { always } from '../../words.ts'
import { fileType } from '../files.ts'
import { checkoutInput, repositoryCheckout } from './resources/inputs.ts'
import { sessionType } from '../sessions.ts'
import { encodeId } from '#src/platform/ids.ts'
import { publicFileId } from '#src/resources/agents/sessions/resources/orders.ts'
import type { SessionResource } from '#src/resources/agents/sessions/resources/rows.ts'
import {
  addSessionResource,
  deleteSessionResource,
  findResourcesOfSessions,
  getSessionResource,
  pageSessionResources,
  updateSessionResource,
} from '#src/resources/agents/sessions/resources.ts'

const resourceType = enumOf('SessionResourceType', 'The kind of a resource.', {
  file: 'A file.',
  github_repository: 'A clone of a repository of git.',
} satisfies Record<SessionResource['type'], string>)

/** Something that is put into the VM of a session. */
const sessionResource = builder.interfaceRef<SessionResource>('SessionResource').implement({
  description: 'Something that is put into the VM of a session, before the agent’s first command there.',
  resolveType: ({ type }) => (type === 'file' ? 'SessionFile' : 'SessionRepository'),
  fields: (t) => ({
    id: t.id({
      description: '`sesrsc_` and 26 characters.',
      resolve: ({ id }) => encodeId('sessionResource', id),
    }),
    session: t.field({
      type: sessionType,
      nullable: true,
      description: 'The session.',
      resolve: ({ sessionId }) => sessionId,
    }),
    mountPath: t.exposeString('mountPath', { description: 'Where it is in the VM.' }),
    placedAt: t.expose('placedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is in the VM; null while it is not.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it, or its token, was last changed.' }),
  }),
})

builder.objectRef<SessionResource>('SessionFile').implement({
  description: 'A file in the VM of a session.',
  interfaces: [sessionResource],
  isTypeOf: (resource) => (resource as SessionResource).type === 'file', // as resolveType says
  fields: (t) => ({
    type: t.string(always('file')),
    fileId: t.id({ description: 'Which file.', resolve: (resource) => publicFileId(resource) ?? '' }),
    file: t.field({
      type: fileType,
      nullable: true,
      description: 'The file, as an object; null once it is deleted.',
      resolve: ({ fileId }) => fileId,
    }),
  }),
})

builder.objectRef<SessionResource>('SessionRepository').implement({
  description: 'A clone of a repository of git in the VM of a session.',
  interfaces: [sessionResource],
  isTypeOf: (resource) => (resource as SessionResource).type === 'github_repository', // as above
  fields: (t) => ({
    type: t.string(always('github_repository')),
    url: t.string({ description: 'Its URL.', resolve: ({ url }) => url ?? '' }),
    checkout: t.field({
      type: repositoryCheckout,
      nullable: true,
      description: 'What is checked out; null for its default branch.',
      resolve: ({ checkout }) => checkout,
    }),
    hasToken: t.boolean({
      description: 'Whether it has a token, which is never shown.',
      resolve: ({ sealedToken }) => sealedToken !== null,
    }),
  }),
})

const resourcesOf = rowsOfEach(findResourcesOfSessions, ({ sessionId }) => sessionId)
builder.objectField(sessionType, 'resources', (t) =>
  t.field({
    type: [sessionResource],
    description: 'What is put into its VM, in the order in which it was added: 100 at most.',
    resolve: async ({ id }, _, call) => (await resourcesOf(call, id))?.resources ?? [],
  }),
)

const sessionId = { required: true, description: 'The session’s id.' } as const
const sessionIfGiven = { description: 'Its session. If given, a resource of another session is not found.' }
builder.queryFields((t) => ({
  sessionResource: t.field({
    type: sessionResource,
    description: 'One resource of a session. Errors: NOT_FOUND.',
    args: { sessionId: t.arg.id(sessionIfGiven), id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_, { sessionId: session, id }, call) => getSessionResource(call, session, id),
  }),
  sessionResources: t.field({
    type: connectionOf('SessionResource', sessionResource),
    description: 'A session’s resources, in the order in which they were added. Errors: NOT_FOUND.',
    args: {
      sessionId: t.arg.id(sessionId),
      ...pageArguments,
      order: t.arg(oldestFirst),
    },
    resolve: (_, { sessionId: session, order, ...window }, call) => pageSessionResources(call, session, window, order),
  }),
}))

const resource = { field: 'sessionResource', type: sessionResource }
mutationOf(
  'addSessionResource',
  resource,
  'Adds a resource to a session; it is in the VM from the agent’s next command on. Errors: NOT_FOUND, SESSION_ARCHIVED, INVALID_REQUEST.',
  (t) => ({
    sessionId: t.id(sessionId),
    type: t.field({ type: resourceType, required: true, description: 'The kind of resource.' }),
    fileId: t.id({ description: 'Of a file: which one.' }),
    url: t.string({ description: 'Of a repository: its URL, with https://.' }),
    authorizationToken: t.string({ description: 'Of a repository: a token for git. It is never shown again.' }),
    checkout: t.field({ type: checkoutInput, description: 'Of a repository: what to check out.' }),
    mountPath: t.string({
      description:
        'Where to put it, an absolute path: `/mnt/session/uploads/<file id>` or `/workspace/<name of the repository>` by default.',
    }),
  }),
  (call, { sessionId: session, ...given }) => addSessionResource(call, session, given),
)
const whichOne = (t: Parameters<typeof idField>[0]) => ({ sessionId: t.id(sessionIfGiven), ...idField(t) })
mutationOf(
  'updateSessionResource',
  resource,
  'Replaces the token of a repository, from git’s next request on. Errors: NOT_FOUND, SESSION_ARCHIVED, INVALID_REQUEST.',
  (t) => ({
    ...whichOne(t),
    authorizationToken: t.string({ required: true, description: 'The new token. It is never shown again.' }),
  }),
  (call, { sessionId: session, id, authorizationToken }) =>
    updateSessionResource(call, session, id, { authorizationToken }),
)
deletionOf(
  'removeSessionResource',
  'Removes a resource of a session: its token opens nothing any more. What is in a VM already stays there. Errors: NOT_FOUND, SESSION_ARCHIVED.',
  (call, { sessionId: session, id }) => deleteSessionResource(call, session, id),
  whichOne,
)

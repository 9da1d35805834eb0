/** People in GraphQL. */
import { builder } from '#schema/builder.ts'
import { nodeOf } from '#schema/nodes.ts'
import { findUsers } from '#src/resources/identity/organizations.ts'

/** A person. */
export const userType = nodeOf('User', findUsers)

builder.objectType(userType, {
  description: 'A person. You see only people who are or were members of an organization of yours.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Their name.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they first signed in.' }),
  }),
})

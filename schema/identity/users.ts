/** People in GraphQL. */
import { builder } from '#schema/builder.ts'
import { nodeOf } from '#schema/nodes.ts'
import { findUsers } from '#src/resources/identity/organizations.ts'

/** A person. */
export const userType = nodeOf('User', '`usr_` and 26 characters.', findUsers)

builder.objectType(userType, {
  description: 'A person. Who belongs or belonged to an organization with you is known to you, and nobody else.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Their name.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they first came here.' }),
  }),
})

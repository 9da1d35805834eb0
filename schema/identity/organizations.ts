/** Organizations in GraphQL: the root of most of the graph. Each noun's file adds its own connection. */
import { idArguments } from '#schema/arguments.ts'
import { builder, type Context } from '#schema/builder.ts'
import { ownColumns } from '#schema/columns.ts'
import { nodeOf } from '#schema/nodes.ts'
import { actingIn } from '#src/platform/access.ts'
import { findOrganizations, getOrganization, type Organization } from '#src/resources/identity/organizations.ts'

/** An organization. */
export const organizationType = nodeOf('Organization', '`org_` and 26 characters.', findOrganizations)

builder.objectType(organizationType, {
  description: 'The owner of everything in Berth. People are its members; API keys act for it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

/** The columns of its own fields; what it has beside them is found by its id. */
const columnsOf = { name: ['name'], createdAt: ['created_at'] }

builder.queryFields((t) => ({
  organization: t.field({
    type: organizationType,
    description: 'An organization that the caller belongs to. Errors: FORBIDDEN.',
    args: idArguments,
    resolve: (_, { id }, call, info) => getOrganization(call, id, ownColumns(info, columnsOf)),
  }),
}))

/** The same call, made in this organization instead of the active one of the caller’s token. */
export function callIn(call: Context, { id }: Pick<Organization, 'id'>): Context {
  const caller = actingIn(call.caller, id)
  return caller === call.caller ? call : { ...call, caller } // a copy makes the call's signal, which few need
}

/** Organizations in GraphQL: the root of most of the graph. Each noun's file adds its own connection. */
import { idArguments } from '#schema/arguments.ts'
import { builder, type Context } from '#schema/builder.ts'
import { ownColumns } from '#schema/columns.ts'
import { nodeOf } from '#schema/nodes.ts'
import { pagesOfEach } from '#schema/pages-of-each.ts'
import { actingIn } from '#src/platform/access.ts'
import type { Page } from '#src/platform/pages.ts'
import { findOrganizations, getOrganization, type Organization } from '#src/resources/identity/organizations.ts'

/** An organization. */
export const organizationType = nodeOf('Organization', findOrganizations)

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

/**
 * Makes what a resolver calls for a list that organizations have. One to which many rows of a list lead is read once.
 * @param read reads the list of one organization, in whose place the call is made.
 */
export function listOfOrganizations<Given extends object, Node>(
  read: (call: Context, given: Given, organizationId: string) => Promise<Page<Node>>,
): (call: Context, organizationId: string, given: Given) => Promise<Page<Node>> {
  return pagesOfEach(async (call, ids, given) => {
    const pages = await Promise.allSettled(ids.map(async (id) => read(callIn(call, { id }), given, id)))
    return (organizationId) => {
      const page = pages[ids.indexOf(organizationId)]
      if (page?.status === 'fulfilled') return page.value
      throw page?.reason
    }
  })
}

/** The same call, made in this organization instead of the active one of the caller’s token. */
export function callIn(call: Context, { id }: Pick<Organization, 'id'>): Context {
  const caller = actingIn(call.caller, id)
  return caller === call.caller ? call : { ...call, caller } // a copy makes the call's signal, which few need
}

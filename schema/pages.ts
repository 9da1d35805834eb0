/** Relay connections: one shape for every list that pages. */
import type { InputObjectRef, InterfaceRef, ObjectRef } from '@pothos/core'
import { builder } from './builder.ts'
import { enumOf } from './enums.ts'
import type { Page } from '#src/platform/pages.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const pageInfo = builder.objectRef<Page<unknown>['pageInfo']>('PageInfo').implement({
  description: 'Where a page stands in its list, as Relay defines it.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are more after this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether there are some before this page.' }),
    startCursor: t.exposeString('startCursor', { nullable: true, description: 'The cursor of the first node here.' }),
    endCursor: t.exposeString('endCursor', {
      nullable: true,
      description: 'The cursor of the last node here: pass it as `after` for the next page.',
    }),
  }),
})

/** Makes `<Name>Connection` and `<Name>Edge` for a node type. */
export function connectionOf<Node>(
  name: string,
  node: ObjectRef<Types, Node> | InterfaceRef<Types, Node>,
): ObjectRef<Types, Page<Node>> {
  const edge = builder.objectRef<{ cursor: string; node: Node }>(`${name}Edge`).implement({
    description: `A node of a list of type ${name}, and its place there.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'Its place: pass it as `after` for what follows, as `before` for what precedes.',
      }),
      node: t.field({ type: node as never, description: 'The node.', resolve: (parent) => parent.node as never }), // Pothos cannot see through a type parameter
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `A page of a list of type ${name}.`,
    fields: (t) => ({
      edges: t.field({ type: [edge], description: 'The nodes with their cursors.', resolve: (parent) => parent.edges }),
      nodes: t.field({
        type: [node] as never,
        description: 'The nodes alone.',
        resolve: (parent) => parent.nodes as never,
      }), // as above
      pageInfo: t.field({
        type: pageInfo,
        description: 'Where the page stands.',
        resolve: (parent) => parent.pageInfo,
      }),
      totalCount: t.int({
        description: 'How many the whole list has; counted only when asked for.',
        resolve: (parent) => parent.count(),
      }),
    }),
  }) as never // one ref type for every name
}

/** Up or down. */
export const orderDirection = enumOf('OrderDirection', 'The direction of an order.', {
  asc: 'Oldest first.',
  desc: 'Newest first.',
})

/** Makes `<Name>Order` for a list that can be read in the order in which its nodes were made, or the other way round. */
export function orderOf(name: string): InputObjectRef<Types, { field: 'created_at'; direction: 'asc' | 'desc' }> {
  const field = enumOf(`${name}OrderField`, `What a list of type ${name} may be ordered by.`, {
    created_at: 'When it was made.',
  })
  return builder.inputType(`${name}Order`, {
    description: `The order of a list of type ${name}.`,
    fields: (t) => ({
      field: t.field({ type: field, required: true, description: 'By what.' }),
      direction: t.field({ type: orderDirection, required: true, description: 'In which direction.' }),
    }),
  }) as never // Pothos cannot see through a type parameter
}

/** The arguments of every connection. */
export const pageArguments = builder.args((t) => ({
  first: t.int({ description: 'How many from the beginning, 1 to 100; 50 without it.' }),
  after: t.string({ description: 'The cursor after which the page begins: `endCursor` of the page before.' }),
  last: t.int({ description: 'How many from the end, instead of `first`.' }),
  before: t.string({ description: 'The cursor before which the page ends: `startCursor` of the page behind.' }),
}))

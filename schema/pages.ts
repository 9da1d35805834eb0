/** Relay connections: one shape for every paged list. */
import type { InterfaceRef, ObjectRef } from '@pothos/core'
import { builder } from './builder.ts'
import { enumOf } from './enums.ts'
import { limits } from '#src/platform/limits.ts'
import type { Direction, Page } from '#src/platform/pages.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const pageInfo = builder.objectRef<Page<unknown>['pageInfo']>('PageInfo').implement({
  description: 'The position of a page in its list, as Relay defines it.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether more nodes follow this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether nodes precede this page.' }),
    startCursor: t.exposeString('startCursor', {
      nullable: true,
      description: 'The cursor of the first node on this page.',
    }),
    endCursor: t.exposeString('endCursor', {
      nullable: true,
      description: 'The cursor of the last node on this page: pass it as `after` for the next page.',
    }),
  }),
})

/** Makes `<Name>Connection` and `<Name>Edge` for a node type. */
export function connectionOf<Node>(
  name: string,
  node: ObjectRef<Types, Node> | InterfaceRef<Types, Node>,
): ObjectRef<Types, Page<Node>> {
  const edge = builder.objectRef<{ cursor: string; node: Node }>(`${name}Edge`).implement({
    description: `A node of a list of type ${name}, with its cursor.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'The node’s position: pass it as `after` to read what follows, as `before` to read what precedes.',
      }),
      node: t.field({ type: node as never, description: 'The node.', resolve: (parent) => parent.node as never }), // Pothos cannot resolve a generic type
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `A page of a list of type ${name}.`,
    fields: (t) => ({
      edges: t.field({ type: [edge], description: 'The nodes with their cursors.', resolve: (parent) => parent.edges }),
      nodes: t.field({
        type: [node] as never,
        description: 'The nodes without cursors.',
        resolve: (parent) => parent.nodes as never,
      }), // as above
      pageInfo: t.field({
        type: pageInfo,
        description: 'The position of the page in the list.',
        resolve: (parent) => parent.pageInfo,
      }),
      totalCount: t.int({
        description: 'How many nodes the whole list has; counted only when selected.',
        resolve: (parent) => parent.count(),
      }),
    }),
  }) as never // one ref type for every name
}

const orderDirection = enumOf('OrderDirection', 'The direction of an order.', {
  asc: 'Oldest first.',
  desc: 'Newest first.',
})

/** The argument `order` of a list whose newest nodes come first by default: `order: t.arg(newestFirst)`. */
export const newestFirst = {
  type: orderDirection,
  required: true,
  defaultValue: 'desc',
  description: 'By the time of creation.',
} as const

/** The same of a list whose oldest nodes come first by default. */
export const oldestFirst = { ...newestFirst, defaultValue: 'asc' } as const

/** What such a list is given. */
export type OrderGiven = { order: Direction }

/** The arguments of a connection whose pages have at most so many nodes. */
export const pageArgumentsUpTo = (most: number) =>
  builder.args((t) => ({
    first: t.int({
      description: `How many to return from the start, 1 to ${most}; ${limits.connectionFirstDefault} by default. An operation may return at most ${limits.graphqlCost} objects in all.`,
    }),
    after: t.string({ description: 'The cursor after which the page starts: the `endCursor` of the previous page.' }),
    last: t.int({ description: `How many to return from the end, instead of \`first\`, 1 to ${most}.` }),
    before: t.string({ description: 'The cursor before which the page ends: the `startCursor` of the next page.' }),
  }))

/** The arguments of every other connection. */
export const pageArguments = pageArgumentsUpTo(limits.connectionFirstMax)

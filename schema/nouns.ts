/** A whole noun in GraphQL: its node, the query of one, its list, and the same list below an organization. */
import type { FieldMap, InputRef, ObjectRef } from '@pothos/core'
import type { Direction, Page, PageWindow } from '#src/platform/pages.ts'
import type { ArchivedFilter, Reads } from '#src/platform/nouns.ts'
import type { Call } from '#src/platform/services.ts'
import type { TextFilter } from '#src/platform/shapes/text-filters.ts'
import { idArguments } from './arguments.ts'
import { builder } from './builder.ts'
import { listOfOrganizations, organizationType } from './identity/organizations.ts'
import type { NodeName } from './node-ids.ts'
import { linkTo, nodeOf } from './nodes.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from './pages.ts'

type Types = (typeof builder)['$inferSchemaTypes']
type ObjectFields<Row> = PothosSchemaTypes.ObjectFieldBuilder<Types, Row>

/** What a list, newest first, says of itself. */
type Listed<Filter> = {
  description: string
  /** Its field in `Query` and in `Organization`, where it is not the noun with an s. */
  field?: string
  /** What is said of it below an organization, where it is more than that it is its list. */
  inOrganization?: string
  /** What narrows it, where something does. */
  filter?: InputRef<Filter>
}

/**
 * The type of a noun, with its fields, the query of one, and its lists.
 * @param reads the resource's functions, each of which checks the permission.
 * @param noun `one`: what the query of one says, where it is more than its errors.
 */
export function nounOf<Row extends { id: string }, Filter extends object>(
  name: NodeName,
  { get, find, page }: Reads<Row, Filter>,
  noun: { description: string; one?: string; list: Listed<Filter>; fields: (t: ObjectFields<Row>) => FieldMap },
) {
  const type = nodeOf(name, find)
  builder.objectType(type, { description: noun.description, fields: noun.fields })
  queryOf(name, type, get, noun.one)
  listOf(name, type, page, noun.list)
  return type
}

/** The query of one by its id: `vault(id)` of the type `Vault`. */
export function queryOf<Row>(
  name: string,
  type: ObjectRef<Types, Row>,
  get: (call: Call, id: string) => Promise<Row>,
  description = `One ${wordsOf(name)}. Errors: NOT_FOUND.`,
): void {
  builder.queryField(fieldOf(name), (t) =>
    t.field({
      type: type as never, // Pothos cannot resolve a generic type
      description,
      args: idArguments,
      resolve: (_, { id }, call) => get(call, id) as never, // as above
    }),
  )
}

/**
 * The list of a noun in `Query`, and of each organization below it: null there when it may not be read.
 * @returns the type of its pages, for the lists of it that other nouns have.
 */
export function listOf<Row, Filter extends object>(
  name: string,
  type: ObjectRef<Types, Row>,
  page: (call: Call, window: PageWindow, filter?: Filter | null, direction?: Direction) => Promise<Page<Row>>,
  {
    description,
    field = `${fieldOf(name)}s`,
    inOrganization = `Its ${wordsOf(name)}s, newest first.`,
    filter,
  }: Listed<Filter>,
): ObjectRef<Types, Page<Row>> {
  type Given = PageWindow & OrderGiven & { filter?: Filter | null }
  const connection = connectionOf(name, type)
  const args = {
    ...pageArguments,
    ...builder.args((t) => ({
      ...(filter ? { filter: t.field({ type: filter, description: 'Narrows the list.' }) } : {}),
      order: t.field(newestFirst),
    })),
  }
  const read = (call: Call, { filter: narrowed, order, ...window }: Given) => page(call, window, narrowed, order)
  const ofOrganization = listOfOrganizations(read)
  builder.queryField(
    field,
    (t) => t.field({ type: connection, description, args, resolve: (_, given, call) => read(call, given as Given) }), // these are its arguments
  )
  builder.objectField(organizationType, field, (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: inOrganization,
      args,
      resolve: ({ id }, given, call) => ofOrganization(call, id, given as Given), // as above
    }),
  )
  return connection
}

const pieceOfName = { description: 'Only those with this piece of text in their name, in upper or lower case.' }

/**
 * The filter of a list of nouns that can be archived: `VaultFilter` of `Vault`.
 * @param isNamed whether it also narrows by a piece of their name, which the resource then reads.
 */
export function archivedFilter(name: NodeName): InputRef<ArchivedFilter>
export function archivedFilter(name: NodeName, isNamed: true): InputRef<ArchivedFilter & TextFilter>
export function archivedFilter(name: NodeName, isNamed = false): InputRef<ArchivedFilter> {
  return builder.inputType(`${name}Filter`, {
    description: `Narrows a list of ${wordsOf(name)}s.`,
    fields: (t) => ({
      includeArchived: t.boolean({ description: 'Whether to include archived ones; false by default.' }),
      ...(isNamed ? { text: t.string(pieceOfName) } : {}),
    }),
  })
}

/** The filter of a list of nouns that have a name, which the resource then reads: `ProjectFilter` of `Project`. */
export function nameFilter(name: string): InputRef<TextFilter> {
  return builder.inputType(`${name}Filter`, {
    description: `Narrows a list of ${wordsOf(name)}s.`,
    fields: (t) => ({ text: t.string(pieceOfName) }),
  })
}

/** The organization of a row, by its id and as a node. */
export function organizationOf<Row extends { organizationId: string }>(
  t: ObjectFields<Row>,
  description = 'The organization that owns it.',
): FieldMap {
  return linkTo(t, 'organization', { type: organizationType, description, id: ({ organizationId }) => organizationId })
}

/** The field in `Query` of a type's name: `webhookEndpoint`. */
function fieldOf(name: string): string {
  return (name[0] ?? '').toLowerCase() + name.slice(1)
}

/** The words of a type's name: `webhook endpoint`. */
function wordsOf(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, ' $&').toLowerCase()
}

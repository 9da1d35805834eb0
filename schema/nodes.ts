/**
 * Nodes: every noun that can be loaded by its id alone, through `node` and `nodes` and through the objects beside ids; and the
 * fields that many of them have.
 */
import type { FieldMap } from '@pothos/core'
import { builder, type Context } from './builder.ts'
import type { Call } from '#src/platform/services.ts'
import { idFormOf, isNodeName, nodeIdEncoder, type NodeName } from './node-ids.ts'

const batchMax = 1000 // ids in one statement

/**
 * The type of a noun. Fields may resolve to a stored id instead of a row: all rows that one level of a query needs are
 * then loaded by one call of `load`, which leaves out what is not the caller's; those fields are null. Nothing is
 * cached between batches, because a subscription keeps one context for hours.
 * @param load finds rows by their stored ids, in any order. It checks the caller's permission, as every resource
 * function does.
 * @param idForm what is said of its ids, where it is not the usual form.
 */
export function nodeOf<Row extends { id: string }>(
  name: NodeName,
  load: (call: Call, ids: readonly string[]) => Promise<readonly Row[]>,
  idForm: string = idFormOf(name),
) {
  return builder.loadableNodeRef(name, {
    id: { description: idForm, resolve: ({ id }: Row) => id },
    load: async (ids: string[], call): Promise<Row[]> => {
      const rows = new Map((await load(call, [...new Set(ids)])).map((row) => [row.id, row]))
      return ids.map((id) => rows.get(id) ?? (null as never)) // every field that loads by id is nullable
    },
    loaderOptions: { cache: false, maxBatchSize: batchMax },
  })
}

/** A type whose rows are loaded by stored ids. */
type Loadable<Row> = {
  getDataloader: (call: Context) => { loadMany: (ids: string[]) => Promise<ArrayLike<Row | Error | null>> }
}

/**
 * The nodes of a list of stored ids, loaded with all others of the same level, without those that are deleted or not the caller’s.
 * @throws what loading one of them has thrown: such a field is nullable, so that the object with the ids stays.
 */
export async function nodesThere<Row>(
  type: Loadable<Row>,
  ids: readonly (string | null)[],
  call: Context,
): Promise<Row[]> {
  const rows = Array.from(await type.getDataloader(call).loadMany(ids.filter((id) => id !== null)))
  return rows.flatMap((row) => {
    if (row instanceof Error) throw row
    return row === null ? [] : [row]
  })
}

type Types = (typeof builder)['$inferSchemaTypes']

/** A node that a row names. `id`: its stored id; `nullable`: whether there may be none. */
type Link<Row> = {
  type: { readonly name: string } // any node's: what rows it has does not matter here
  description: string
  nullable?: true
  id: (row: Row) => string | null
}

/** The fields `<name>Id` and `<name>`: the id of a node, and the node, which is null when it is deleted or not the caller's. */
export function linkTo<Row>(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, Row>,
  name: string,
  { type, description, nullable = false as never, id }: Link<Row>,
): FieldMap {
  if (!isNodeName(type.name)) throw new Error(`${type.name} is no node, so ${name} cannot lead to it`)
  const encode = nodeIdEncoder(type.name)
  const publicId = (row: Row): string | null => {
    const stored = id(row)
    return stored === null ? null : encode(stored)
  }
  return {
    [`${name}Id`]: t.id({ nullable, description, resolve: publicId as never }), // not null unless it may be
    [name]: t.field({ type: type as never, nullable: true, description, resolve: id as never }), // Pothos cannot resolve a generic type
  }
}

/** Moments that many nouns have, with what is said of them. */
const usualTimes = {
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed.',
} as const

/** The fields of such moments. */
export function times<Row>(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, Row>,
  ...names: readonly (keyof typeof usualTimes & keyof Row)[]
): FieldMap {
  return Object.fromEntries(
    names.map((name) => [name, t.expose(name as never, { type: 'DateTime', description: usualTimes[name] } as never)]), // Pothos cannot resolve a generic type
  )
}

/** The fields of moments that need not be there, each with what is said of it. */
export function timesIfAny<Row>(
  t: PothosSchemaTypes.ObjectFieldBuilder<Types, Row>,
  descriptions: { readonly [Name in keyof Row]?: string },
): FieldMap {
  return Object.fromEntries(
    Object.entries<string>(descriptions as never).map(([name, description]) => [
      name,
      t.expose(name as never, { type: 'DateTime', nullable: true, description } as never), // as above
    ]),
  )
}

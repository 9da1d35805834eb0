/** The mutation that changes a noun in GraphQL, for whoever asks REST to change more of it than its paths do. */
import {
  getNamedType,
  isInputObjectType,
  isObjectType,
  Kind,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLNamedType,
  type GraphQLSchema,
  type SelectionNode,
} from 'graphql'
import { memberWord, wireFields } from '#schema/wire-names.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findUnknownKey, nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import type { Operation } from './run.ts'

/** A mutation and its input. */
export type ChangingMutation = { name: string; input: GraphQLInputObjectType }

/** The mutation that changes the noun which a document answers, if there is one; never the document's own. */
export function changingMutation(
  schema: GraphQLSchema,
  { definition, bodyAt }: Operation,
): ChangingMutation | undefined {
  const mutations = schema.getMutationType()?.getFields() ?? {}
  let type: GraphQLNamedType | undefined = schema.getRootType(definition.operation) ?? undefined
  let selections: readonly SelectionNode[] = definition.selectionSet.selections
  const own = new Set<string>()
  for (const key of bodyAt) {
    const selected = selections.find((one) => one.kind === Kind.FIELD && (one.alias ?? one.name).value === key)
    if (selected?.kind !== Kind.FIELD || !isObjectType(type)) return undefined
    own.add(selected.name.value)
    const field: GraphQLField<unknown, unknown> | undefined = type.getFields()[selected.name.value]
    type = field && getNamedType(field.type)
    selections = selected.selectionSet?.selections ?? []
  }
  const name = `update${type?.name}`
  const input = mutations[name]?.args[0] && getNamedType(mutations[name].args[0].type)
  return isInputObjectType(input) && !own.has(name) ? { name, input } : undefined
}

/**
 * Refuses a body with a key that is, or is near, one that only this mutation takes.
 * @param nested paths inside the keys that are taken.
 * @throws BerthError invalid_request naming both.
 */
export function refuseMutationsKey(
  body: unknown,
  taken: ReadonlySet<string>,
  { name: mutation, input }: ChangingMutation,
  nested: readonly string[],
): void {
  const unknown = typeof body === 'object' && body !== null ? findUnknownKey(body, taken) : undefined
  if (unknown === undefined) return
  const others = new Map(
    wireFields(input)
      .filter(({ name }) => name !== 'id' && !taken.has(memberWord(input, name))) // the path has the id
      .map(({ name }) => [memberWord(input, name), name]),
  )
  const key = others.has(unknown) ? unknown : nearestKey(unknown, [...taken, ...others.keys()], nested)
  if (key === undefined || !others.has(key)) return
  throw new BerthError(
    'invalid_request',
    `This path does not take the field ${key}. In GraphQL, ${mutation} takes it, as ${others.get(key)}.`,
    { field: key },
  )
}

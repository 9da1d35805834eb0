/** Public operations, which need no token: introspection, and fields that are marked open. */
import {
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** Whether every root field of the operation is public. An unknown field is not. */
export function isForEverybody(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
): boolean {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  return areOpen(selectionSet, schema.getRootType(operation), fragments, new Set())
}

function areOpen(
  { selections }: SelectionSetNode,
  root: GraphQLObjectType | null | undefined,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  seen: Set<string>,
): boolean {
  return selections.every((one) => {
    if (one.kind === Kind.FIELD)
      return one.name.value.startsWith('__') || root?.getFields()[one.name.value]?.extensions['open'] === true
    if (one.kind === Kind.INLINE_FRAGMENT) return areOpen(one.selectionSet, root, fragments, seen)
    const fragment = fragments.get(one.name.value)
    if (!fragment || seen.has(one.name.value)) return fragment !== undefined // an unknown fragment is refused by validation, which needs a caller
    seen.add(one.name.value)
    return areOpen(fragment.selectionSet, root, fragments, seen)
  })
}

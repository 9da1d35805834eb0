/** Finds the columns that an operation needs of a list, so that columns nobody selected are not read. */
import { Kind, type FieldNode, type GraphQLResolveInfo, type SelectionSetNode } from 'graphql'

const known = new WeakMap<FieldNode, readonly string[] | null>()

/**
 * The columns behind the selected fields of a connection's nodes; undefined when whole rows are needed.
 * @param columnsOf the columns that each field of the node reads; a field that is not listed needs the whole row.
 */
export function nodeColumns(
  info: GraphQLResolveInfo,
  columnsOf: Readonly<Record<string, readonly string[]>>,
): readonly string[] | undefined {
  const [first] = info.fieldNodes
  if (!first || info.fieldNodes.length > 1) return undefined
  const remembered = known.get(first)
  if (remembered !== undefined) return remembered ?? undefined
  const names = new Set<string>()
  collect(first.selectionSet, info, ['nodes', 'edges'], names)
  const columns = [...names].map((name) => columnsOf[name])
  const found = columns.every((one) => one !== undefined) ? [...new Set(columns.flat())] : null
  known.set(first, found)
  return found ?? undefined
}

/**
 * The columns behind the selected fields of a single object.
 * @param columnsOf the columns that each field reads; a field that is not listed needs only the id.
 */
export function ownColumns(
  info: GraphQLResolveInfo,
  columnsOf: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const [first] = info.fieldNodes
  const remembered = first && known.get(first)
  if (remembered && info.fieldNodes.length === 1) return remembered
  const names = new Set<string>()
  for (const { selectionSet } of info.fieldNodes) collect(selectionSet, info, [], names)
  const found = [...names].flatMap((name) => columnsOf[name] ?? [])
  if (first && info.fieldNodes.length === 1) known.set(first, found)
  return found
}

/**
 * Adds the names of the nodes' selected fields. `at` names the fields that lead to the nodes; it is empty at the nodes.
 */
function collect(
  set: SelectionSetNode | undefined,
  info: GraphQLResolveInfo,
  at: readonly string[],
  names: Set<string>,
): void {
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FRAGMENT_SPREAD)
      collect(info.fragments[selection.name.value]?.selectionSet, info, at, names)
    else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet, info, at, names)
    else if (at.length === 0) names.add(selection.name.value)
    else if (at.includes(selection.name.value))
      collect(selection.selectionSet, info, selection.name.value === 'edges' ? ['node'] : [], names)
  }
}

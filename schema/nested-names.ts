/** Names inside the fields of an input object: for sentences that say where a field belongs that was given beside them. */
import {
  getNullableType,
  isInputObjectType,
  isListType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql'

const depthMax = 3 // names of a path
const pathsMax = 500

/** The fields of an input object, as its caller names them. */
export type Level = Iterable<readonly [name: string, type: GraphQLInputType]>

/**
 * The paths of the fields inside those of a level, nearest first: `config.networking`, `gitRepos[].url`.
 * @param levelOf the fields of an input object.
 */
export function pathsInside(level: Level, levelOf: (type: GraphQLInputObjectType) => Level): string[] {
  const found = new Set<string>()
  let outer = [...level].map(([name, type]) => ({ path: name, type }))
  for (let depth = 2; depth <= depthMax; depth++) {
    const inner: typeof outer = []
    for (const { path, type } of outer) {
      const { object, isList } = innermost(type)
      if (!object) continue
      for (const [name, fieldType] of levelOf(object))
        if (inner.length < pathsMax) inner.push({ path: `${path}${isList ? '[]' : ''}.${name}`, type: fieldType })
    }
    for (const { path } of inner) found.add(path)
    outer = inner
  }
  return [...found]
}

/** The paths inside the fields of an input object, in GraphQL's names. */
export function pathsInsideInput(type: GraphQLInputObjectType): string[] {
  return pathsInside(fieldsOf(type), fieldsOf)
}

/** The fields of an input object, in GraphQL's names. */
export function fieldsOf(type: GraphQLInputObjectType): Level {
  return Object.values(type.getFields()).map(({ name, type: fieldType }) => [name, fieldType] as const)
}

function innermost(type: GraphQLInputType): { object: GraphQLInputObjectType | undefined; isList: boolean } {
  let inner = getNullableType(type)
  let isList = false
  while (isListType(inner)) {
    isList = true
    inner = getNullableType(inner.ofType as GraphQLInputType) // a list of an input type
  }
  return { object: isInputObjectType(inner) ? inner : undefined, isList }
}

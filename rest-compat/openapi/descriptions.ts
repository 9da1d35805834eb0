/** Descriptions of the schema, as the documents of REST quote them: what stands in backticks is spelled as REST spells it. */
import { getNamedType, isEnumType, type GraphQLType } from 'graphql'
import { snakeCase } from '#src/platform/texts.ts'

/** A field beside the described one, or that one itself. */
type Field = { name: string; type: GraphQLType }

/**
 * The same sentence for REST: a field of the same object has its key there, a word of one of their enums is the stored
 * one, and any other name is in snake case.
 * @param keyOf the key of a field of the object.
 */
export function wireDescription(
  description: string | null | undefined,
  fields: readonly Field[] = [],
  keyOf: (name: string) => string = snakeCase,
): string | null | undefined {
  return description?.replace(/`(\w+)`/g, (quoted, name: string) => {
    if (fields.some((field) => field.name === name)) return `\`${keyOf(name)}\``
    for (const { type } of fields) {
      const named = getNamedType(type)
      const word = isEnumType(named) ? named.getValue(name) : undefined
      if (word) return `\`${String(word.value)}\``
    }
    return /^[a-z]+[A-Z]/.test(name) ? `\`${snakeCase(name)}\`` : quoted
  })
}

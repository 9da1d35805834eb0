/** Documents for any root field: the whole of what it answers, to a depth. */
import { getNamedType, isObjectType, isUnionType, type GraphQLNamedType } from 'graphql'
import { schema } from '#schema/schema.ts'

const deepest = 4

/** `query vm` and its arguments as a document that selects every field, four levels deep. */
export function documentOf(rootField: string, args?: string): string {
  const [operation = '', name = ''] = rootField.split(' ')
  const root =
    operation === 'query'
      ? schema.getQueryType()
      : operation === 'mutation'
        ? schema.getMutationType()
        : schema.getSubscriptionType()
  const field = root?.getFields()[name]
  if (!field) throw new Error(`there is no ${rootField}`)
  return `${operation} { ${name}${args ? `(${args})` : ''}${selectionOf(getNamedType(field.type), 1)} }`
}

/** `query vm` and so on for every root field of the schema. */
export function rootFields(): string[] {
  const of = (operation: string, fields: object): string[] => Object.keys(fields).map((name) => `${operation} ${name}`)
  return [
    ...of('query', schema.getQueryType()?.getFields() ?? {}),
    ...of('mutation', schema.getMutationType()?.getFields() ?? {}),
    ...of('subscription', schema.getSubscriptionType()?.getFields() ?? {}),
  ]
}

function selectionOf(type: GraphQLNamedType, depth: number): string {
  if (isUnionType(type))
    return ` { __typename ${type
      .getTypes()
      .map((one) => `... on ${one.name}${selectionOf(one, depth)}`)
      .join(' ')} }`
  if (!isObjectType(type)) return ''
  const fields = Object.values(type.getFields()).filter(
    (field) => depth < deepest || !isObjectType(getNamedType(field.type)),
  )
  return ` { ${fields.map((field) => field.name + selectionOf(getNamedType(field.type), depth + 1)).join(' ')} }`
}

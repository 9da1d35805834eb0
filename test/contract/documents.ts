/** Documents for any root field: the whole of what it answers, to a depth. */
import {
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
  type GraphQLField,
  type GraphQLNamedType,
} from 'graphql'
import { schema } from '#schema/schema.ts'

const deepest = 4

/**
 * `query vm` and its arguments as a document that selects every field, four levels deep, but not what lies beside the
 * first node: that is another noun’s. The arguments of a mutation are the fields of its input.
 */
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
  const given = field.args.some((argument) => argument.name === 'input') ? `input: {${args ?? ''}}` : args
  return `${operation} { ${name}${given ? `(${given})` : ''}${selectionOf(getNamedType(field.type), 1)} }`
}

/** `query vm` and so on for every root field of the schema, but for old names: these run what their successors run. */
export function rootFields(): string[] {
  const of = (operation: string, fields: Record<string, GraphQLField<unknown, unknown>>): string[] =>
    Object.values(fields)
      .filter(({ deprecationReason }) => !deprecationReason)
      .map(({ name }) => `${operation} ${name}`)
  return [
    ...of('query', schema.getQueryType()?.getFields() ?? {}),
    ...of('mutation', schema.getMutationType()?.getFields() ?? {}),
    ...of('subscription', schema.getSubscriptionType()?.getFields() ?? {}),
  ]
}

/** @param inLongList nodes by their ids alone: there may be thousands, and what is read of each counts. */
function selectionOf(type: GraphQLNamedType, depth: number, insideNode = false, inLongList = false): string {
  if (inLongList && isNode(type)) return ' { id }'
  if (isInterfaceType(type) && type.name === 'Node') return ' { __typename id }'
  if (isUnionType(type))
    return ` { __typename ${schema
      .getPossibleTypes(type)
      .map((one) => `... on ${one.name}${insideNode && isNode(one) ? ' { id }' : selectionOf(one, depth, insideNode)}`)
      .join(' ')} }`
  if (!isObjectType(type) && !isInterfaceType(type)) return '' // of an interface what all its types have
  const isInside = insideNode || isNode(type)
  const isWhole = type.name !== 'Organization' // what it has beside its name is other nouns’
  const fields = Object.values(type.getFields()).filter(
    (field) => isSelected(field, depth, isInside) && (isWhole || !isCompositeType(getNamedType(field.type))),
  )
  if (fields.length === 0) return ' { __typename }'
  const parts = fields.map(({ name, type: inside, extensions }) => {
    const isLong = inLongList || 'most' in extensions
    return name + selectionOf(getNamedType(inside), depth + 1, isInside, isLong)
  })
  return ` { ${parts.join(' ')} }`
}

function isSelected(field: GraphQLField<unknown, unknown>, depth: number, isInside: boolean): boolean {
  const type = getNamedType(field.type)
  if (field.deprecationReason) return false
  if (field.args.some(isRequiredArgument)) return false
  if (isInside && (isNode(type) || type.name.endsWith('Connection'))) return false
  return depth < deepest || !(isObjectType(type) || isInterfaceType(type) || isUnionType(type))
}

function isNode(type: GraphQLNamedType): boolean {
  return isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node')
}

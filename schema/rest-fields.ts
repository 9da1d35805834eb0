/**
 * What of the schema is there for REST alone: fields in the words, forms and units of the documented paths, of which the public
 * graph has its own. A field or an argument says so by its `extensions`; fields of the scalars below are so by their type.
 */
import {
  getNamedType,
  GraphQLSchema,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
} from 'graphql'

/** Makes a field or an argument one of REST’s: `t.string({ …, ...forRest })`. */
export const forRest = { extensions: { isForRest: true } } as const

const scalars: readonly string[] = ['RestObject', 'Reserved', 'ByteList']

function isForRest({
  type,
  extensions,
}: GraphQLField<unknown, unknown> | GraphQLArgument | GraphQLInputField): boolean {
  return extensions['isForRest'] === true || scalars.includes(getNamedType(type).name)
}

/** The same schema as it is public, without these fields, arguments and the types that only they have. */
export function withoutRestFields(made: GraphQLSchema): GraphQLSchema {
  const before = namesInUse(made)
  for (const type of Object.values(made.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue
    const fields: Record<string, GraphQLField<unknown, unknown> | GraphQLInputField> = type.getFields()
    for (const [name, field] of Object.entries(fields)) {
      if (isForRest(field)) delete fields[name]
      else if ('args' in field) field.args = field.args.filter((arg) => !isForRest(arg))
    }
  }
  const after = namesInUse(made)
  const isPublic = ({ name }: { name: string }): boolean => after.has(name) || !before.has(name)
  return new GraphQLSchema({ ...made.toConfig(), types: Object.values(made.getTypeMap()).filter(isPublic) })
}

/** The types to which the roots and the implementations of interfaces lead; nothing leads to some that are only read about. */
function namesInUse(made: GraphQLSchema): ReadonlySet<string> {
  const nodes = Object.values(made.getTypeMap()).filter((type) => isObjectType(type) && type.getInterfaces().length > 0)
  return new Set(Object.keys(new GraphQLSchema({ ...made.toConfig(), types: nodes }).getTypeMap()))
}

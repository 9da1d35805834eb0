/**
 * What of the schema is there for REST alone: fields in the words, forms and units of the documented paths, of which the public
 * graph has its own. A field or an argument says so by its `extensions`; fields of the scalars below are so by their type.
 */
import {
  getNamedType,
  GraphQLNonNull,
  GraphQLSchema,
  isInputObjectType,
  isInputType,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
} from 'graphql'

/** Makes a field or an argument one of REST’s: `t.string({ …, ...forRest })`. */
export const forRest = { extensions: { isForRest: true } } as const

/**
 * The type of an input or an argument in the public graph, by its name, and what is said of it there: where REST takes any text or
 * any JSON, because the refusal that it documents comes after that of a caller without permission.
 */
export const inPublic = (type: string, description: string) => ({ extensions: { inPublic: { type, description } } })

const scalars: readonly string[] = ['RestObject', 'Reserved', 'ByteList']

function isForRest({
  type,
  extensions,
}: GraphQLField<unknown, unknown> | GraphQLArgument | GraphQLInputField): boolean {
  return extensions['isForRest'] === true || scalars.includes(getNamedType(type).name)
}

/** The same schema as it is public: without these fields and arguments and the types that only they have, and with its own types. */
export function withoutRestFields(made: GraphQLSchema): GraphQLSchema {
  const before = namesInUse(made)
  for (const type of Object.values(made.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue
    const fields: Record<string, GraphQLField<unknown, unknown> | GraphQLInputField> = type.getFields()
    for (const [name, field] of Object.entries(fields)) {
      if (isForRest(field)) delete fields[name]
      else if (!('args' in field)) fields[name] = asPublic(made, field)
      else field.args = field.args.filter((arg) => !isForRest(arg)).map((arg) => asPublic(made, arg))
    }
  }
  const after = namesInUse(made)
  const isPublic = ({ name }: { name: string }): boolean => after.has(name) || !before.has(name)
  return new GraphQLSchema({ ...made.toConfig(), types: Object.values(made.getTypeMap()).filter(isPublic) })
}

function asPublic<Given extends GraphQLArgument | GraphQLInputField>(made: GraphQLSchema, given: Given): Given {
  const own = given.extensions['inPublic'] as ReturnType<typeof inPublic>['extensions']['inPublic'] | undefined // only that sets it
  if (!own) return given
  const type = made.getType(own.type)
  if (!isInputType(type)) throw new Error(`${own.type} is no input type`)
  return { ...given, description: own.description, type: isNonNullType(given.type) ? new GraphQLNonNull(type) : type }
}

/** The types to which the roots and the implementations of interfaces lead; nothing leads to some that are only read about. */
function namesInUse(made: GraphQLSchema): ReadonlySet<string> {
  const nodes = Object.values(made.getTypeMap()).filter((type) => isObjectType(type) && type.getInterfaces().length > 0)
  return new Set(Object.keys(new GraphQLSchema({ ...made.toConfig(), types: nodes }).getTypeMap()))
}

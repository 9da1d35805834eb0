/**
 * What a finding of validation says was probably meant. graphql's own rules know slips of the pen; here are also other
 * spellings, usual synonyms, and fields that are further inside or of another kind of operation.
 */
import {
  getNamedType,
  GraphQLError,
  isAbstractType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type ASTNode,
  type DocumentNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLUnionType,
} from 'graphql'
import { fieldsOf, pathsInside, pathsInsideInput } from '#schema/nested-names.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'

/** How graphql's own suggestion begins, which ends its sentences. */
const ownSuggestion = / Did you mean [^]*$/

/** The findings, each with the name that was probably meant where there is one. */
export function withHints(
  schema: GraphQLSchema,
  document: DocumentNode,
  findings: readonly GraphQLError[],
): readonly GraphQLError[] {
  const nodes = new Set(findings.flatMap(({ nodes: [node] = [] }) => node ?? []))
  if (nodes.size === 0) return findings
  const hints = new Map<ASTNode, string>()
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      enter(node) {
        const hint = nodes.has(node) ? hintFor(node, types, schema) : undefined
        if (hint !== undefined) hints.set(node, hint)
      },
    }),
  )
  return findings.map((finding) => {
    const [node] = finding.nodes ?? []
    const hint = node && hints.get(node)
    if (hint === undefined) return finding
    return new GraphQLError(`${finding.message.replace(ownSuggestion, '')} ${hint}`, {
      nodes: finding.nodes,
      extensions: finding.extensions,
    })
  })
}

/** What to say of an unknown field, argument or key of an input; undefined for every other node. */
function hintFor(node: ASTNode, types: TypeInfo, schema: GraphQLSchema): string | undefined {
  if (node.kind === Kind.FIELD && !types.getFieldDef()) return fieldHint(node.name.value, types.getParentType(), schema)
  if (node.kind === Kind.ARGUMENT && !types.getArgument()) {
    const args = types.getDirective()?.args ?? types.getFieldDef()?.args ?? []
    const level = args.map(({ name, type }) => [name, type] as const)
    return question(
      nearestKey(
        node.name.value,
        args.map(({ name }) => name),
        pathsInside(level, fieldsOf),
      ),
    )
  }
  if (node.kind === Kind.OBJECT_FIELD && !types.getInputType()) {
    const parent = getNamedType(types.getParentInputType())
    if (!isInputObjectType(parent)) return undefined
    return question(nearestKey(node.name.value, Object.keys(parent.getFields()), pathsInsideInput(parent)))
  }
  return undefined
}

function question(near: string | undefined): string | undefined {
  return near && `Did you mean "${near}"?`
}

function fieldHint(
  name: string,
  parent: GraphQLNamedType | null | undefined,
  schema: GraphQLSchema,
): string | undefined {
  if (isUnionType(parent)) return memberHint(name, parent, schema)
  if (!isObjectType(parent) && !isInterfaceType(parent)) return undefined
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const isRoot = roots.includes(parent as never) // an interface is none of them
  const other = isRoot ? roots.find((root) => root?.getFields()[name]) : undefined
  if (other) return `${other.name} has it: begin the operation with "${other.name.toLowerCase()}".`
  const fields = Object.values(parent.getFields())
  const inside = isRoot
    ? []
    : fields.flatMap((field) => {
        const type = getNamedType(field.type)
        return isObjectType(type) ? Object.keys(type.getFields()).map((one) => `${field.name}.${one}`) : []
      })
  const near = nearestKey(
    name,
    fields.map((field) => field.name),
    inside,
  )
  if (near === undefined && isAbstractType(parent)) return undefined // graphql says which type has it
  if (near === undefined && parent === schema.getSubscriptionType())
    return question(fields.find((field) => field.name === name.replace(changeEnding, 'Events'))?.name)
  const [, inner] = near?.split('.') ?? []
  if (inner === undefined) return question(near)
  const paths = inside.filter((path) => path.endsWith(`.${inner}`)).slice(0, pathsShown)
  return `Did you mean ${choice.format(paths.map((path) => `"${path.replace('.', ' { ')} }"`))}?`
}

/** How others name a subscription that is `…Events` here. */
const changeEnding = /(?:Status|State)?(?:Change[ds]?|Update[ds]?|Event)?$/
const pathsShown = 5
const choice = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** What was meant of a union, of which only its members have fields. graphql says it itself of a field that a member has. */
function memberHint(name: string, union: GraphQLUnionType, schema: GraphQLSchema): string | undefined {
  const members = schema.getPossibleTypes(union)
  if (members.some((member) => member.getFields()[name])) return undefined
  for (const member of members) {
    const hint = fieldHint(name, member, schema)
    if (hint) return hint.replaceAll(/"([^"]+)"/g, `"... on ${member.name} { $1 }"`)
  }
  return undefined
}

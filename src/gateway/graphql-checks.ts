/** Validation of documents and variables in bounded time, by graphql's own rules. */
import {
  BREAK,
  GraphQLError,
  Kind,
  print,
  validate,
  visit,
  type ASTNode,
  type DocumentNode,
  type ExecutionArgs,
  type FloatValueNode,
  type IntValueNode,
  type OperationDefinitionNode,
} from 'graphql'
import { Parser } from 'graphql/language/parser.js'
import { findWrongVariable, type WrongVariable } from '#schema/variables.ts'
import { withHints } from './graphql-checks/hints.ts'
import { BerthError } from '#src/platform/errors.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import { checkText } from '#src/platform/json/body.ts'
import { prototypeKey, tooDeep } from '#src/platform/json/refusals.ts'
import { limits } from '#src/platform/limits.ts'

/**
 * Errors reported for one document. For each one graphql counts the document's lines, so a long document with many
 * errors is expensive.
 */
const findingsMax = 10
/** Variables that are looked at for the one that was meant: a caller may send any number. */
const variablesCompared = 100

/**
 * Parses a document within its limits.
 * @throws BerthError invalid_request for one that is too long, GraphQLError for one that is not GraphQL.
 */
export function parseDocument(source: string): DocumentNode {
  refuseManyLines(source)
  const parser = new Parser(source, { maxLexicalTokens: limits.graphqlTokens })
  try {
    const document = parser.parseDocument()
    checkLiterals(document)
    return document
  } catch (error) {
    if (parser.tokenCount > limits.graphqlTokens)
      throw new BerthError(
        'invalid_request',
        `The document has more than ${limits.graphqlTokens} tokens. Send a shorter one.`,
      )
    throw error
  }
}

/**
 * Holds the values inside a document to what those beside it are held to, because escapes and braces are not JSON's there.
 * @throws BerthError invalid_request for what cannot be stored, or is an attack.
 */
function checkLiterals(document: DocumentNode): void {
  let depth = 0
  const enter = (): void => {
    if (++depth > limits.jsonDepth) throw tooDeep()
  }
  const leave = (): void => {
    depth--
  }
  const checkNumber = ({ value }: IntValueNode | FloatValueNode): void => {
    if (!Number.isFinite(Number(value)))
      throw new BerthError('invalid_request', 'A number in the document is too large. Send a smaller one.')
  }
  visit(document, {
    ObjectValue: { enter, leave },
    ListValue: { enter, leave },
    ObjectField: ({ name }) => {
      if (name.value === '__proto__') throw prototypeKey()
    },
    StringValue: ({ value }) => checkText(value),
    IntValue: checkNumber,
    FloatValue: checkNumber,
  })
}

function refuseManyLines(source: string): void {
  for (const end of ['\n', '\r']) {
    let at = -1
    for (let lines = 0; lines <= limits.graphqlLines; lines++) {
      at = source.indexOf(end, at + 1)
      if (at < 0) break
    }
    if (at >= 0)
      throw new BerthError(
        'invalid_request',
        `The document has more than ${limits.graphqlLines} lines. Send long texts as variables.`,
      )
  }
}

/** graphql's validation, reporting few errors. Names in the schema are suggested only to callers who may read it. */
export function validateBriefly(maySuggest: boolean): typeof validate {
  return (schema, document, rules) => {
    const findings = validate(schema, document, rules, { maxErrors: findingsMax, hideSuggestions: !maySuggest })
    return (maySuggest ? withHints(schema, document, findings) : findings).map((finding) => placed(finding, document))
  }
}

/** A whole sentence of what one of our scalars says of a literal, which begins with `must` because it does not know its place. */
function placed(finding: GraphQLError, document: DocumentNode): GraphQLError {
  const [node] = finding.nodes ?? []
  if (!node || !finding.message.startsWith('must ')) return finding
  const place = placeOf(node, document)
  return new GraphQLError(`${place} ${finding.message}.`, { nodes: node, extensions: { field: place } })
}

/** Where a literal stands, from its argument or its variable: `input.metadata`. */
function placeOf(literal: ASTNode, document: DocumentNode): string {
  const steps: string[] = []
  visit(document, {
    enter(node, _key, parent, _path, ancestors) {
      if (node !== literal) return
      for (const one of [...ancestors, parent]) {
        if (!one || !('kind' in one)) continue
        if (one.kind === Kind.ARGUMENT || one.kind === Kind.OBJECT_FIELD) steps.push(one.name.value)
        if (one.kind === Kind.VARIABLE_DEFINITION) steps.push(`$${one.variable.name.value}`)
      }
      return BREAK
    },
  })
  return steps.join('.')
}

/**
 * The error in an operation's variables, without quoting a value, which may be a secret; undefined when all are valid.
 */
export function wrongVariable({
  schema,
  document,
  operationName,
  variableValues,
}: ExecutionArgs): GraphQLError | undefined {
  const operation = document.definitions.find(
    (one) => one.kind === 'OperationDefinition' && (!operationName || one.name?.value === operationName),
  )
  if (operation?.kind !== 'OperationDefinition') return undefined // graphql says what is wrong
  const wrong = findWrongVariable(schema, operation.variableDefinitions ?? [], variableValues ?? {})
  if (!wrong) return undefined
  const { definition, name, at, near } = wrong
  const meant = near === undefined ? '' : ` Did you mean "${near}"?`
  const given =
    at === name && wrong.fault === 'absent' ? givenInstead(operation, name, variableValues ?? {}) : undefined
  const instead = given === undefined ? '' : `; "${given}" was. Did you mean "${name}"?`
  return new GraphQLError(`${faultOf(wrong)}${instead === '' ? `.${meant}` : instead}`, {
    nodes: definition,
    extensions: { field: at },
  })
}

/** The variable that was probably given for the one that is missing: one that the operation does not have. */
function givenInstead(
  { variableDefinitions = [] }: OperationDefinitionNode,
  name: string,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  const declared = new Set(variableDefinitions.map(({ variable }) => variable.name.value))
  let looked = 0
  for (const key in given) {
    if (++looked > variablesCompared) return undefined
    if (!declared.has(key) && nearestKey(key, [name]) !== undefined) return key
  }
  return undefined
}

function faultOf({ definition, name, at, fault, type }: WrongVariable): string {
  const whole = `Variable "$${name}" must be ${print(definition.type)}`
  if (at === name) return fault === 'absent' ? `${whole}, and was not provided` : whole
  if (fault === 'unknown') return `${whole}, which has no "${at.slice(name.length + 1)}"`
  return `${whole}: "${at}" ${fault === 'absent' ? `of the type ${String(type)} was not provided` : `must be ${String(type)}`}`
}

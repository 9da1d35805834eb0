/**
 * Public GraphQL's names in errors about the input of a mutation. Resource functions say REST's (`vcpu_count`), because REST's
 * documents run the same resolvers.
 */
import {
  getNullableType,
  isInputObjectType,
  isListType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
} from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { memberWord, tagOf } from './wire-names.ts'

/** The statuses of errors that blame the input. */
const inputStatuses: ReadonlySet<number> = new Set([400, 413])

/** A place in an input, such as `network_policy.allowed_hosts[0]`. */
const placeAtStart = /^[a-z]\w*(?:\[\d+\]|\.\w+)*/
/** A name that is no word of plain English, perhaps at the end of a sentence. */
const snakeName = /^([a-z][a-z0-9]*_[a-z0-9_]*)(\.?)$/

/** Makes every mutation name the fields of its input as its callers do. */
export function withInputNames(made: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(made.getMutationType()?.getFields() ?? {})) {
    const { resolve } = field
    const input = field.args.find(({ name }) => name === 'input')
    if (!resolve || !input) continue
    field.resolve = async (source, given: Record<string, unknown>, call, info) => {
      try {
        return (await resolve(source, given, call, info)) as unknown
      } catch (error) {
        throw error instanceof BerthError ? inGraphql(error, input.type, given['input']) : error
      }
    }
  }
  return made
}

/** The same error in GraphQL's names, with `field` when exactly one field is at fault. */
function inGraphql(error: BerthError, type: GraphQLInputType, input: unknown): BerthError {
  if (!inputStatuses.has(error.status)) return error
  const { blamed, between, rest } = leadingPlaces(error.message)
  const read = (at: string): Found | undefined => findPlace(at, type, input)
  const known = blamed.map(read)
  const owners = [objectType(type), ...known.map((found) => found?.owner)]
  const start = blamed.map((at, index) => (known[index]?.place ?? at) + (between[index] ?? '')).join('')
  const named = error.details['field']
  const field =
    typeof named === 'string' ? (read(named)?.place ?? named) : known.length === 1 ? known[0]?.place : undefined
  return new BerthError(error.code, start + inNames(rest, owners), {
    ...error.details,
    ...(field === undefined ? {} : { field }),
  })
}

/** The places that a sentence begins with, what stands between them, and what follows: `git_ref and commit_sha` need a `repo_url`. */
function leadingPlaces(message: string): { blamed: string[]; between: string[]; rest: string } {
  const parts = message.split(/(, | and | or )/)
  const blamed: string[] = []
  const between: string[] = []
  for (let at = 0; at < parts.length; at += 2) {
    const part = parts[at] ?? ''
    const found = placeAtStart.exec(part)?.[0]
    if (found === undefined) return { blamed, between, rest: parts.slice(at).join('') }
    blamed.push(found)
    const isWhole = found.length === part.length && placeAtStart.test(parts[at + 2] ?? '')
    if (!isWhole) return { blamed, between, rest: part.slice(found.length) + parts.slice(at + 1).join('') }
    between.push(parts[at + 1] ?? '')
  }
  return { blamed, between, rest: '' }
}

/** The rest of a sentence with GraphQL's names. What stands between quotes is the caller's text. */
function inNames(rest: string, owners: readonly (GraphQLInputObjectType | undefined)[]): string {
  return rest
    .split(/([\w.$"']+)/)
    .map((word) => {
      const [, name, end = ''] = snakeName.exec(word) ?? []
      return name === undefined ? word : renamed(name, owners) + end
    })
    .join('')
}

/** A place in GraphQL's names, and the innermost input object that it leads to. */
type Found = { place: string; owner: GraphQLInputObjectType | undefined }

/**
 * Finds REST's place in an input; undefined when its first step is no field. What is given decides between two fields of one
 * name, and which member of a `@oneOf` input is meant, which REST's place does not have.
 */
function findPlace(at: string, whole: GraphQLInputType, input: unknown): Found | undefined {
  const steps: string[] = []
  let type: GraphQLInputType | undefined = whole
  let given = input
  for (const step of at.split('.')) {
    const [, name = step, index = ''] = /^([^[]*)(.*)$/s.exec(step) ?? []
    const owner: GraphQLInputObjectType | undefined = type && objectType(type)
    const member: GraphQLInputField | undefined =
      owner && tagOf(owner) !== undefined ? memberOf(owner, given) : undefined
    if (member) {
      steps.push(member.name)
      given = valueAt(given, member.name)
    }
    const inner: GraphQLInputObjectType | undefined = member ? objectType(member.type) : owner
    const field: GraphQLInputField | undefined = inner && fieldOf(inner, name, given)
    if (!field && steps.length === 0) return undefined
    steps.push((field?.name ?? name) + index)
    type = field?.type
    given = field && valueAt(given, field.name)
    for (const [, position] of index.matchAll(/\[(\d+)\]/g)) given = valueAt(given, position ?? '')
  }
  return { place: steps.join('.'), owner: type && objectType(type) }
}

function memberOf(type: GraphQLInputObjectType, given: unknown): GraphQLInputField | undefined {
  return Object.values(type.getFields()).find(({ name }) => isGiven(given, name))
}

function fieldOf(type: GraphQLInputObjectType, word: string, given: unknown): GraphQLInputField | undefined {
  const same = Object.values(type.getFields()).filter(({ name }) => memberWord(type, name) === word || name === word)
  return same.find(({ name }) => isGiven(given, name)) ?? same[0]
}

/** Whether an input has a value for a field: null is none. */
export function isGiven(given: unknown, name: string): boolean {
  const value = valueAt(given, name)
  return value !== undefined && value !== null
}

function valueAt(given: unknown, key: string): unknown {
  return typeof given === 'object' && given !== null && Object.hasOwn(given, key)
    ? (given as Record<string, unknown>)[key]
    : undefined
}

function renamed(word: string, owners: readonly (GraphQLInputObjectType | undefined)[]): string {
  for (const owner of owners) {
    const field = owner && tagOf(owner) === undefined ? fieldOf(owner, word, undefined) : undefined
    if (field) return field.name
  }
  return word
}

/** The input object that a type is, or is a list of. */
export function objectType(type: GraphQLInputType): GraphQLInputObjectType | undefined {
  let inner = getNullableType(type)
  while (isListType(inner)) inner = getNullableType(inner.ofType as GraphQLInputType) // a list of an input type
  return isInputObjectType(inner) ? inner : undefined
}

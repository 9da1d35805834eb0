/** Which parts of a request fill a mutation's input: the body's keys or the whole body, the path, and the query. */
import type { GraphQLInputObjectType, GraphQLInputType } from 'graphql'
import { memberWord, typeInWords, wireFields } from '#schema/wire-names.ts'
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { Route } from './routes.ts'

/**
 * The path parameters that fill fields of the input, each with its field: of the same name unless the route says
 * otherwise.
 */
export function filledByPath(
  inPath: readonly string[],
  { into }: Route,
  variables: ReadonlySet<string>,
): { parameter: string; field: string }[] {
  const free = inPath.filter((parameter) => !variables.has(parameter))
  const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return free.map((parameter) => ({ parameter, field: into?.[parameter] ?? camelCase(parameter) }))
}

/** The query parameters that fill fields of the input, each with its field. */
export function filledByQuery(
  { query = [] }: Route,
  type: GraphQLInputObjectType,
  variables: ReadonlySet<string>,
): { parameter: string; field: string }[] {
  const free = query.filter((parameter) => !variables.has(parameter))
  return free.map((parameter) => {
    const field = wireFields(type).find(({ name }) => memberWord(type, name) === parameter)
    if (!field) throw new Error(`${type.name} has no field for the parameter ${parameter}`)
    return { parameter, field: field.name }
  })
}

const organizationKeys: ReadonlySet<string> = new Set(['org_id', 'organization_id'])

/**
 * The 400 for a value that is not there. Of an organization it says the id of the caller's: no other is meant, and who has made
 * nothing yet sees it nowhere else in REST.
 * @param shown how the sentence begins, such as the key itself.
 */
export function leftOut(key: string, shown: string, type: GraphQLInputType, caller: Caller | undefined): BerthError {
  const isKnown = organizationKeys.has(key) && (caller?.kind === 'person' || caller?.kind === 'key')
  const own = isKnown && caller.organizationId !== null ? encodeId('organization', caller.organizationId) : undefined
  return new BerthError(
    'invalid_request',
    `${shown} is required: it must be ${typeInWords(type)}.${own === undefined ? '' : ` The organization of your token is ${own}.`}`,
    { field: key },
  )
}

/** A body that is one JSON value. @throws BerthError invalid_request when there is none. */
export function wholeBody(body: unknown): unknown {
  if (body !== undefined && body !== null) return body
  throw new BerthError('invalid_request', 'body is required: it must be a JSON value.')
}

/**
 * A body that is an object of these keys, or nothing.
 * @param nested paths of what is inside them.
 * @param hasPathId the path says which object is meant, so that an `id` in the body means no other.
 * @throws BerthError invalid_request.
 */
export function bodyOf(
  body: unknown,
  taken: ReadonlySet<string>,
  nested: readonly string[],
  hasPathId: boolean,
): object {
  if (body === undefined || (body === null && taken.size === 0)) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError(
      'invalid_request',
      taken.size > 0 ? 'The body must be a JSON object.' : 'This request takes no body. Send none.',
    )
  const unknown = findUnknownKey(body, taken)
  const meant = unknown === 'id' && hasPathId ? [] : taken
  if (unknown !== undefined)
    throw new BerthError('invalid_request', unknownKeySentence('field', unknown, meant, '', nested))
  return body
}

/** The keys that REST accepts for an input object. */
export function wireKeys(type: GraphQLInputObjectType): string[] {
  return wireFields(type).map(({ name }) => memberWord(type, name))
}

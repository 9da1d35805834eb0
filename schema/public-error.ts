/** What a GraphQL client sees of an error; REST shows the same in its own envelope. */
import { GraphQLError } from 'graphql'
import { isDatabaseAway, databaseAway } from '#src/platform/postgres.ts'
import { BerthError, publicError, retryAfterOf } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { camelCase } from '#src/platform/texts.ts'

/**
 * The BerthError in a thrown value, however deeply graphql wrapped it. Anything else becomes internal_error and is
 * logged in full.
 */
export function shownError(thrown: unknown, requestId: string): BerthError {
  const cause = innermost(thrown)
  if (cause instanceof BerthError) return cause
  if (isDatabaseAway(cause)) {
    log.warn(
      { requestId, reason: cause instanceof Error ? cause.message : '' },
      'a request met an unreachable database',
    )
    return databaseAway()
  }
  log.error({ requestId, err: cause }, 'a request failed')
  return publicError(cause)
}

/** The error as a GraphQLError with `extensions` `code`, `http.status`, `requestId`, and `field` where one place is to blame. */
export function graphqlError(thrown: unknown, requestId: string): GraphQLError {
  if (isFinding(thrown)) {
    return new GraphQLError(shorten(argumentSentence(thrown) ?? thrown.message), {
      nodes: thrown.nodes,
      source: thrown.source,
      positions: thrown.positions,
      path: thrown.path,
      extensions: { code: 'INVALID_REQUEST', ...thrown.extensions, requestId },
    })
  }
  const shown = shownError(thrown, requestId)
  const { retryAfterSeconds: _given, allowance: _allowance, field, ...details } = shown.details
  const retryAfterSeconds = retryAfterOf(shown)
  const at =
    thrown instanceof GraphQLError
      ? { nodes: thrown.nodes, source: thrown.source, positions: thrown.positions, path: thrown.path }
      : {}
  return new GraphQLError(shown.message, {
    ...at,
    extensions: {
      code: shown.code.toUpperCase(),
      http: { status: shown.status },
      requestId,
      ...details,
      ...(typeof field === 'string' ? { field: camelCase(field) } : {}),
      ...(retryAfterSeconds ? { retryAfterSeconds } : {}),
    },
  })
}

/**
 * Whether this is graphql's own error about the document or its variables, which the caller may see. What a resolver
 * threw has another kind of error inside; a resolver's value that graphql could not serialize has a path, as has an
 * argument whose variable turned out to have no value.
 */
export function isFinding(thrown: unknown): thrown is GraphQLError {
  return (
    thrown instanceof GraphQLError &&
    (thrown.path === undefined || argumentSentence(thrown) !== undefined) &&
    innermost(thrown) instanceof GraphQLError &&
    !thrown.extensions['unexpected']
  )
}

// All that graphql says of arguments while it runs. Validation lets a variable that may be null stand where no null may, when it has a default.
const ofArgument = /^Argument "(\w+)" (?:of |has invalid value )/

/** What is said of an argument that graphql could not read while it ran; undefined for every other error. */
function argumentSentence(thrown: GraphQLError): string | undefined {
  const cause = innermost(thrown)
  const [, name] = (thrown.path !== undefined && cause instanceof GraphQLError && ofArgument.exec(cause.message)) || []
  return name && `Argument "${name}" has a variable that is null or absent where a value is required. Send one.`
}

const shownLength = 200 // characters: graphql quotes the offending text, which may be a megabyte

function shorten(message: string): string {
  return message.length > shownLength ? `${message.slice(0, shownLength)}… (cut)` : message
}

function innermost(thrown: unknown): unknown {
  let at = thrown
  const deepest = 10
  for (let depth = 0; depth < deepest && at instanceof GraphQLError && at.originalError; depth++) at = at.originalError
  return at
}

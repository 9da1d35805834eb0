/** Serializing results: their text, their errors as callers see them, and the resulting HTTP status. */
import { GraphQLError, type ExecutionResult } from 'graphql'
import { BerthError } from '#src/platform/errors.ts'
import { boundedText } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import type { GraphqlCall } from './graphql-operations.ts'
import { showError, showResult, type ShownError } from './graphql-errors.ts'

/** A result as it is sent without yoga. `isDone`: something of what was asked for was done, so that the same again would do it twice. */
export type PlainAnswer = { status: number; text: string | Buffer; isDone: boolean }

/** A serialized result. `shown`: its errors. `ran`: whether the operation was executed at all. */
type Written = { text: string | Buffer; shown: readonly ShownError[]; ran: boolean }

const answeredStatus = 200

/**
 * The text of a result, including its errors. A value selected under many aliases exists once in memory and many times
 * in the text, so an answer that would be too large becomes an error.
 */
async function textOf({ errors, ...rest }: ExecutionResult, requestId: string): Promise<string | Buffer> {
  // The same as graphql's toJSON. Only like this can a large answer with errors be serialized in steps.
  const result = errors ? { errors: errors.map((one) => one.toJSON()), ...rest } : rest
  const text = boundedText(result, limits.graphqlAnswerLength)
  if (text !== null) return text
  const tooLarge = new BerthError(
    'invalid_request',
    `The answer would have more than ${limits.graphqlAnswerLength / 1024 / 1024} MiB. Ask for smaller pages, or for fewer fields. If the operation was a mutation, it was executed all the same.`,
  )
  return JSON.stringify({ errors: [showError(tooLarge, requestId).error], data: null })
}

/** Serializes a result; headers from its errors are set on the call. */
async function write(result: ExecutionResult, { requestId, answer }: GraphqlCall): Promise<Written> {
  if (!result.errors?.length) return { text: await textOf(result, requestId), shown: [], ran: true }
  const shown = result.errors.map((error) => showError(error, requestId))
  for (const { headers } of shown) answer.headers = { ...answer.headers, ...headers }
  // A subscription whose source failed has no data, but its error has a path.
  const ran = 'data' in result || result.errors.some((error) => error.path !== undefined)
  return { text: await textOf({ ...result, errors: shown.map((one) => one.error) }, requestId), shown, ran }
}

/**
 * A result as it is sent without yoga. An operation that was refused before it ran has the highest status of its
 * errors, as in yoga.
 * @param isPlain whether the answer is application/json, for which the specification requires 200 even for an invalid
 * document.
 */
export async function plainAnswer(result: ExecutionResult, call: GraphqlCall, isPlain: boolean): Promise<PlainAnswer> {
  const { text, shown, ran } = await write(result, call)
  const statuses = shown.filter((one) => !(isPlain && one.bySpecification)).map((one) => one.status)
  const isDone = Object.values(result.data ?? {}).some((field) => field !== null)
  return { status: ran || statuses.length === 0 ? answeredStatus : Math.max(...statuses), text, isDone }
}

/** A result as yoga sends it: yoga takes the status from the errors, and would remove it from what is shown. */
export async function yogaAnswer(result: ExecutionResult, call: GraphqlCall): Promise<ExecutionResult> {
  const { text, shown, ran } = await write(result, call)
  const errors = shown.map(
    ({ error, status, bySpecification }) =>
      new GraphQLError(error.message, { extensions: ran ? {} : { http: { status, spec: bySpecification } } }),
  )
  const body = String(text)
  return { ...result, ...(errors.length > 0 ? { errors } : {}), stringify: () => body } as ExecutionResult // yoga's own extension of a result
}

/** The text of one of several results: of a subscription, or on a web socket. */
export function eventText(result: ExecutionResult, requestId: string): Promise<string | Buffer> {
  return textOf(showResult(result, requestId), requestId)
}

/** The events of a subscription as yoga sends them; the last is the error that ended it, if one did. */
export async function* yogaEvents(
  results: AsyncIterable<ExecutionResult>,
  { requestId, signal }: GraphqlCall,
): AsyncGenerator<ExecutionResult> {
  const shown = async (result: ExecutionResult): Promise<ExecutionResult> => {
    const body = String(await eventText(result, requestId))
    return { ...result, stringify: () => body } as ExecutionResult // yoga's own extension of a result
  }
  try {
    for await (const result of results) yield await shown(result)
  } catch (error) {
    if (signal?.aborted) throw error // nobody reads it
    yield await shown({ errors: [error as GraphQLError] }) // whatever it is: showError reads it
  }
}

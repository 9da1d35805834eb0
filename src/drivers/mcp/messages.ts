/** Messages of a tool server (JSON-RPC), as far as they can be understood: null is as absent, and what is not known is not read. */
import { McpAnswerError, McpServerError } from './faults.ts'

/** Of one answer. */
const messagesMax = 100
/** Of what a server says of its error; characters. */
const errorLengthMax = 32 * 1024

/** What a message is. `asked`: the server asks something. `id` null: it names no request of ours. */
export type McpMessage =
  | { kind: 'answer'; id: number | null; result: unknown }
  | { kind: 'error'; id: number | null; error: McpServerError }
  | { kind: 'asked'; id: string | number; method: string }
  | { kind: 'other' }

/** The messages in a JSON value: one, or a list. @throws McpAnswerError */
export function messagesIn(value: unknown): McpMessage[] {
  if (!Array.isArray(value)) return [messageOf(value)]
  if (value.length > messagesMax)
    throw new McpAnswerError(`The server’s answer has more than ${messagesMax} messages, which is the limit.`)
  return value.map(messageOf)
}

function messageOf(value: unknown): McpMessage {
  const { id, method, result, error } = fieldsOf(value) ?? {}
  if (typeof method === 'string')
    return typeof id === 'string' || Number.isSafeInteger(id)
      ? { kind: 'asked', id: id as string | number, method } // it was just looked at
      : { kind: 'other' } // a notification
  const numeric = typeof id === 'number' || (typeof id === 'string' && id !== '') ? Number(id) : Number.NaN
  const known = Number.isSafeInteger(numeric) ? numeric : null
  const failure = fieldsOf(error)
  if (failure && (result === undefined || result === null)) return { kind: 'error', id: known, error: errorOf(failure) }
  if (result !== undefined && result !== null) return { kind: 'answer', id: known, result }
  return known === null ? { kind: 'other' } : { kind: 'answer', id: known, result: undefined }
}

function errorOf({ code, message }: Record<string, unknown>): McpServerError {
  return new McpServerError(
    Number.isSafeInteger(code) ? Number(code) : 0,
    typeof message === 'string' ? message.slice(0, errorLengthMax) : '',
  )
}

/** The fields of an object; undefined for anything else. */
export function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>) // what an object of JSON is
    : undefined
}

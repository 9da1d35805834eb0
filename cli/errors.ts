/** How a command ends when it fails. */
import type { BerthError } from '../src/client/berth.ts'

/** The exit codes. `exec`, `run` and `ssh` pass the code of the remote program, and have two of their own. */
export const exits = {
  failed: 1,
  usage: 2,
  signIn: 3,
  notFound: 4,
  conflict: 5,
  limit: 6,
  noConnection: 7,
  changes: 8, // apply --plan: something would change
  timeLimit: 124,
  ownFailure: 125,
  interrupted: 130,
  ended: 143, // SIGTERM
} as const

/** A command that cannot be understood, or cannot be done without something that was not passed. */
export class UsageError extends Error {}

/** A failure with an exit code of its own. */
export class Failure extends Error {
  readonly exit: number

  constructor(message: string, exit: number = exits.failed) {
    super(message)
    this.exit = exit
  }
}

/** There is nothing of that name, as opposed to: it was not found. */
export class NothingNamed extends Failure {
  constructor(message: string) {
    super(message, exits.notFound)
  }
}

/** The exit code of what was thrown. */
export function exitOf(error: unknown): number {
  if (error instanceof UsageError) return exits.usage
  if (error instanceof Failure) return error.exit
  if (isBerthError(error)) return exitOfStatus(error)
  return exits.failed
}

function exitOfStatus({ code, status }: BerthError): number {
  if (['CONNECTION_FAILED', 'REQUEST_TIMED_OUT', 'INVALID_ANSWER'].includes(code)) return exits.noConnection
  if (status === 401) return exits.signIn
  if (status === 404) return exits.notFound
  if (status === 409) return exits.conflict
  if (status === 402 || status === 429 || code === 'CAPACITY_UNAVAILABLE') return exits.limit
  return exits.failed
}

/** Whether the client threw it. Known by its name, so that the client is not loaded for it. */
export function isBerthError(error: unknown): error is BerthError {
  return error instanceof Error && error.name === 'BerthError'
}

/** What to say of it, in lines. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!isBerthError(error)) return error.message
  const saysHow = error.message.includes('berth login')
  const more = error.status === 401 && !saysHow ? ' Sign in: berth login <address>' : ''
  const request = error.requestId === undefined ? '' : ` (${error.code}, ${error.requestId})`
  return `${inOurWords(error.message)}${more}${request}`
}

/** A remedy that is a path and a mutation, as the command that does it. */
function inOurWords(message: string): string {
  return message.replace(/POST \/api\/v1\/vms\/\{vm_?id\}\/(start|resume), or \w+ in GraphQL/i, 'berth vm $1 <vm>')
}

/** Why a file cannot be read, without its name, which the sentence has already. */
export function whyUnread(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/^[A-Z]+: /, '').replace(/, \w+(?: '[^']*')?$/, '')
}

/** What a file of fields has that its input has not, as a mistake of the person's; undefined for any other failure. */
export function mistakeInInput(error: unknown): UsageError | undefined {
  if (!isBerthError(error) || error.status !== 400) return undefined
  const [, field, more = ''] =
    /^Variable "\$input" must be \w+!?, which has no "([^"]+)"\.?(.*)$/.exec(error.message) ?? []
  if (field !== undefined) return new UsageError(`There is no field "${field}".${more}`)
  const [, path, type] =
    /^Variable "\$input" must be \w+!?: "input\.([^"]+)" must be (\w+)!?\.$/.exec(error.message) ?? []
  return path === undefined ? undefined : new UsageError(`The field "${path}" must be ${type ?? 'something else'}.`)
}

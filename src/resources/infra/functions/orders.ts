/** What callers say of a function: read, and checked. */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { isSqlState, sqlState } from '#src/platform/postgres.ts'
import { readName } from '#src/platform/shapes/fields.ts'
import { withoutEnding } from '#src/platform/texts.ts'

/** The size of a function's VM. */
export type FunctionSize = { vcpuCount: number; memoryMb: number }

/** That of the machines that a node keeps warm: a function of another size waits longer for its first start. */
export const defaultFunctionSize: FunctionSize = { vcpuCount: 2, memoryMb: 2048 }

const namePattern = /^[a-z][a-z0-9-]*$/
const labelMax = 63
const suffixLength = 8

/** A name of a function. @throws BerthError invalid_request. */
export function readFunctionName(given: string): string {
  if (given.slice(2, 4) === '--')
    throw new BerthError(
      'invalid_request',
      'name may not have -- as its third and fourth character: the host name is made of it, and there that stands for an encoding. Choose another one.',
      { field: 'name' },
    )
  if (given.length <= functionLimits.nameLength && namePattern.test(given)) return given
  throw new BerthError(
    'invalid_request',
    `name must be 1 to ${functionLimits.nameLength} lower-case letters, digits and hyphens, and begin with a letter.`,
    { field: 'name' },
  )
}

/** The host name at which a new function is reached without a domain. */
export function hostOfFunction({ domain }: { domain: string }, { id, name }: { id: string; name: string }): string {
  const suffix = encodeId('function', id).slice(-suffixLength)
  return `${withoutEnding(name.slice(0, labelMax - suffixLength - 1), '-')}-${suffix}.${domain}`
}

/** The size that is asked for; what is not named is as before. @throws BerthError invalid_request. */
export function readFunctionSize(
  given: { [Part in keyof FunctionSize]?: number | null },
  before: FunctionSize = defaultFunctionSize,
): FunctionSize {
  const { vcpuMax, memoryMbMin, memoryMbMax } = functionLimits
  return {
    vcpuCount: wholeNumber('vcpu_count', given.vcpuCount ?? before.vcpuCount, 1, vcpuMax),
    memoryMb: wholeNumber('memory_mb', given.memoryMb ?? before.memoryMb, memoryMbMin, memoryMbMax),
  }
}

/** After how many seconds without a request it sleeps. @throws BerthError invalid_request. */
export function readIdleSeconds(given: number | null | undefined, before: number): number {
  const { idleSecondsMin, idleSecondsMax } = functionLimits
  return wholeNumber('idle_seconds', given ?? before, idleSecondsMin, idleSecondsMax)
}

/** How many seconds its program may take until it listens, and a request waits for it. @throws BerthError invalid_request. */
export function readStartSeconds(given: number | null | undefined, before: number): number {
  const { startSecondsMin, startSecondsMax } = functionLimits
  return wholeNumber('start_seconds', given ?? before, startSecondsMin, startSecondsMax)
}

/** The port at which a version listens. @throws BerthError invalid_request. */
export function readPort(given: number | null | undefined, before: number = functionLimits.defaultPort): number {
  return wholeNumber('port', given ?? before, 1, 65_535)
}

/** The command that starts a version; null: what the binary itself says. @throws BerthError invalid_request. */
export function readStartCommand(given: string | null | undefined, before: string | null = null): string | null {
  if (given === undefined) return before
  if (given === null || given === '') return null
  if (given.length <= functionLimits.commandLength && !given.includes('\0') && given.isWellFormed()) return given
  throw new BerthError(
    'invalid_request',
    `start_command must be text of at most ${functionLimits.commandLength} characters without NUL.`,
    { field: 'start_command' },
  )
}

/** The caller's mark of what a version runs; null for none. @throws BerthError invalid_request. */
export function readRevision(given: string | null | undefined): string | null {
  if (given === undefined || given === null) return null
  return readName(given, 'revision')
}

/** The error that a caller gets: for a name that another function of the organization has, one that says so. */
export function functionNameError(error: unknown): unknown {
  if (!isSqlState(error, sqlState.uniqueViolation, 'functions_name')) return error
  return new BerthError('invalid_request', 'Your organization has a function of this name. Choose another one.', {
    field: 'name',
  })
}

/** What six callers usually get, by who may do something; `stranger` is what another organization’s owner gets. See ../matrix.ts. */
import type { Outcomes } from '../matrix.ts'

export const noScope = '403 forbidden'
export const tooLittle = '403 not_permitted_for_role'
export const absent = '404 not_found'
export const foreign = '403 forbidden'
export const noKeys = '401 unauthorized'

export const reads = (yes: string, stranger: string): Outcomes => [yes, yes, yes, stranger, noScope, yes]
export const writes = (yes: string, stranger: string): Outcomes => [yes, yes, tooLittle, stranger, noScope, yes]
/** What is inside a VM takes what a command takes. */
export const readsInside = writes
export const adminsWrite = (yes: string, stranger: string): Outcomes => [
  yes,
  tooLittle,
  tooLittle,
  stranger,
  noKeys,
  noKeys,
]
export const peopleRead = (yes: string): Outcomes => peopleReads(yes, yes)
export const peopleReads = (yes: string, stranger: string): Outcomes => [yes, yes, yes, stranger, noKeys, noKeys]
export const peopleReadTheirs: Outcomes = peopleReads('200', foreign)
export const peopleWrite = (yes: string, stranger: string): Outcomes => [yes, yes, tooLittle, stranger, noKeys, noKeys]

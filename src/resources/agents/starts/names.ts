/** The names of what starts sessions by itself: a person gives each of one kind once. */
import { BerthError } from '#src/platform/errors.ts'
import { isSqlState, sqlState } from '#src/platform/postgres.ts'

/** The error that a caller gets: for a name that another of their schedules or triggers has, one that says so. */
export function nameError(error: unknown, one: 'schedule' | 'trigger'): unknown {
  if (!isSqlState(error, sqlState.uniqueViolation, `${one}s_name`)) return error
  return new BerthError('invalid_request', `You have a ${one} of this name. Choose another one.`, { field: 'name' })
}

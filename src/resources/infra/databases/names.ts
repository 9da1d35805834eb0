/** The names of databases: in their organization, and in the network of their project. */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { isGiven } from '#src/platform/pages.ts'
import { isSqlState, sqlState } from '#src/platform/postgres.ts'
import type { Project } from '#src/resources/infra/projects.ts'

const namePattern = /^[a-z][a-z0-9-]{0,62}$/

/** A name of a database or of its network. @throws BerthError invalid_request. */
export function readDatabaseName(given: string, key: string): string {
  if (namePattern.test(given)) return given
  throw new BerthError(
    'invalid_request',
    `${key} must be 1 to 63 lower-case letters, digits and hyphens, and begin with a letter.`,
    { field: key },
  )
}

/**
 * The name by which the VMs of its project reach a database: the one that is given, or the project's own; null outside of
 * a project. @throws BerthError invalid_request
 */
export function readNetworkName(given: string | null | undefined, project: Pick<Project, 'id'> | null): string | null {
  if (!isGiven(given)) return project && encodeId('project', project.id).replace('_', '-')
  if (!project) throw new BerthError('invalid_request', 'network_name needs a project_id.', { field: 'network_name' })
  return readDatabaseName(given, 'network_name')
}

/** The error that a caller gets: for a name that another database of the organization has, one that says so. */
export function nameError(error: unknown): unknown {
  if (!isSqlState(error, sqlState.uniqueViolation, 'databases_name')) return error
  return new BerthError('database_name_taken', 'Your organization has a database of this name. Choose another one.', {
    field: 'name',
  })
}

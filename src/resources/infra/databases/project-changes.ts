/** Moving a database into a project, or out of it. */
import { allow } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { isGiven } from '#src/platform/pages.ts'
import { findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Project } from '#src/resources/infra/projects.ts'
import { renewFunction } from '#src/resources/infra/functions/environments.ts'
import { setProject } from '#src/resources/infra/vms/rows.ts'
import { linkSet, makeLink } from './links.ts'
import { readNetworkName } from './names.ts'
import { checkActive, lockDatabase, type Database } from './rows.ts'
import { updateAtOnce } from './states.ts'

/**
 * Moves a database into a project, or out of its project with null. Each real change counts one more generation of
 * credentials, and gives a linked function another password; the same project and name again change nothing.
 * @throws BerthError not_found for the database or the project; forbidden for another organization's project;
 * database_not_ready, invalid_request.
 */
export async function moveDatabaseToProject(
  call: Call,
  publicId: string,
  input: { projectId?: string | null; networkName?: string | null },
): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  const { projectId, networkName: givenName } = input
  if (projectId === undefined)
    throw new BerthError('invalid_request', 'project_id is required: a project, or null for none.', {
      field: 'project_id',
    })
  return transaction(call.db, async (tx) => {
    const before = await lockDatabase(tx, scope, publicId)
    checkActive(before)
    const project = projectId === null ? null : await readTarget(tx, scope.organizationId, projectId)
    const isSame = before.projectId === (project?.id ?? null)
    const networkName = isSame && !isGiven(givenName) ? before.networkName : readNetworkName(givenName, project)
    if (isSame && networkName === before.networkName) return before
    if (before.vmId) await setProject(tx, before.vmId, project?.id ?? null)
    const link = await makeLink(call.sealer, before.id, before.functionId)
    const moved = await updateAtOnce(
      tx,
      call,
      before.id,
      sql`
        project_id = ${project?.id ?? null}, network_name = ${networkName},
        native_credential_generation = native_credential_generation + 1, ${linkSet(link)}`,
    )
    await renewFunction(call, tx, moved.functionId)
    return moved
  })
}

async function readTarget(tx: Tx, organizationId: string, publicId: string): Promise<Project> {
  const id = decodeId('project', publicId)
  const project = id && (await findOne<Project>(tx, sql`select * from projects where id = ${id} for key share`))
  if (!project) throw notFound('project')
  if (project.organizationId !== organizationId)
    throw new BerthError('forbidden', 'project_id names a project of another organization.')
  return project
}

/** Projects: what belongs together. VMs reach the databases of their own project. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, owned, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { readsOf, rowsOf } from '#src/platform/nouns.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { counted } from '#src/platform/texts.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** A project as it is stored; moments are wire text, ids are uuids. */
export type Project = Pick<Row<'projects'>, 'id' | 'organizationId' | 'userId' | 'name' | 'createdAt' | 'updatedAt'>

/** A locked project without databases and VMs is deleted: what still names it leaves it. */
export const projectDeleting = hook<[tx: Tx, projectId: string]>('project deleting')

const projects = rowsOf<Project>('project', 'projects', 'project')

/** How projects are found. */
export const projectSearch: Searched = {
  type: 'Project',
  may: 'projects:read',
  table: 'projects',
  title: sql`name`,
  whose: owned,
}

/** How callers read projects. */
export const projectReads = readsOf(projects, {
  may: 'projects:read',
  whose: owned,
  listed: (filter: TextFilter) => hasTextOf(projectSearch, filter),
})

/** Creates a project. @throws BerthError invalid_request; rate_limited when the organization may have no more. */
export async function createProject(call: Call, input: { name: string }): Promise<Project> {
  const { organizationId, userId } = allow(call.caller, 'projects:write')
  const name = readName(input.name)
  return transaction(call.db, async (tx) => {
    await checkCount(tx, organizationId, { table: 'projects', most: limits.projectsMax })
    return getOne<Project>(
      tx,
      sql`insert into projects (id, organization_id, user_id, name) values (${newUuid()}, ${organizationId}, ${userId}, ${name}) returning *`,
    )
  })
}

/** Changes the name. @throws BerthError not_found, invalid_request. */
export async function updateProject(call: Call, id: string, input: { name?: string | null }): Promise<Project> {
  const scope = allow(call.caller, 'projects:write')
  return projects.locked(call.db, id, owned(scope), async (tx, before) => {
    if (changesNothing(input)) return before
    const name = input.name === undefined || input.name === null ? before.name : readName(input.name)
    return getOne<Project>(
      tx,
      sql`update projects set name = ${name}, updated_at = now() where id = ${before.id} returning *`,
    )
  })
}

/** Deletes an empty project. @throws BerthError not_found; invalid_transition while it has databases or VMs. */
export async function deleteProject(call: Call, id: string): Promise<void> {
  const scope = allow(call.caller, 'projects:write')
  await transaction(call.db, async (tx) => {
    const { id: projectId } = await projects.read(tx, id, owned(scope), sql`for update`)
    const { databases, vms } = await getOne<{ databases: number; vms: number }>(
      tx,
      sql`
      select (select count(*) from databases where project_id = ${projectId}) as databases,
        (select count(*) from vms where project_id = ${projectId} and purpose is null and status <> 'deleted') as vms`,
    )
    if (databases + vms > 0)
      throw new BerthError(
        'invalid_transition',
        `The project has ${counted(databases, 'database')} and ${counted(vms, 'VM')}. Move its databases to another project or to none, and delete its VMs; then delete the project.`,
      )
    await projectDeleting.run(tx, projectId)
    await change(tx, sql`delete from projects where id = ${projectId}`)
  })
}

/**
 * The organization's project for a VM, which stays until the transaction ends.
 * @throws BerthError invalid_request when it is none of the organization's.
 */
export async function readProject(tx: Tx, scope: Scope, publicId: string): Promise<Project> {
  const id = decodeId('project', publicId)
  const project =
    id && (await findOne<Project>(tx, sql`select * from projects where id = ${id} and ${owned(scope)} for key share`))
  if (!project) throw new BerthError('invalid_request', 'project_id names no project of yours.')
  return project
}

function readName(given: string): string {
  if (given !== '' && given.length <= limits.nameLength && !given.includes('\0')) return given
  throw new BerthError('invalid_request', `name must be text of 1 to ${limits.nameLength} characters.`, {
    field: 'name',
  })
}

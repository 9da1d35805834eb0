/** Templates: what a VM's disk starts from. */
import { allow, allowAnywhere, owned, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import type { RawBuilder } from 'kysely'
import type { Page, PageWindow } from '#src/platform/pages.ts'
import { change, findAll, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { nodeSilentSeconds } from './nodes.ts'
import type { MachineSpec } from '#src/drivers/compute/machine.ts'

/**
 * A template; without an organization, everybody may use it. One made by a build is a disk on the node that built it.
 * @property isReady whether a node has its disk: VMs of one that comes with Berth otherwise wait for the node to build it.
 */
export type Template = Pick<
  Row<'templates'>,
  'id' | 'organizationId' | 'name' | 'description' | 'nodeId' | 'buildJobId' | 'sizeBytes' | 'createdAt' | 'deletedAt'
> & { isReady: boolean }

/** The template `base`, which the first migration of VMs inserts. */
export const baseTemplateId = '00000000-0000-7000-8000-000000000001'
/** The template `data`, which a node builds when somebody first asks for it. */
export const dataTemplateId = '00000000-0000-7000-8000-000000000003'
/** The template `postgres`, which databases start from, and nothing else. */
export const postgresTemplateId = '00000000-0000-7000-8000-000000000002'
/**
 * A replaced template's disk is kept for at least this long, because a VM that was just requested may start from it.
 */
const replacedKeptHours = 1
const batchMax = 50
/** So many templates are named to whoever names none of them. */
const namedMax = 10

/** The languages that a sandbox runs, each with the command that runs a file of it. */
export const sandboxLanguages: Readonly<Record<string, { file: string; argv: readonly string[] }>> = {
  python: { file: 'main.py', argv: ['python3'] },
  javascript: { file: 'main.js', argv: ['node'] },
  typescript: { file: 'main.ts', argv: ['node'] },
  bash: { file: 'main.sh', argv: ['bash'] },
  go: { file: 'main.go', argv: ['go', 'run'] },
  ruby: { file: 'main.rb', argv: ['ruby'] },
}

/** Other names of the same languages. */
export const languageAliases: Readonly<Record<string, string>> = {
  py: 'python',
  js: 'javascript',
  node: 'javascript',
  ts: 'typescript',
  sh: 'bash',
}

const columns = sql`*, node_id is not null or (organization_id is null and exists (
  select 1
  from nodes
  where templates.name = any(nodes.templates)
    and nodes.heartbeat_at > now() - ${sql.lit(nodeSilentSeconds)} * interval '1 second')) as is_ready`
const templateRows = rowsOf<Template>('template', 'templates', 'template', columns)

/**
 * The templates available to the organization, everybody's and its own, oldest first.
 * @throws BerthError invalid_request.
 */
export async function pageTemplates(call: Call, window: PageWindow): Promise<Page<Template>> {
  const scope = allow(call.caller, 'templates:read')
  return templateRows.page(call.db, window, usable(scope), 'asc')
}

/**
 * The templates with these stored ids that are everybody's or of the caller's organizations, including replaced ones.
 */
export async function findTemplates(call: Call, ids: readonly string[]): Promise<Template[]> {
  const { organizationIds } = allowAnywhere(call.caller, 'templates:read')
  return templateRows.find(
    call.db,
    ids,
    sql`(organization_id is null or organization_id = any(${organizationIds}::uuid[]))`,
  )
}

/**
 * The template with this name or id; `base` when none is named, which an organization's own template cannot replace. Of the
 * others its own comes first.
 * @throws BerthError invalid_template naming those that there are.
 */
export async function readTemplate(db: Db, scope: Scope, given: string | null | undefined): Promise<Template> {
  const text = given || 'base'
  const id = decodeId('template', text)
  const template = await findOne<Template>(
    db,
    sql`
    select ${columns} from templates where ${usable(scope)} and ${id ? sql`id = ${id}` : sql`name = ${text}`}
      order by id = ${baseTemplateId} desc, organization_id nulls last limit 1`,
  )
  if (template) return template
  const names = await findAll<Pick<Template, 'name'>>(
    db,
    sql`select name from templates where ${usable(scope)} group by name order by bool_or(organization_id is null) desc, name limit ${namedMax + 1}`,
  )
  const named = names.slice(0, namedMax).map(({ name }) => `\`${name}\``)
  if (names.length > namedMax) named.push('others')
  throw new BerthError(
    'invalid_template',
    `template_id names no template of yours; leave it out for \`base\`. There are ${named.join(', ')}.`,
  )
}

function usable({ organizationId }: Pick<Scope, 'organizationId'>): RawBuilder<unknown> {
  return sql`(organization_id is null or organization_id = ${organizationId}) and deleted_at is null and id <> ${postgresTemplateId}`
}

/** A template as the driver knows it. */
export function machineTemplate(templateId: string): MachineSpec['template'] {
  if (templateId === postgresTemplateId) return 'postgres'
  if (templateId === dataTemplateId) return 'data'
  return templateId === baseTemplateId ? 'base' : { templateId }
}

/**
 * Deletes a template of the caller's organization: nothing starts from it any more. VMs that did go on, and its disk is kept
 * as long as they need it. @throws BerthError not_found, also for one that comes with Berth.
 */
export async function deleteTemplate(call: Call, id: string): Promise<void> {
  const scope = allow(call.caller, 'templates:write')
  const deleted = await change(
    call.db,
    sql`update templates set deleted_at = now() where id = ${decodeId('template', id) ?? null} and ${owned(scope)} and deleted_at is null`,
  )
  if (deleted === 0) throw notFound('template')
}

/**
 * Records the disk that a build stored as a template of its organization. An existing template of the same name is
 * replaced. Idempotent.
 */
export async function addBuiltTemplate(
  db: Db,
  built: Pick<Template, 'id' | 'organizationId' | 'name' | 'description' | 'nodeId' | 'buildJobId' | 'sizeBytes'>,
): Promise<void> {
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`
        update templates
        set deleted_at = now()
        where organization_id = ${built.organizationId} and name = ${built.name} and id <> ${built.id} and deleted_at is null`,
    )
    await change(
      tx,
      sql`
      insert into templates (id, organization_id, name, description, node_id, build_job_id, size_bytes)
      values (${built.id}, ${built.organizationId}, ${built.name}, ${built.description}, ${built.nodeId}, ${built.buildJobId},
        ${built.sizeBytes})
      on conflict (id) do nothing`,
    )
  })
}

/** Replaced templates on this node whose disks are no longer used. */
export async function unusedTemplates(db: Db, nodeId: string): Promise<string[]> {
  const unused = await findAll<Pick<Row<'templates'>, 'id'>>(
    db,
    sql`
    select t.id from templates t where t.node_id = ${nodeId} and t.deleted_at < now() - ${replacedKeptHours} * interval '1 hour'
      and not exists (select 1 from vms v where v.template_id = t.id and v.status <> 'deleted')
      and not exists (select 1 from build_jobs b where b.template_id = t.id and b.status in ('queued', 'running'))
    order by t.deleted_at limit ${batchMax}`,
  )
  return unused.map(({ id }) => id)
}

/** Marks that a template's disk is deleted; the row stays for VMs that were made from it. */
export async function markTemplateRemoved(db: Db, id: string): Promise<void> {
  await change(db, sql`update templates set node_id = null where id = ${id} and deleted_at is not null`)
}

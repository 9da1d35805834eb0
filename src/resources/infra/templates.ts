/** Templates: what a VM's disk starts from. */
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'

/** A template; without an organization it is everyone's. One made by a build is a disk on the node that built it. */
export type Template = { id: string; organizationId: string | null; name: string; description: string; nodeId: string | null; buildJobId: string | null; sizeBytes: number | null; createdAt: string }

/** The languages that a sandbox runs, each with the command that runs a file of it. */
export const sandboxLanguages: Readonly<Record<string, { file: string; argv: readonly string[] }>> = {
  python: { file: 'main.py', argv: ['python3'] },
  javascript: { file: 'main.js', argv: ['node'] },
  typescript: { file: 'main.ts', argv: ['node'] },
  bash: { file: 'main.sh', argv: ['bash'] },
  go: { file: 'main.go', argv: ['go', 'run'] },
  ruby: { file: 'main.rb', argv: ['ruby'] },
}

/** Other names of the same languages (decisions.md §4.1). */
export const languageAliases: Readonly<Record<string, string>> = { py: 'python', js: 'javascript', node: 'javascript', ts: 'typescript', sh: 'bash' }

/** Everyone's templates and the organization's own. */
export async function listTemplates(call: Call): Promise<Template[]> {
  const scope = allow(call.caller, 'templates:read')
  return findAll(call.db, sql`select * from templates where organization_id is null or organization_id = ${scope.organizationId} order by created_at, id limit 1000`)
}

/**
 * The template of this name or id; `base` when none is named.
 * @throws BerthError invalid_template.
 */
export async function readTemplate(db: Db, scope: Scope, given: string | null | undefined): Promise<Template> {
  const text = given || 'base'
  const id = decodeId('template', text)
  const template = await findOne<Template>(db, sql`
    select * from templates where (organization_id is null or organization_id = ${scope.organizationId})
      and ${id ? sql`id = ${id}` : sql`name = ${text}`} order by organization_id nulls last limit 1`)
  if (!template) throw new BerthError('invalid_template', 'template_id names no template of yours; leave it out for `base`.')
  return template
}

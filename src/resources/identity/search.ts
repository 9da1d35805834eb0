/** Finding objects of every kind by a piece of text: each noun declares how it is found; here all are listed. */
import type { RawBuilder } from 'kysely'
import { actingIn, allow, findScope } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { hasText, type Searched } from '#src/platform/shapes/text-filters.ts'
import { agentSearch } from '../agents/agents.ts'
import { deploymentSearch } from '../agents/deployments.ts'
import { environmentSearch } from '../agents/environments.ts'
import { fileSearch } from '../agents/files.ts'
import { sessionSearch } from '../agents/sessions.ts'
import { skillSearch } from '../agents/skills.ts'
import { vaultSearch } from '../agents/vaults.ts'
import { buildSearch } from '../infra/builds.ts'
import { databaseSearch } from '../infra/databases/rows.ts'
import { domainSearch } from '../infra/domains/lists.ts'
import { functionSearch } from '../infra/functions.ts'
import { projectSearch } from '../infra/projects.ts'
import { vmSearch } from '../infra/vms.ts'

const searched: readonly Searched[] = [
  agentSearch,
  buildSearch,
  databaseSearch,
  deploymentSearch,
  domainSearch,
  environmentSearch,
  fileSearch,
  functionSearch,
  projectSearch,
  sessionSearch,
  skillSearch,
  vaultSearch,
  vmSearch,
]

/** The names of the types that are searched. */
export const searchedTypes: readonly string[] = searched.map(({ type }) => type)

/** The most objects that a search shows. */
export const searchHitsMax = 50
/** How many it shows when nothing is said. */
export const searchHitsDefault = 20

/** An object that was found. `nodeId`: its stored id; `title`: what it is shown as, if it has a name. */
export type SearchHit = { type: string; nodeId: string; title: string | null }

/**
 * The caller's objects with this piece of text in their names: those whose name begins with it first, then the newest, whose ids are the greatest.
 * @param types all that the caller may read, without it.
 * @throws BerthError forbidden; invalid_request for a text that is empty or too long.
 */
export async function search(
  call: Call,
  {
    organizationId: publicId,
    text,
    types,
    first,
  }: { organizationId?: string | null; text: string; types?: readonly string[] | null; first?: number | null },
): Promise<SearchHit[]> {
  const { organizationId } = allowInGiven(call.caller, 'account:read', publicId)
  const caller = actingIn(call.caller, organizationId)
  const most = wholeNumber('first', first ?? searchHitsDefault, 1, searchHitsMax)
  const piece = text.trim()
  if (piece === '') throw new BerthError('invalid_request', 'text must not be empty.', { field: 'text' })
  const found = searched.flatMap((one) => {
    if (types && !types.includes(one.type)) return []
    const scope = types ? allow(caller, one.may) : findScope(caller, one.may)
    return scope ? [foundBy(one, one.whose(scope), piece, most)] : []
  })
  if (found.length === 0) return []
  return findAll<SearchHit>(
    call.db,
    sql`
    select type, node_id, title from (${sql.join(found, sql` union all `)}) hit
    order by ${begins(sql`title`, piece)}, node_id desc limit ${most}`,
  )
}

function foundBy(
  { type, table, title, texts = [] }: Searched,
  mine: ReturnType<Searched['whose']>,
  text: string,
  most: number,
) {
  return sql`
    (select ${type}::text as type, id::text as node_id, ${title} as title from ${sql.table(table)}
    where (${mine}) and ${hasText({ text }, title, ...texts)} order by ${begins(title, text)}, id desc limit ${most})`
}

/** Those first whose title begins with the text. */
function begins(title: RawBuilder<unknown>, text: string): RawBuilder<unknown> {
  return sql`(position(lower(${text}) in lower(${title})) = 1) is true desc`
}

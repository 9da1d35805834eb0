/** A domain's row, and its queries. */
import { allowAnywhere, allowIn, owned } from '#src/platform/access.ts'
import type { Permission } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { readDomainName } from '#src/resources/infra/routes/names.ts'

/** `verified` and `active`: the organization has proved it, and nobody else can. */
export type DomainStatus = 'pending' | 'verified' | 'active' | 'failed'

/** A DNS record that a domain needs, and what the last check saw of it. */
export type DomainRecord = {
  /** What it is for: proving the name, leading here, or proving a wildcard to the authority of certificates. */
  purpose: 'ownership' | 'address' | 'wildcard'
  type: 'TXT' | 'A' | 'CNAME'
  name: string
  expected: string
  /** What is there instead, or besides. */
  seen: string[]
  isRight: boolean
  /** Why it is not right, as a sentence; null when it is, and before the first check. */
  reason: string | null
  checkedAt: string | null
}

/** A domain as it is stored; times are RFC 3339 text, ids are uuids. */
export type Domain = Row<'domains', { status: DomainStatus; records: DomainRecord[] }>

/** What happened to a domain: positions grow by one and resume a subscription. */
export type DomainEvent = Row<'domain_events', { status: DomainStatus }>

/** Domains as they are found. */
export const domainRows = rowsOf<Domain>('domain', 'domains', 'domain')

/**
 * The caller's domain, by its name or its id: that of the active organization, or of another one of theirs.
 * @throws BerthError invalid_domain for what is no name; not_found; forbidden when another organization has proved it.
 * Claims of others that are not proved are not told.
 */
export async function getDomainRow(call: Call, permission: Permission, given: string): Promise<Domain> {
  const reach = allowAnywhere(call.caller, 'domains:read')
  const isId = given.startsWith('dom_') // no name has an underscore
  const id = isId ? (decodeId('domain', given) ?? null) : null
  const name = isId ? null : readDomainName(given)
  const domain = await findOne<Domain>(
    call.db,
    sql`
    select * from domains where ${isId ? sql`id = ${id}` : sql`name = ${name}`} and ${owned(reach)}
    order by (organization_id = ${reach.organizationId}) desc, id desc limit 1`,
  )
  if (domain) {
    allowIn(call.caller, permission, domain.organizationId)
    return domain
  }
  const isProved =
    name !== null &&
    (await findOne(call.db, sql`select 1 from domains where name = ${name} and status in ('verified', 'active')`))
  if (isProved)
    throw new BerthError(
      'forbidden',
      'This domain belongs to another organization, which has proved it by its DNS. Claim another name, or ask that organization to delete it.',
    )
  throw notFound('domain')
}

/** The domain, locked until the transaction ends. @throws BerthError not_found when it was deleted meanwhile. */
export async function lockDomain(tx: Tx, id: string): Promise<Domain> {
  const domain = await findOne<Domain>(tx, sql`select * from domains where id = ${id} for no key update`)
  if (!domain) throw notFound('domain')
  return domain
}

/** What a domain leads to, as the interface writes it; null while it is not linked. */
export function targetOf({ vmId, vmPort, functionId }: Pick<Domain, 'vmId' | 'vmPort' | 'functionId'>): string | null {
  if (functionId !== null) return `function:${encodeId('function', functionId)}`
  return vmId === null ? null : `vm:${encodeId('vm', vmId)}:${vmPort}`
}

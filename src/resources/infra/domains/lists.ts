/** Reading domains: one, those of an organization, those that lead to a VM. */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import type { ListWindow } from '#src/platform/nouns.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Searched } from '#src/platform/shapes/text-filters.ts'
import { knownVms } from '#src/resources/infra/vms/rows.ts'
import type { RawBuilder } from 'kysely'
import { domainRows, getDomainRow, type Domain, type DomainStatus } from './rows.ts'

/** Conditions of a list of domains. */
export type DomainFilter = { statuses?: readonly DomainStatus[] | null }

/** How domains are found. */
export const domainSearch: Searched = {
  type: 'Domain',
  may: 'domains:read',
  table: 'domains',
  title: sql`name`,
  whose: owned,
}

/** The domain of this name or id. @throws BerthError invalid_domain, not_found, forbidden. */
export async function getDomain(call: Call, given: string): Promise<Domain> {
  return getDomainRow(call, 'domains:read', given)
}

/** The domains of these stored ids, of the caller's organizations. */
export async function findDomains(call: Call, ids: readonly string[]): Promise<Domain[]> {
  return domainRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'domains:read')))
}

/** The organization's domains, newest first. @throws BerthError invalid_request. */
export async function pageDomains(
  call: Call,
  window: ListWindow,
  filter?: DomainFilter | null,
  direction?: Direction,
): Promise<Page<Domain>> {
  const chosen = sql`${owned(allow(call.caller, 'domains:read'))} and ${hasStatus(filter)}`
  return domainRows.page(call.db, { ...window, most: limits.infraListMax }, chosen, direction)
}

/** The domains that lead to each of these VMs, by their stored ids, newest first. @throws BerthError invalid_request. */
export async function pageDomainsOfEach(
  call: Call,
  vmIds: readonly string[],
  window: PageWindow,
  filter?: DomainFilter | null,
  direction?: Direction,
): Promise<PagesOf<Domain>> {
  const reach = allowAnywhere(call.caller, 'domains:read')
  return domainRows.pageOfEach(call.db, window, {
    parents: sql`select id from vms where id = any(${vmIds}::uuid[]) and ${knownVms(reach)}`,
    parentName: 'VM',
    chosen: sql`vm_id = parent.id and ${hasStatus(filter)}`,
    direction,
  })
}

/** The domains that lead to each of these functions, by their stored ids, newest first. @throws BerthError invalid_request. */
export async function pageDomainsOfFunctions(
  call: Call,
  functionIds: readonly string[],
  window: PageWindow,
  filter?: DomainFilter | null,
  direction?: Direction,
): Promise<PagesOf<Domain>> {
  const [own, ownFunctions] = [
    owned(allowAnywhere(call.caller, 'domains:read')),
    owned(allowAnywhere(call.caller, 'functions:read')),
  ]
  return domainRows.pageOfEach(call.db, window, {
    parents: sql`select id from functions where id = any(${functionIds}::uuid[]) and ${ownFunctions}`,
    parentName: 'function',
    chosen: sql`function_id = parent.id and ${own} and ${hasStatus(filter)}`,
    direction,
  })
}

function hasStatus(filter: DomainFilter | null | undefined): RawBuilder<unknown> {
  return filter?.statuses ? sql`status = any(${filter.statuses}::text[])` : sql`true`
}

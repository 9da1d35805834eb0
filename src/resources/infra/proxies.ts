/** Proxy entries: a port of a VM under a host name, which the edge serves. */
import { allow, allowAnywhere, owned, type Reach, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { isGiven, wholeNumber, type Direction, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { change, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { RawBuilder } from 'kysely'
import { removeRoute } from '#src/resources/infra/routes.ts'
import { readDomainPath } from '#src/resources/infra/routes/names.ts'
import { knownVms, lockVm, type Vm } from '#src/resources/infra/vms/rows.ts'
import { noteChange } from '#src/resources/infra/vms/states.ts'
import { generatedHost, isBelowPlatform, provedDomain, readHost } from './proxies/hosts.ts'
import { findService, openRoute, proxyRows, type DeploymentType, type Proxy } from './proxies/rows.ts'

/** The input to make an entry; absent and null mean the default. */
export type ProxyOrder = {
  serviceName: string
  vmId: string
  vmPort: number
  domain?: string | null
  path?: string | null
  deploymentType?: DeploymentType | null
  wakeOnRequest?: boolean | null
}

/** Which entries a list shows. */
export type ProxyFilter = { vmId?: string | null }

/**
 * Opens a port of a VM under a host name.
 * @throws BerthError not_found for a VM that is not the caller's; invalid_domain; invalid_request, also when the VM has a service of this
 * name or the host is taken; rate_limited when there may be no more.
 */
export async function createProxy(call: Call, order: ProxyOrder): Promise<Proxy> {
  const scope = allow(call.caller, 'proxies:write')
  readOrder(order)
  return transaction(call.db, (tx) => addProxy(call, tx, scope, order))
}

/** The same for somebody who may, in the caller's transaction. @throws BerthError as createProxy. */
export async function addProxy(
  services: Pick<Call, 'config'>,
  tx: Tx,
  scope: Scope,
  order: ProxyOrder,
): Promise<Proxy> {
  const { organizationId, userId } = scope
  const { serviceName, vmPort, path, deploymentType, wakes } = readOrder(order)
  await checkCount(tx, organizationId, { table: 'proxies', nouns: 'proxy entries', most: proxyLimits.perOrganization })
  const vm = await lockVm(tx, scope, order.vmId, 'update')
  if (vm.status === 'deleting') throw notFound('VM')
  await checkService(tx, vm, serviceName)
  const { host, domainId } = await chooseHost(services, tx, vm, serviceName, order.domain)
  const proxy = await getOne<Proxy>(
    tx,
    sql`
    insert into proxies (id, organization_id, user_id, vm_id, service_name, vm_port, deployment_type, host, path, domain_id, wakes)
    values (${newUuid()}, ${organizationId}, ${userId}, ${vm.id}, ${serviceName}, ${vmPort}, ${deploymentType}, ${host}, ${path},
      ${domainId}, ${wakes})
    returning *`,
  )
  const isFree = await openRoute(tx, proxy)
  if (!isFree) throw taken(host, path)
  await noteChange(tx, vm.id)
  return proxy
}

/** Removes an entry and its route: the edge stops serving it within seconds. @throws BerthError not_found. */
export async function deleteProxy(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'proxies:write')
  await transaction(call.db, async (tx) => {
    const { vmId } = await proxyRows.read(tx, publicId, known(scope))
    await change(tx, sql`select 1 from vms where id = ${vmId} for no key update`) // before the entry, as its deletion does
    const { id } = await proxyRows.read(tx, publicId, known(scope), sql`for update`)
    await change(tx, sql`delete from proxies where id = ${id}`)
    await removeRoute(tx, id)
    await noteChange(tx, vmId)
  })
}

/** The entry of this id. @throws BerthError not_found. */
export async function getProxy(call: Call, publicId: string): Promise<Proxy> {
  return proxyRows.read(call.db, publicId, known(allow(call.caller, 'proxies:read')))
}

/** The entries of these stored ids that the caller may see, in any organization of theirs. */
export async function findProxies(call: Call, ids: readonly string[]): Promise<Proxy[]> {
  return proxyRows.find(call.db, ids, known(allowAnywhere(call.caller, 'proxies:read')))
}

/** The organization's entries, newest first. @throws BerthError invalid_request. */
export async function pageProxies(
  call: Call,
  window: PageWindow,
  filter?: ProxyFilter | null,
  direction?: Direction,
): Promise<Page<Proxy>> {
  const scope = allow(call.caller, 'proxies:read')
  const vmId = filter?.vmId ?? null
  const chosen = vmId === null ? sql`true` : sql`vm_id = ${decodeId('vm', vmId) ?? null}::uuid`
  return proxyRows.page(call.db, window, sql`${known(scope)} and ${chosen}`, direction)
}

/** The entries of each of these VMs, by their stored ids, newest first. @throws BerthError invalid_request. */
export async function pageProxiesOfEach(
  call: Call,
  vmIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<Proxy>> {
  const reach = allowAnywhere(call.caller, 'proxies:read')
  return proxyRows.pageOfEach(call.db, window, {
    parents: sql`select id from vms where id = any(${vmIds}::uuid[]) and ${knownVms(reach)}`,
    parentName: 'VM',
    chosen: sql`vm_id = parent.id`,
    direction,
  })
}

/** The condition for entries that a caller may see: those of VMs that they may see. */
function known(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`${owned(scope)} and vm_id in (select id from vms where ${knownVms(scope)})`
}

/** The VM has room for one more service, and none of this name. @throws BerthError invalid_request, rate_limited. */
async function checkService(tx: Tx, vm: Vm, serviceName: string): Promise<void> {
  if (await findService(tx, vm.id, serviceName))
    throw new BerthError(
      'invalid_request',
      `The VM has a service ${serviceName} already. Choose another service_name, or delete that entry first.`,
      { field: 'service_name' },
    )
  await checkCount(tx, vm.organizationId, {
    rows: sql`proxies where vm_id = ${vm.id}`,
    nouns: 'proxy entries of one VM',
    most: proxyLimits.perVm,
  })
}

/** The host of a new entry, and the custom domain that it belongs to. @throws BerthError invalid_request, invalid_domain. */
async function chooseHost(
  { config }: Pick<Call, 'config'>,
  tx: Tx,
  vm: Vm,
  serviceName: string,
  domain: string | null | undefined,
): Promise<{ host: string; domainId: string | null }> {
  if (!isGiven(domain)) return { host: await generatedHost(tx, config, serviceName, vm), domainId: null }
  const host = readHost(domain)
  const isOurs = await isBelowPlatform(tx, config, host, vm)
  return { host, domainId: isOurs ? null : await provedDomain(tx, vm.organizationId, host) }
}

function taken(host: string, path: string): BerthError {
  return new BerthError(
    'invalid_request',
    `${host}${path} leads elsewhere already. Choose another domain. If what has it is yours, choose another path, or delete it first.`,
    { field: 'domain' },
  )
}

type Read = Pick<Proxy, 'serviceName' | 'vmPort' | 'path' | 'deploymentType' | 'wakes'>

function readOrder({ serviceName, vmPort, ...order }: ProxyOrder): Read {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(serviceName))
    throw new BerthError(
      'invalid_request',
      'service_name must be 1 to 63 lower-case letters, digits and hyphens, and begin with a letter.',
      { field: 'service_name' },
    )
  wholeNumber('vm_port', vmPort, 1, 65_535)
  const deploymentType = order.deploymentType ?? 'vm'
  const path = readDomainPath(order.path)
  if (deploymentType === 'database' && path !== '/')
    throw new BerthError(
      'invalid_request',
      'An entry of deployment_type database passes connections on as they are, so it has no path: leave it out.',
      { field: 'path' },
    )
  return { serviceName, vmPort, path, deploymentType, wakes: order.wakeOnRequest ?? deploymentType === 'preview' }
}

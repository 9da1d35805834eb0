/** The host names of proxy entries: those that Berth makes, and which other names an entry may have. */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, idPrefixes } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { isWildcard, readDomainName } from '#src/resources/infra/routes/names.ts'
import { wasHostOfFunction } from '#src/resources/infra/functions/rows.ts'
import { readPreviewHost } from './preview-tokens.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'

const hostLength = 253
const endLength = 8
const endHexDigits = 10 // eight characters of five bits

/** Names below the platform's domain that are its own, or that people would take for its own. */
const platformLabels: ReadonlySet<string> = new Set(
  `account accounts acme admin api app apps auth autoconfig autodiscover billing blog cdn cloud community console dashboard db
  docs edge functions git graphql health help id identity imap ingress internal llm localhost login mail metrics mx ns ns1 ns2
  oauth pop postgres preview previews root security shop smtp sso static status support system webmail wpad www`.split(
    /\s+/,
  ),
)

/**
 * The name that Berth makes for a service: its name, the last eight characters of its VM's id, the platform's domain.
 * @throws BerthError invalid_request when that is no host name, or when these characters are an older VM's.
 */
export async function generatedHost(
  tx: Tx,
  { domain }: Pick<Config, 'domain'>,
  serviceName: string,
  vm: Pick<Vm, 'id' | 'createdAt'>,
): Promise<string> {
  if (serviceName.length > Math.min(proxyLimits.generatedNameLength, hostLength - domain.length - endLength - 2))
    throw new BerthError(
      'invalid_request',
      `service_name is too long: where the host name is made of it, it may have ${proxyLimits.generatedNameLength} characters. Shorten it, or give a domain.`,
      { field: 'service_name' },
    )
  if (serviceName.slice(2, 4) === '--')
    throw new BerthError(
      'invalid_request',
      'service_name may not have -- as its third and fourth character where the host name is made of it. Choose another one, or give a domain.',
      { field: 'service_name' },
    )
  // Callers may choose the id of a VM, so they could choose another one's last characters: also a deleted one's, whose
  // names are still in bookmarks, cookies and webhooks.
  const older = await findOne(
    tx,
    sql`
      select 1
      from vms
      where right(id::text, ${sql.lit(endHexDigits)}) = right(${vm.id}::text, ${sql.lit(endHexDigits)})
        and (created_at, id) < (${vm.createdAt}, ${vm.id})`,
  )
  const host = `${serviceName}-${encodeId('vm', vm.id).slice(-endLength)}.${domain}`
  if (older || (await wasHostOfFunction(tx, host)))
    throw new BerthError(
      'invalid_request',
      'The id of this VM ends as that of another VM or function, so no host name can be made of it. Give a domain, or use another VM.',
      { field: 'vm_id' },
    )
  return host
}

/** A host name as callers give one, in its stored spelling. @throws BerthError invalid_domain. */
export function readHost(given: string): string {
  const host = readDomainName(given)
  if (!isWildcard(host)) return host
  throw new BerthError(
    'invalid_domain',
    'domain must be a single name for an entry, such as app.example.com, without *. before it.',
    { field: 'domain' },
  )
}

/**
 * The custom domain that a host belongs to, locked against changes: one that the organization has proved, by this name or by
 * all names beside it. @throws BerthError invalid_domain when there is none.
 */
export async function provedDomain(tx: Tx, organizationId: string, host: string): Promise<string> {
  const wildcard = `*.${host.slice(host.indexOf('.') + 1)}`
  const domain = await findOne<{ id: string }>(
    tx,
    sql`
    select id from domains where organization_id = ${organizationId} and name in (${host}, ${wildcard}) and status in ('verified', 'active')
    order by (name = ${host}) desc limit 1 for share`,
  )
  if (domain) return domain.id
  throw new BerthError(
    'invalid_domain',
    `${host} is no domain that your organization has proved. Claim and prove it first, or leave domain out to get a name that is made for the service.`,
    { field: 'domain' },
  )
}

/**
 * Whether a host is the platform's domain or a name below it.
 * @throws BerthError invalid_request when it is the platform's own, or made for another VM.
 */
export async function isBelowPlatform(
  tx: Tx,
  { domain, publicUrl }: Pick<Config, 'domain' | 'publicUrl'>,
  host: string,
  vm: Pick<Vm, 'id'>,
): Promise<boolean> {
  if (host === new URL(publicUrl).hostname) throw platformsOwn(host)
  if (host === domain) throw platformsOwn(host)
  if (!host.endsWith(`.${domain}`)) return false
  const name = host.slice(0, -domain.length - 1)
  if (name.includes('.'))
    throw new BerthError(
      'invalid_request',
      `domain may have one name below ${domain}, such as my-shop.${domain}, and this one has more.`,
      { field: 'domain' },
    )
  if (platformLabels.has(name) || name.slice(2, 4) === '--' || readPreviewHost({ domain }, host))
    throw platformsOwn(host)
  if ((await isMadeForAnother(tx, name, vm)) || (await wasHostOfFunction(tx, host))) throw platformsOwn(host)
  return true
}

/** Whether a name has the form of those that Berth makes for another VM, also one that is deleted. */
async function isMadeForAnother(tx: Tx, name: string, vm: Pick<Vm, 'id'>): Promise<boolean> {
  const end = name.at(-endLength - 1) === '-' ? name.slice(-endLength) : ''
  const uuid = end && decodeId('vm', `${idPrefixes.vm}_${end.padStart(26, '0')}`)
  if (!uuid) return false
  const other = await findOne(
    tx,
    sql`select 1 from vms where right(id::text, ${sql.lit(endHexDigits)}) = ${uuid.slice(-endHexDigits)} and id <> ${vm.id}`,
  )
  return other !== undefined
}

function platformsOwn(host: string): BerthError {
  return new BerthError(
    'invalid_request',
    `${host} is reserved. Choose another name, or leave domain out to get one that is made for the service.`,
    { field: 'domain' },
  )
}

/** What a VM may reach, decided by host name and port alone, before anything is resolved or dialled. */
import { isIP } from 'node:net'
import { BerthError } from '#src/platform/errors.ts'
import { isLocalhostName, normalHost } from '#src/drivers/addresses.ts'

/**
 * The policy of one VM: an environment's `networking`, and `none`.
 * `allowedHosts` are exact names or addresses, or `*.suffix`, which means every name below the suffix and not the suffix itself.
 */
export type EgressPolicy =
  | { type: 'none' }
  | { type: 'unrestricted' }
  | { type: 'limited'; allowedHosts: readonly string[]; allowPackageManagers: boolean }

/** Why a connection was refused: a few words for a status line, and a sentence that says what to do. */
export type EgressRefusal = { rule: string; sentence: string }

/** Says whether a VM may open this port of this host (both in normal form); null means it may. */
export type EgressJudge = (host: string, port: number) => EgressRefusal | null

/** The name of the host inside VMs. */
export const hostName = 'host.berth.internal'

/** The maximum number of hosts in one policy. */
export const allowedHostsMax = 500

/**
 * The public package registries that `allow_package_managers` opens, with the hosts their clients are sent on to.
 * Mirrors in an isolated network use the same names, or are listed in `allowed_hosts`.
 */
export const packageManagerHosts: Readonly<Record<string, readonly string[]>> = {
  apt: ['deb.debian.org', 'security.debian.org'],
  pip: ['pypi.org', 'files.pythonhosted.org'],
  npm: ['registry.npmjs.org', 'registry.yarnpkg.com'],
  cargo: ['crates.io', 'index.crates.io', 'static.crates.io'],
  gem: ['rubygems.org', 'index.rubygems.org'],
  go: ['proxy.golang.org', 'sum.golang.org'],
}

const packageHosts: ReadonlySet<string> = new Set(Object.values(packageManagerHosts).flat())

/**
 * Every port is open but this one: CONNECT also carries git over ssh, databases and whatever a program speaks,
 * but a VM that sends mail directly to mail servers gets its host's address onto block lists.
 * Submission with a login (465, 587) stays open.
 */
const mailPort = 25

/**
 * Parses a policy once for the many connections that it will decide.
 * @param hostPorts ports of this host that BERTH_VM_HOST_PORTS opens to VMs
 * @throws BerthError invalid_request naming the entry of `allowedHosts` that is not a host
 */
export function judgeOf(policy: EgressPolicy, hostPorts: ReadonlySet<number>): EgressJudge {
  const allows = allowanceOf(policy)
  return (host, port) => {
    if (policy.type === 'none') return { rule: 'no network', sentence: 'This VM has no network.' }
    // host.berth.internal is no exception: a limited VM reaches it only when it is listed.
    if (!allows(host))
      return {
        rule: 'host not allowed',
        sentence: 'The network policy of this VM does not allow this host; add it to allowed_hosts.',
      }
    if (host === hostName) {
      if (hostPorts.has(port)) return null
      return {
        rule: 'host port closed',
        sentence: `Port ${port} of the host is not open to VMs; the operator opens it with BERTH_VM_HOST_PORTS.`,
      }
    }
    if (isLocalhostName(host)) {
      return {
        rule: 'loopback address',
        sentence: `Loopback addresses may not be reached; ports of the host that are open to VMs are at ${hostName}.`,
      }
    }
    if (port === mailPort)
      return {
        rule: 'port 25',
        sentence:
          'Port 25 is closed to keep mail servers from blocking this host; submit mail with a login on port 465 or 587.',
      }
    return null
  }
}

function allowanceOf(policy: EgressPolicy): (host: string) => boolean {
  if (policy.type !== 'limited') return () => policy.type === 'unrestricted'
  if (policy.allowedHosts.length > allowedHostsMax)
    throw new BerthError('invalid_request', `allowed_hosts may hold ${allowedHostsMax} hosts at most.`)
  const exact = new Set<string>(policy.allowPackageManagers ? packageHosts : [])
  const suffixes: string[] = []
  policy.allowedHosts.forEach((entry, at) => {
    const below = entry.startsWith('*.')
    const host = normalHost(below ? entry.slice(2) : entry)
    if (host === null || (below && isIP(host) !== 0))
      throw new BerthError(
        'invalid_request',
        `allowed_hosts[${at}] must be a host such as example.com or *.example.com, without scheme, port or path.`,
      )
    if (below) suffixes.push(`.${host}`)
    else exact.add(host)
  })
  return (host) => exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix))
}

/** What VMs may connect to, as files have it. */
import { at } from '../values.ts'
import type { Fields } from '../section.ts'

/** The policy of a VM. */
export function networkPolicyOf(policy: unknown): Fields | undefined {
  const type = at(policy, 'type')
  if (type === 'NONE') return { none: true }
  if (type === 'UNRESTRICTED') return { unrestricted: true }
  if (type !== 'LIMITED') return undefined
  const { allowPackageManagers, allowedHosts } = policy as Fields // it has a type
  return { limited: { allowPackageManagers, allowedHosts } }
}

/** That of an environment. */
export function networkingOf(networking: unknown): Fields | undefined {
  const kind = at(networking, '__typename')
  if (kind === 'UnrestrictedNetworking') return { unrestricted: true }
  if (kind !== 'LimitedNetworking') return undefined
  const { allowMcpServers, allowPackageManagers, allowedHosts } = networking as Fields // it has a type
  return { limited: { allowMcpServers, allowPackageManagers, allowedHosts } }
}

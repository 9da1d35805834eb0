/**
 * The addresses that may not be reached on a user's behalf, and the parsing of hosts. 192.0.2.0/24, 198.51.100.0/24 and
 * 203.0.113.0/24 (and 2001:db8::/32) are allowed: isolated networks put their package mirrors there.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Why an address is refused. The words are shown to callers. */
export type AddressRule =
  | 'malformed'
  | 'unspecified'
  | 'loopback'
  | 'metadata'
  | 'link-local'
  | 'private'
  | 'carrier'
  | 'multicast'
  | 'broadcast'
  | 'tunnel'
  | 'reserved'
  | 'own'

/** The first rule that matches gives the reason, so narrow ranges come before wide ones. */
const ranges: readonly (readonly [AddressRule, readonly string[]])[] = [
  ['unspecified', ['0.0.0.0/8', '::/128']],
  ['loopback', ['127.0.0.0/8', '::1/128']],
  // Metadata services, where clouds hand a machine its credentials; 168.63.129.16 is the one with a public address.
  [
    'metadata',
    [
      '169.254.169.254/32',
      '169.254.170.2/32',
      '168.63.129.16/32',
      '192.0.0.192/32',
      '100.100.100.200/32',
      'fd00:ec2::254/128',
      'fd20:ce::254/128',
    ],
  ],
  ['link-local', ['169.254.0.0/16', 'fe80::/10']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10']],
  ['carrier', ['100.64.0.0/10']],
  ['multicast', ['224.0.0.0/4', 'ff00::/8']],
  ['broadcast', ['255.255.255.255/32']],
  // These embed an IPv4 address that a relay unpacks, so they are refused altogether: Teredo, 6to4, ORCHID.
  ['tunnel', ['2001::/32', '2001:10::/28', '2001:20::/28', '2002::/16', '192.88.99.0/24']],
  ['reserved', ['192.0.0.0/24', '198.18.0.0/15', '240.0.0.0/4']],
]

/**
 * IPv6 prefixes whose last 32 bits are an IPv4 address to which the IPv4 rules apply: mapped addresses, and NAT64
 * addresses as DNS64 returns them.
 */
const carriers = ['::ffff:', '64:ff9b::']

const rules: readonly (readonly [AddressRule, BlockList])[] = ranges.map(([rule, subnets]) => [
  rule,
  blockListOf(subnets),
])
const judgedByIpv4 = blockListOf(carriers.map((prefix) => `${prefix}0.0.0.0/96`))
/** The part of IPv6 that the internet uses; the rest is reserved, or a form of IPv4 such as ::127.0.0.1 or ::ffff:0:127.0.0.1. */
const globalUnicast = blockListOf(['2000::/3'])

/**
 * The rule that refuses this numeric address, or null when it is allowed. An address of this host's own interfaces is
 * refused too (`own`): its firewall guards it from outside only.
 */
export function refusalOf(address: string): AddressRule | null {
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return 'malformed' // a zone id names one of our own links
  const family = version === 6 ? 'ipv6' : 'ipv4'
  for (const [rule, list] of rules) if (list.check(address, family)) return rule
  if (family === 'ipv6' && !globalUnicast.check(address, family) && !judgedByIpv4.check(address, family))
    return 'reserved'
  return ownAddresses().check(address, family) ? 'own' : null
}

/**
 * The one spelling of a host: a dotted IPv4 address, an IPv6 address without brackets, or a lower-case ASCII
 * name without a trailing dot; null when it is not a host. Accepts every spelling that resolvers and browsers
 * take for an address: `2130706433`, `0x7f.1`, `0177.1`, `127.1`, full-width digits.
 */
export function normalHost(text: string): string | null {
  if (text.length > longestHostText) return null
  if (isIP(text) === 6) return text.includes('%') ? null : urlHost(`[${text}]`)
  const bracketed = text.startsWith('[') && text.endsWith(']')
  if (/[\u0000-\u0020\u007f%/\\?#@]/.test(text) || (!bracketed && /[:[\]]/.test(text))) return null
  const host = urlHost(text)
  if (host === null || isIP(host) !== 0) return host
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  return name.length <= longestNameText && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name) ? name : null
}

/**
 * Reads `host:port`, as in a CONNECT request or between the slashes of a URL; a user name before `@` is dropped.
 * @param defaultPort used when the text names none; without it a port is required
 */
export function parseAuthority(text: string, defaultPort?: number): { host: string; port: number } | null {
  const parts = /^(?:[^@]*@)?(\[[^\]]*\]|[^:@]*)(?::(\d{1,5}))?$/.exec(text)
  if (!parts) return null
  const host = normalHost(parts[1] ?? '')
  const port = parts[2] === undefined ? defaultPort : Number(parts[2])
  if (host === null || port === undefined || port < 1 || port > 65_535) return null
  return { host, port }
}

const longestNameText = 253 // characters of a DNS name
const longestHostText = 1024 // characters before it is normalised; full-width forms are longer than their meaning

/** The WHATWG URL parser knows every spelling of an address, so it is the one that reads them. */
function urlHost(text: string): string | null {
  const url = URL.parse(`http://${text}/`)
  return url ? url.hostname.replace(/^\[|\]$/g, '') || null : null
}

function ownAddresses(): BlockList {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  return blockListOf(all.map(({ address, family }) => `${address.replace(/%.*/, '')}/${family === 'IPv4' ? 32 : 128}`))
}

function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', bits = ''] = subnet.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, Number(bits), family)
    if (family === 'ipv4')
      for (const prefix of carriers) list.addSubnet(`${prefix}${address}`, 96 + Number(bits), 'ipv6')
  }
  return list
}

/** Whether a name means the loopback address: `localhost`, and all names below it. */
export function isLocalhostName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

/** The key by which addresses are counted: for IPv6 the /64 network, because a client usually has all of it. */
export function neighbourhood(address: string): string {
  if (!isIPv6(address) || address === '::1') return address
  const mapped = address.slice(address.lastIndexOf(':') + 1)
  if (isIPv4(mapped)) return mapped
  const [front = '', back] = address.split('%')[0]?.split('::') ?? []
  const groups = front.split(':').filter(Boolean)
  const missing = back === undefined ? 0 : 8 - groups.length - back.split(':').filter(Boolean).length
  return [...groups, ...Array.from({ length: missing }, () => '0'), ...(back ?? '').split(':').filter(Boolean)]
    .slice(0, 4)
    .join(':')
}

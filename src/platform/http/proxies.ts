/** Who a request comes from: who connected, or, where that is a proxy of the operator's, who it says. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** Proxies that an operator trusts (`BERTH_TRUSTED_PROXIES`). */
export type Proxies = {
  /** @param address of who is at the other end of a connection, as `plainAddress` has it. */
  includes(address: string): boolean
  /** The address of who sent the request; empty when it has gone. */
  clientOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string
}

/** Proxies read X-Forwarded-For from its end, which is what the last one wrote. Unit: addresses. */
const forwardedMax = 32

/** @param networks addresses, and networks as 10.0.0.0/8. */
export function createProxies(networks: readonly string[]): Proxies {
  const list = blockListOf(networks)
  const includes = (address: string): boolean =>
    list !== null && isIP(address) !== 0 && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return {
    includes,
    clientOf({ headers, socket }) {
      let client = plainAddress(socket.remoteAddress ?? '')
      if (!includes(client)) return client
      const said = String(headers['x-forwarded-for'] ?? '').split(',')
      for (const one of said.toReversed().slice(0, forwardedMax)) {
        const address = plainAddress(one.trim())
        if (isIP(address) === 0) return client // what is no address says nothing about who is before it
        client = address
        if (!includes(client)) return client
      }
      return client
    },
  }
}

/** An IPv4 address that comes as IPv6, where one socket listens to both, as IPv4. */
export function plainAddress(address: string): string {
  const mapped = '::ffff:'
  const plain = address.startsWith(mapped) ? address.slice(mapped.length) : address
  return isIPv4(plain) ? plain : address
}

const groupsOfAddress = 8
const groupsOfNetwork = 4 // the 64 bits that one customer has at least

/** Whose an address is, for what is limited for each: of IPv6 its /64, as `2001:db8:0:0::/64`; of IPv4, and of what is none, itself. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [plain = ''] = address.split('%')
  const [first = [], last = []] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::').map(groupsIn)
  const zeros = Array<string>(groupsOfAddress - first.length - last.length).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, groupsOfNetwork).join(':')}::/64`
}

function groupsIn(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function blockListOf(networks: readonly string[]): BlockList | null {
  if (networks.length === 0) return null
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

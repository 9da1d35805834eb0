/** Who is at the other end of a connection, and what targets are told of that. */
import { BlockList, isIPv4, isIPv6, type Socket } from 'node:net'

/** The other end of a connection, which says the same of itself in each request. */
export type Peer = {
  /** Its address, IPv4 as IPv4. */
  address: string
  /** Whether it is a proxy of the operator's, whose word about its own clients counts. */
  isTrusted: boolean
  isSecure: boolean
  /** The name that it gave in its TLS greeting; null without TLS. */
  serverName: string | null
  /** Whether one of its requests could be read in two ways: nothing behind that one is read. */
  isRefused: boolean
  /** What its requests say of where they come from, by the host that was last asked for. */
  told: { host: string; lines: string }
}

/** Reads who is there; trusted are these addresses and networks. */
export function createPeers(trusted: readonly string[]): (socket: Socket, serverName: string | null) => Peer {
  const list = blockListOf(trusted)
  return (socket, serverName) => {
    const address = plainAddress(socket.remoteAddress ?? '')
    const isTrusted = list !== null && address !== '' && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    return {
      address,
      isTrusted,
      isSecure: serverName !== null,
      serverName,
      isRefused: false,
      told: { host: '', lines: '' },
    }
  }
}

/** What is passed on of the headers that say where a request came from, where a trusted proxy set them. */
export type GivenOrigin = { for: string | null; proto: string | null; host: string | null }

/** Lines that tell a target where a request comes from. @param given what a trusted proxy said; null for everybody else */
export function originLines(peer: Peer, host: string, given: GivenOrigin | null): string {
  if (given) {
    const chain = given.for === null ? peer.address : `${given.for}, ${peer.address}`
    return linesOf(chain, given.proto ?? protoOf(peer), given.host ?? host, peer)
  }
  if (peer.told.host !== host) peer.told = { host, lines: linesOf(peer.address, protoOf(peer), host, peer) }
  return peer.told.lines
}

function linesOf(chain: string, proto: string, host: string, { address }: Peer): string {
  const node = isIPv6(address) ? `"[${address}]"` : address
  return `X-Forwarded-For: ${chain}\r\nX-Forwarded-Proto: ${proto}\r\nX-Forwarded-Host: ${host}\r\nForwarded: for=${node};host="${host}";proto=${proto}\r\n`
}

function protoOf({ isSecure }: Peer): string {
  return isSecure ? 'https' : 'http'
}

/** An IPv4 address that comes as IPv6, where one socket listens to both, as IPv4. */
function plainAddress(address: string): string {
  const mapped = '::ffff:'
  const plain = address.startsWith(mapped) ? address.slice(mapped.length) : address
  return isIPv4(plain) ? plain : address
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

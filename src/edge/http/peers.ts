/** Who is at the other end of a connection, and what targets are told of that. */
import { isIPv6, type Socket } from 'node:net'
import { createProxies, plainAddress } from '#src/platform/http/proxies.ts'

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
  forwarded: { host: string; lines: string }
}

/** Reads who is there; trusted are these addresses and networks. */
export function createPeers(trusted: readonly string[]): (socket: Socket, serverName: string | null) => Peer {
  const proxies = createProxies(trusted)
  return (socket, serverName) => {
    const address = plainAddress(socket.remoteAddress ?? '')
    return {
      address,
      isTrusted: proxies.includes(address),
      isSecure: serverName !== null,
      serverName,
      isRefused: false,
      forwarded: { host: '', lines: '' },
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
  if (peer.forwarded.host !== host) peer.forwarded = { host, lines: linesOf(peer.address, protoOf(peer), host, peer) }
  return peer.forwarded.lines
}

function linesOf(chain: string, proto: string, host: string, { address }: Peer): string {
  const node = isIPv6(address) ? `"[${address}]"` : address
  return `X-Forwarded-For: ${chain}\r\nX-Forwarded-Proto: ${proto}\r\nX-Forwarded-Host: ${host}\r\nForwarded: for=${node};host="${host}";proto=${proto}\r\n`
}

function protoOf({ isSecure }: Peer): string {
  return isSecure ? 'https' : 'http'
}

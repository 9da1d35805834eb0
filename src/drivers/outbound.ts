/**
 * The one guarded connector: every connection to a host that a user or an agent chose (VM egress, webhooks, MCP
 * servers, uploads) goes through it. A name is resolved once, all its addresses are checked, and a checked address is
 * dialled, so DNS rebinding has no effect.
 */
import { readFile, stat } from 'node:fs/promises'
import { connect, isIP, type Socket } from 'node:net'
import { buildConnector, type Agent } from 'undici'
import { normalHost, refusalOf, type AddressRule } from './addresses.ts'
import { askDns, DnsError, type DnsRecord } from './dns-questions.ts'
import { JoiningAgent } from './joining-agent.ts'

export { refusalOf } from './addresses.ts'

/** The time limit for resolving and connecting, milliseconds. */
const connectLimitMs = 10_000
/** The time limit for one address before the next is tried, milliseconds. */
const addressLimitMs = 4_000
/** One DNS query: milliseconds until the next try, and tries. */
const dnsQueryMs = 2_000
const dnsTries = 2
/** How many addresses of one name are dialled; further ones are only checked. */
const addressesTriedMax = 4
/** The maximum size of a hosts file, bytes. */
const hostsFileBytesMax = 4 * 1024 * 1024
/** How many nested causes of an error are examined. */
const causesMax = 5

/** What went wrong: `refused` by a rule, `unresolved` name, `unreachable`, `timeout`, or `cancelled` by the signal. */
export type OutboundProblem = 'refused' | 'unresolved' | 'unreachable' | 'timeout' | 'cancelled'

/** A connection that could not be made. The message is a sentence without addresses that may be shown to a caller. */
export class OutboundError extends Error {
  readonly problem: OutboundProblem
  /** The rule that refused, when one did. */
  readonly rule: AddressRule | null
  constructor(problem: OutboundProblem, sentence: string, rule: AddressRule | null = null) {
    super(sentence)
    this.name = 'OutboundError'
    this.problem = problem
    this.rule = rule
  }
}

/** An error and its causes, outermost first; five at most. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let at = error; at instanceof Error && causes.length < causesMax; at = at.cause) causes.push(at)
  return causes
}

/** The addresses of a normal host name; empty when there are none. Throws only when the resolver itself fails. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

/** What callers may replace: the resolver, the rule for addresses, the time limit in milliseconds. */
export type OutboundOptions = { resolve?: Resolve; refuse?: (address: string) => AddressRule | null; limitMs?: number }

/** The destination. `allowHalfOpen` keeps our half open when the other side has ended its own: for tunnels. */
export type OutboundTarget = { host: string; port: number; signal?: AbortSignal; allowHalfOpen?: boolean }

/**
 * A connected TCP socket to a host that may be reached, by a name or an address in any spelling.
 * @throws OutboundError
 */
export async function connectGuarded(target: OutboundTarget, options: OutboundOptions = {}): Promise<Socket> {
  const { resolve = resolveName, refuse = refusalOf, limitMs = connectLimitMs } = options
  const host = normalHost(target.host)
  if (host === null) throw refused('malformed')
  const limit = AbortSignal.timeout(limitMs)
  const signal = target.signal ? AbortSignal.any([limit, target.signal]) : limit
  try {
    const addresses = isIP(host) ? [host] : await resolve(host, signal)
    signal.throwIfAborted()
    if (addresses.length === 0)
      throw new OutboundError(
        'unresolved',
        'The name does not resolve. Check the address, and the name servers of the host that runs Berth.',
      )
    for (const address of addresses) {
      const rule = refuse(address)
      if (rule) throw refused(rule)
    }
    return await dialFirst(addresses, target, signal)
  } catch (thrown) {
    if (target.signal?.aborted) throw new OutboundError('cancelled', 'The connection was cancelled.')
    if (limit.aborted) throw new OutboundError('timeout', 'The host did not answer in time.')
    if (thrown instanceof OutboundError) throw thrown
    throw new OutboundError('unresolved', 'The name could not be resolved: its name server does not answer.')
  }
}

/** Whether the operator has opened this host (a name or an address without brackets) by BERTH_PRIVATE_HOSTS. */
export function isOpened(privateHosts: readonly string[], host: string, port: number): boolean {
  return privateHosts.includes(`${host.includes(':') ? `[${host}]` : host}:${port}`)
}

/** The same for the host and port of a URL. */
export function isOpenedUrl(privateHosts: readonly string[], { protocol, hostname, port }: URL): boolean {
  const usualPort = protocol === 'https:' ? 443 : 80
  return isOpened(privateHosts, hostname.replace(/^\[|\]$/g, ''), port === '' ? usualPort : Number(port))
}

/**
 * An undici Agent whose every connection is guarded, redirects' included. Use it with undici's own `fetch`: the global
 * one refuses it. In an error of fetch, `cause` is the OutboundError.
 * @param options.isOpen hosts that the operator has opened: their addresses are not checked.
 */
export function guardedAgent(
  options: OutboundOptions & Omit<Agent.Options, 'connect'> & { isOpen?: (host: string, port: number) => boolean } = {},
): Agent {
  const { resolve, refuse, limitMs, isOpen, ...agentOptions } = options
  const secure = buildConnector({ timeout: limitMs ?? connectLimitMs, allowH2: false })
  return new JoiningAgent({
    connections: 50, // open sockets to one origin
    ...agentOptions,
    connect(target, done) {
      const secured = target.protocol === 'https:'
      const to = { host: target.hostname, port: Number(target.port) || (secured ? 443 : 80) }
      connectGuarded(to, { resolve, refuse: isOpen?.(to.host, to.port) ? () => null : refuse, limitMs }).then(
        (socket) => (secured ? secure({ ...target, httpSocket: socket }, done) : done(null, socket)),
        (error: Error) => done(error, null),
      )
    },
  })
}

/**
 * A resolver of names: the hosts file first, then DNS with both A and AAAA, IPv4 in front.
 * Not dns.lookup: that blocks one of the process's four pool threads for as long as a name server stays silent, and the
 * names are untrusted. This also ignores search domains, with which a guest's `wiki` would mean the company's.
 */
export function createResolve(options: { servers?: readonly string[]; hostsFile?: string } = {}): Resolve {
  const { servers, hostsFile = '/etc/hosts' } = options
  const inHostsFile = hostsFileReader(hostsFile)
  return async (name, signal) => {
    const listed = (await inHostsFile()).get(name)
    if (listed) return listed
    signal.throwIfAborted()
    const ask = (record: DnsRecord): Promise<string[]> =>
      askDns({ record, name, servers: servers ?? null, limitMs: dnsQueryMs, tries: dnsTries }, signal)
    const answers = await Promise.allSettled([ask('A'), ask('AAAA')])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failed = answers.find((answer) => answer.status === 'rejected' && !isNoSuchName(answer.reason))
    if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason
    return addresses
  }
}

const resolveName = createResolve()

function isNoSuchName(reason: unknown): boolean {
  return reason instanceof DnsError && ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(reason.code)
}

/** Reads the hosts file again only when it has changed. */
function hostsFileReader(path: string): () => Promise<ReadonlyMap<string, string[]>> {
  let readAtMs = -1
  let names = new Map<string, string[]>()
  return async () => {
    const found = await stat(path).catch(() => null) // no file means no entries
    if (!found || found.size > hostsFileBytesMax) return new Map()
    if (found.mtimeMs !== readAtMs) {
      const next = new Map<string, string[]>()
      for (const line of (await readFile(path, 'utf8')).split('\n')) {
        const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/)
        if (isIP(address))
          for (const alias of aliases)
            next.set(alias.toLowerCase(), [...(next.get(alias.toLowerCase()) ?? []), address])
      }
      names = next
      readAtMs = found.mtimeMs
    }
    return names
  }
}

async function dialFirst(addresses: readonly string[], target: OutboundTarget, signal: AbortSignal): Promise<Socket> {
  let failure: unknown
  for (const address of addresses.slice(0, addressesTriedMax)) {
    try {
      return await dial(address, target, AbortSignal.any([signal, AbortSignal.timeout(addressLimitMs)]))
    } catch (thrown) {
      failure = thrown
      signal.throwIfAborted()
    }
  }
  const silent = failure instanceof Error && failure.name === 'TimeoutError'
  if (silent) throw new OutboundError('timeout', 'The host did not answer in time.')
  throw new OutboundError('unreachable', 'The host could not be reached on this port.')
}

/** Connects to a checked address, without a second DNS lookup. */
function dial(address: string, target: OutboundTarget, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: address,
      port: target.port,
      allowHalfOpen: target.allowHalfOpen ?? false,
      noDelay: true,
      keepAlive: true,
    })
    const giveUp = (): void => {
      socket.destroy()
      reject(signal.reason)
    }
    signal.addEventListener('abort', giveUp, { once: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      signal.removeEventListener('abort', giveUp)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

function refused(rule: AddressRule): OutboundError {
  return new OutboundError('refused', refusalSentences[rule], rule)
}

const refusalSentences: Record<AddressRule, string> = {
  malformed: 'This is not a host name or address.',
  unspecified: 'The unspecified address may not be reached.',
  loopback: 'Loopback addresses may not be reached.',
  metadata: 'Metadata services of clouds may not be reached.',
  'link-local': 'Link-local addresses may not be reached.',
  private: 'Private addresses may not be reached.',
  carrier: 'Addresses of carrier-grade NAT may not be reached.',
  multicast: 'Multicast addresses may not be reached.',
  broadcast: 'The broadcast address may not be reached.',
  tunnel: 'Addresses of IPv6 tunnels may not be reached.',
  reserved: 'Reserved addresses may not be reached.',
  own: 'Addresses of the Berth host itself may not be reached.',
}

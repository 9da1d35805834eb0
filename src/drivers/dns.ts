/**
 * What the DNS says of a name right now: asked of the servers that its zone names as its own, not of a cache. Where those
 * are is asked of the operator's name servers. The zone may be anybody's, so its servers count as any host that a user
 * chose: private addresses are not asked, and only the operator's own servers may listen elsewhere than on port 53.
 */
import { getServers } from 'node:dns/promises'
import { isIPv6 } from 'node:net'
import { getDomain } from 'tldts'
import type { Config } from '#src/platform/config.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { refusalOf } from './addresses.ts'
import { askDns, DnsError, type DnsRecord } from './dns-questions.ts'
import { isOpened } from './outbound.ts'

/**
 * What was answered. `absent`: the zone says that there is no such record. `silent`: its servers gave no answer.
 * `unknown`: the operator's servers gave none, which says nothing about the zone. `why` is a sentence.
 */
export type DnsAnswer =
  | { state: 'found'; values: readonly string[] }
  | { state: 'absent' | 'silent' | 'unknown'; why: string }

/** Where a name leads: the CNAMEs on the way, in order, and the addresses at their end. */
export type DnsAddresses = { aliases: readonly string[]; answer: DnsAnswer }

/** Answers questions about names; each answer is kept for as long as this is. */
export type DnsLookup = {
  /** The TXT records of exactly this name, each in one piece. A CNAME is not followed: its target may be anybody's. */
  texts(name: string): Promise<DnsAnswer>
  /** The CNAME of this name. */
  alias(name: string): Promise<DnsAnswer>
  /**
   * The addresses of this name, IPv4 and IPv6, across CNAMEs.
   * @param isEnd whether an alias is where the question may end; then `values` is empty.
   */
  addresses(name: string, isEnd: (alias: string) => boolean): Promise<DnsAddresses>
}

/** The servers of a zone. */
type Zone = { ask: (record: DnsRecord, name: string) => Promise<DnsAnswer> }
type Server = { address: string; port: number }

const dnsPort = 53
const first = 'The name servers that Berth asks first'
const again = 'Berth tries again.'
/** An answer of c-ares that says that something is not there. */
const noName = new Set(['ENOTFOUND', 'EBADNAME', 'EBADQUERY'])
const noAnswer = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EDESTRUCTION', 'ECONNRESET'])

/**
 * Starts to look names up.
 * @param signal ends everything that is still asked; its answers are then `silent` or `unknown`.
 */
export function openDnsLookup(settings: Pick<Config, 'dnsServers' | 'privateHosts'>, signal: AbortSignal): DnsLookup {
  const zones = openZones(settings, signal)
  const { ask } = zones

  async function addressesAt(name: string): Promise<DnsAnswer> {
    const [four, six] = await Promise.all([ask('A', name), ask('AAAA', name)])
    if (four.state === 'found' && six.state === 'found')
      return { state: 'found', values: [...four.values, ...six.values] }
    return four.state === 'absent' && six.state === 'found' ? six : four
  }

  return {
    alias: (name) => ask('CNAME', name),
    async texts(name) {
      const alias = await ask('CNAME', name)
      if (alias.state !== 'found') return alias.state === 'absent' ? ask('TXT', name) : alias
      return { state: 'absent', why: `${name} is a CNAME of ${alias.values[0]}; the TXT record must be at it itself.` }
    },
    async addresses(name, isEnd) {
      const aliases: string[] = []
      for (let at = name; aliases.length <= domainLimits.aliasesMax; ) {
        const alias = await ask('CNAME', at)
        if (alias.state === 'absent') return { aliases, answer: await addressesAt(at) }
        if (alias.state !== 'found') return { aliases, answer: alias }
        const target = withoutDot(alias.values[0] ?? '')
        if (target === '' || aliases.includes(target) || target === name) break
        aliases.push(target)
        if (isEnd(target)) return { aliases, answer: { state: 'found', values: [] } }
        at = target
      }
      return { aliases, answer: { state: 'absent', why: `The CNAMEs of ${name} lead nowhere, or are too many.` } }
    },
  }
}

/** What asks the servers of whatever zone a name is in. */
function openZones(
  { dnsServers, privateHosts }: Pick<Config, 'dnsServers' | 'privateHosts'>,
  signal: AbortSignal,
): Pick<Zone, 'ask'> {
  const own = (dnsServers.length > 0 ? dnsServers : getServers()).map(readServer)
  const directory: Zone = { ask: asker(first, own, signal, 'absent') }
  const zones = new Map<string, Promise<Zone | null>>()

  function zoneOf(name: string): Promise<Zone | null> {
    const known = zones.get(name)
    if (known) return known
    const finding = findZone(name)
    zones.set(name, finding)
    return finding
  }

  /** The zone that a name is in; null when the operator's servers do not answer. */
  async function findZone(name: string): Promise<Zone | null> {
    // A name with a CNAME is in the zone above: the name servers that would be found are those of its target.
    const alias = await directory.ask('CNAME', name)
    const servers = alias.state === 'found' ? alias : await directory.ask('NS', name)
    if (servers.state === 'silent') return null
    if (alias.state !== 'found' && servers.state === 'found') return zoneServedBy(name, servers.values)
    const above = name.slice(name.indexOf('.') + 1)
    // Servers that know of no zone are themselves the last to ask, as a company's own may be.
    return name === getDomain(name) || !name.includes('.') ? directory : zoneOf(above)
  }

  async function zoneServedBy(zone: string, names: readonly string[]): Promise<Zone> {
    const asked = names.slice(0, domainLimits.zoneServersMax)
    const whose = `The name servers of ${zone} (${asked.join(', ')})`
    const found = await Promise.all(
      asked.map(async (name) => {
        const addresses = await directory.ask('A', name)
        return addresses.state === 'found' ? addresses : directory.ask('AAAA', name)
      }),
    )
    const addresses = found.flatMap((answer) => (answer.state === 'found' ? answer.values : []))
    const servers = [...new Set(addresses)].flatMap((address) => openServer(address) ?? [])
    if (servers.length > 0)
      return { ask: asker(whose, servers.slice(0, domainLimits.zoneServersMax), signal, 'silent') }
    const why = `${whose} have no ${addresses.length > 0 ? 'public ' : ''}address.`
    return { ask: async () => ({ state: 'silent', why }) }
  }

  /** How a zone's server at this address is asked; undefined when it may not be. */
  function openServer(address: string): Server | undefined {
    const ours = own.find((server) => server.address === address)
    if (ours) return ours
    const isOpen = isOpened(privateHosts, address, dnsPort)
    return isOpen || refusalOf(address) === null ? { address, port: dnsPort } : undefined
  }

  return {
    async ask(question, name) {
      const zone = await zoneOf(lastLabels(name))
      if (!zone) return { state: 'unknown', why: `${first} do not answer. ${again}` }
      const answer = await zone.ask(question, name)
      return zone === directory && answer.state === 'silent'
        ? { state: 'unknown', why: `${answer.why} ${again}` }
        : answer
    },
  }
}

/**
 * What asks these servers, one after the other until one answers.
 * @param refused what it means that they refuse to answer, or fail.
 */
function asker(
  whose: string,
  servers: readonly Server[],
  signal: AbortSignal,
  refused: 'absent' | 'silent',
): Zone['ask'] {
  const asked = {
    servers: servers.map(({ address, port }) => `${isIPv6(address) ? `[${address}]` : address}:${port}`),
    limitMs: domainLimits.questionMs,
    tries: domainLimits.questionTries,
  }
  return async (record, name) => {
    if (signal.aborted) return { state: 'silent', why: `${whose} did not answer in time.` }
    try {
      const values = await askDns({ record, name, ...asked }, signal)
      return values.length > 0
        ? { state: 'found', values }
        : { state: 'absent', why: `${name} has no ${record} record.` }
    } catch (error) {
      if (!(error instanceof DnsError)) throw error
      const { code } = error
      if (noName.has(code)) return { state: 'absent', why: `There is no name ${name}.` }
      if (code === 'ENODATA') return { state: 'absent', why: `${name} has no ${record} record.` }
      if (noAnswer.has(code)) return { state: 'silent', why: `${whose} do not answer.` }
      return { state: refused, why: `${whose} answer with an error (${code.slice(1)}) for ${name}.` }
    }
  }
}

/** The end of a name, of as many labels as are searched for a zone. */
function lastLabels(name: string): string {
  return name
    .split('.')
    .filter((label) => label !== '*')
    .slice(-domainLimits.zoneLabelsMax)
    .join('.')
}

function withoutDot(name: string): string {
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase()
}

/** Reads an address with or without a port, as the setting and the system write it. */
function readServer(text: string): Server {
  const [, bracketed, port] = /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? []
  if (bracketed !== undefined) return { address: bracketed, port: Number(port ?? dnsPort) }
  if (isIPv6(text)) return { address: text, port: dnsPort }
  const [address = '', given] = text.split(':')
  return { address, port: Number(given ?? dnsPort) }
}

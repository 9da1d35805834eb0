/** What `npm start` and the doctor say of the edge: its ports, and whether names below the platform's domain lead here. */
import { Resolver } from 'node:dns/promises'
import { isLocalhostName } from '../drivers/addresses.ts'
import type { Config } from '../platform/config.ts'
import { takesConnections } from './announcement.ts'
import { verdict, type Check } from './checks.ts'
import { whyNotListen } from './instance.ts'

const questionMs = 2_000
const questionTries = 2
/** A name that nobody has, so that only the record for all names answers. */
const anyName = 'berth-doctor'

type Ports = Pick<Config, 'host' | 'httpPort' | 'httpsPort'>

/** The ports of proxies and domains, with their settings. */
function portsOf({ httpPort, httpsPort }: Ports): [port: number, setting: string][] {
  return [
    [httpPort, 'BERTH_HTTP_PORT'],
    [httpsPort, 'BERTH_HTTPS_PORT'],
  ]
}

/** Why proxies and domains cannot be served, with what to do about it; null when they can. Berth starts without. */
export async function whyNoEdgePorts(config: Ports): Promise<string | null> {
  for (const [port, setting] of portsOf(config)) {
    const reason = await whyNotListen(config.host, port)
    if (reason === 'EADDRINUSE')
      return `Another program listens on port ${port}. Stop it, or set ${setting} to a free port.`
    if (reason !== null)
      return `Cannot listen on ${config.host} port ${port}: ${reason}. Set ${setting} to what this user may listen on.`
  }
  return null
}

/** Every check of this file. @param isRunning whether `npm start` runs on this data folder */
export async function checkEdge(config: Config, isRunning: boolean): Promise<Check[]> {
  return [isRunning ? await checkAnswers(config) : await checkFree(config), await checkDomain(config)]
}

async function checkAnswers(config: Config): Promise<Check> {
  const taken = await Promise.all(portsOf(config).map(([port]) => takesConnections(config, port)))
  return verdict(
    `proxies and domains are served at the ports ${config.httpPort} (HTTP) and ${config.httpsPort} (HTTPS)`,
    taken.includes(false) ? `nobody listens at ${taken[0] ? config.httpsPort : config.httpPort}` : null,
    'Wait a few seconds; if it stays, read what the process edge prints: perhaps another program had the port.',
  )
}

async function checkFree(config: Config): Promise<Check> {
  const reason = await whyNoEdgePorts(config)
  return verdict(
    `ports ${config.httpPort} (HTTP) and ${config.httpsPort} (HTTPS) of ${config.host}, for proxies and domains, are free`,
    reason && 'no',
    reason ?? '',
  )
}

async function checkDomain({
  domain,
  dnsServers,
  ingressIpv4,
}: Pick<Config, 'domain' | 'dnsServers' | 'ingressIpv4'>): Promise<Check> {
  if (isLocalhostName(domain))
    return {
      verdict: 'neither',
      what: `names below ${domain}: they lead to this host, on this host only`,
      remedy: 'Set BERTH_DOMAIN to a domain whose names lead here, so that others reach proxies and previews.',
    }
  const what = `names below ${domain} lead to ${ingressIpv4}`
  const resolver = new Resolver({ timeout: questionMs, tries: questionTries })
  if (dnsServers.length > 0) resolver.setServers(dnsServers)
  const seen = await resolver.resolve4(`${anyName}.${domain}`).catch((error: NodeJS.ErrnoException) => error)
  return verdict(
    what,
    seen instanceof Error
      ? `the DNS says no address (${seen.code})`
      : seen.every((address) => address === ingressIpv4)
        ? null
        : `they lead to ${seen.slice(0, 3).join(', ')}`,
    `Add an A record, name *.${domain}, value ${ingressIpv4}; or set BERTH_INGRESS_IPV4 to the public address of this host.`,
  )
}

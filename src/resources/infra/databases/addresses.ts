/** The address of a database in one line, such that every client of Postgres takes it as it stands. */
import { isLocalhostName } from '#src/drivers/addresses.ts'
import type { Config } from '#src/platform/config.ts'
import { isLoopback } from '#src/platform/settings/entries.ts'
import { hostOf, type Database } from './rows.ts'

type Place = Pick<Config, 'domain' | 'host' | 'postgresPort'>

/**
 * The URI by which its owner connects.
 *
 * Under a domain below `localhost` it names the host's own address and no TLS: not every client finds names below `localhost`,
 * none knows Berth's own authority, and what is said passes through this host alone. The user says which database is meant.
 */
export function ownerAddress(
  place: Place,
  database: Pick<Database, 'id' | 'pgUser' | 'pgDatabase'>,
  token: string | null,
): string {
  const who = token === null ? database.pgUser : `${database.pgUser}:${token}`
  if (takesPlainText(place))
    return `postgresql://${who}@${loopbackOf(place.host)}:${place.postgresPort}/${database.pgDatabase}`
  const host =
    isLocalhostName(place.domain) && !isWildcard(place.host) ? inAddress(place.host) : hostOf(place, database)
  return `postgresql://${who}@${host}:${place.postgresPort}/${database.pgDatabase}?sslmode=require`
}

/** Whether clients on this host may leave out TLS: only where the domain is this host's own. */
export function takesPlainText({ domain, host }: Pick<Place, 'domain' | 'host'>): boolean {
  return isLocalhostName(domain) && (isLoopback(host) || isWildcard(host))
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function loopbackOf(host: string): string {
  return isWildcard(host) || host === 'localhost' ? '127.0.0.1' : inAddress(host)
}

function inAddress(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

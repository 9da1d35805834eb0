/** The DNS records that a domain needs: what they must say, and what a check sees of them. */
import { refusalOf } from '#src/drivers/addresses.ts'
import type { DnsAnswer, DnsLookup } from '#src/drivers/dns.ts'
import { now, timestamp } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { baseOf, isBelow, isWildcard } from '#src/resources/infra/routes/names.ts'
import type { Domain, DomainRecord } from './rows.ts'

type Setting = Pick<Config, 'brand' | 'domain' | 'ingressIpv4' | 'acmeDirectory'>
type Claim = Pick<Domain, 'id' | 'name' | 'verificationToken' | 'verifyOwnership'>

/** The name of the TXT record that proves a domain. */
export function txtNameOf({ brand }: Pick<Config, 'brand'>, { name }: Pick<Domain, 'name'>): string {
  return `_${brand}-challenge.${baseOf(name)}`
}

/** What that record must say. */
export function txtValueOf({ brand }: Pick<Config, 'brand'>, claim: Pick<Domain, 'verificationToken'>): string {
  return `${brand}-verify=${claim.verificationToken}`
}

/** The records that a domain needs, before anything is known of them. */
export function expectedRecords(config: Setting, claim: Claim): DomainRecord[] {
  const unknown = { seen: [], isRight: false, reason: null, checkedAt: null }
  const base = baseOf(claim.name)
  return [
    { purpose: 'address', type: 'A', name: claim.name, expected: config.ingressIpv4, ...unknown },
    ...(claim.verifyOwnership
      ? ([
          {
            purpose: 'ownership',
            type: 'TXT',
            name: txtNameOf(config, claim),
            expected: txtValueOf(config, claim),
            ...unknown,
          },
        ] as const)
      : []),
    ...(isWildcard(claim.name)
      ? ([
          {
            purpose: 'wildcard',
            type: 'CNAME',
            name: `_acme-challenge.${base}`,
            expected: `${encodeId('domain', claim.id).slice('dom_'.length)}.acme.${config.domain}`,
            ...unknown,
          },
        ] as const)
      : []),
  ]
}

/** The records as the last check saw them, or as they must be. */
export function recordsOf(config: Setting, domain: Claim & Pick<Domain, 'records'>): DomainRecord[] {
  return domain.records.length > 0 ? domain.records : expectedRecords(config, domain)
}

/** What a person has to do, in words that providers of DNS use. */
export function instructionsFor(config: Setting, claim: Claim): string {
  const base = baseOf(claim.name)
  const lines = expectedRecords(config, claim).map(
    ({ type, name, expected, purpose }, at) =>
      `${at + 1}. ${type} record, name ${name}, value ${expected}${purposes[purpose]}`,
  )
  const count = lines.length === 1 ? 'this record' : `these ${lines.length} records`
  return [
    `Add ${count} where the DNS of ${base} is managed:`,
    ...lines,
    `Names are written in full: leave out the end where your provider adds it by itself. There must be no other A or AAAA record at ${claim.name}; instead of the A record, a CNAME may lead to a name that leads here. Berth looks every 30 seconds for 10 minutes, then less often, and gives up after ${domainLimits.pendingHours} hours. Then activate it: POST /api/v1/domains/activate with {"domain": "${claim.name}"}.`,
  ].join('\n')
}
const purposes: Record<DomainRecord['purpose'], string> = {
  address: ' (leads the name here)',
  ownership: ' (proves that the name is yours)',
  wildcard: ' (lets an ACME authority issue the certificate for all names below; without one it is not needed)',
}

/**
 * What a check found. `isProved`: all that is needed is there. `leadsHere`: whether the name leads here; null when that could
 * not be found out, through no fault of the zone.
 */
export type DomainCheck = { records: DomainRecord[]; isProved: boolean; leadsHere: boolean | null }

/** Asks the DNS for everything that a domain needs. Never throws. */
export async function checkRecords(config: Setting, lookup: DnsLookup, claim: Claim): Promise<DomainCheck> {
  let leadsHere: boolean | null = null
  const records = await Promise.all(
    expectedRecords(config, claim).map(async (record): Promise<DomainRecord> => {
      if (record.purpose !== 'address') {
        const answer = await (record.type === 'TXT' ? lookup.texts(record.name) : lookup.alias(record.name))
        return judged(record, answer)
      }
      const { aliases, answer } = await lookup.addresses(record.name, (alias) => isBelow(alias, config.domain))
      leadsHere = answer.state === 'unknown' ? null : false
      const found = judgedAddress(record, aliases, answer)
      if (found.isRight) leadsHere = true
      return found
    }),
  )
  const isRight = (purpose: DomainRecord['purpose']): boolean =>
    records.some((record) => record.purpose === purpose && record.isRight)
  const isOwned = !claim.verifyOwnership || isRight('ownership') || isRight('wildcard')
  const isCertifiable = config.acmeDirectory === null || !isWildcard(claim.name) || isRight('wildcard')
  return { records, isProved: isOwned && isCertifiable && leadsHere === true, leadsHere }
}

/** What is missing, as sentences for whoever activates. */
export function whatIsMissing(records: readonly DomainRecord[]): string {
  return records.flatMap(({ isRight, reason }) => (isRight || reason === null ? [] : [reason])).join(' ')
}

/** A record of which one must be as expected, whatever else is there. */
function judged(record: DomainRecord, answer: DnsAnswer): DomainRecord {
  if (answer.state !== 'found') return { ...seen(record, []), reason: missing(record, answer.why) }
  const isRight = answer.values.some((value) => value.replace(/\.$/, '').toLowerCase() === record.expected)
  const reason = isRight
    ? null
    : `${record.name} has ${counted(answer.values.length, record.type)}, and none says ${record.expected}.`
  return { ...seen(record, answer.values), isRight, reason }
}

/** The addresses of a name: all of them must be ours, because visitors take any of them. */
function judgedAddress(record: DomainRecord, aliases: readonly string[], answer: DnsAnswer): DomainRecord {
  const ways = aliases.map((alias) => `CNAME ${alias}`)
  if (answer.state !== 'found') return { ...seen(record, ways), reason: missing(record, answer.why) }
  const addresses = answer.values.map((address) =>
    address === record.expected || refusalOf(address) === null ? address : notPublic,
  )
  const shown = seen(record, [...ways, ...addresses])
  const others = addresses.filter((address) => address !== record.expected)
  if (others.length === 0) return { ...shown, isRight: true }
  const has = addresses.includes(record.expected) ? 'also leads' : 'leads'
  const places = others.slice(0, domainLimits.seenMax).join(', ')
  const fix = others.every((address) => address.includes(':'))
    ? 'Remove its AAAA records.'
    : `Let its only A record be ${record.expected}.`
  return { ...shown, reason: `${record.name} ${has} to ${places}, which is not this Berth. ${fix}` }
}

/** What is said in the place of an address of a private network: the operator's name servers may know names of theirs. */
const notPublic = 'an address that is not public'

function missing({ type, name, expected }: DomainRecord, why: string): string {
  return `${why} Wanted: ${type} record, name ${name}, value ${expected}.`
}

function counted(count: number, type: string): string {
  return `${count} ${type} record${count === 1 ? '' : 's'}`
}

/** The record with what was seen of it, cut to what can be shown and stored: a zone may say anything. */
function seen(record: DomainRecord, values: readonly string[]): DomainRecord {
  const shown = values.slice(0, domainLimits.seenMax).map((value) => {
    const printable = value.slice(0, domainLimits.seenLength).replace(/[\p{C}]/gu, '\ufffd')
    return value.length > domainLimits.seenLength ? `${printable}…` : printable
  })
  return { ...record, seen: shown, isRight: false, reason: null, checkedAt: timestamp(now()) }
}

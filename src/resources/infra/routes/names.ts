/**
 * The host names and paths that callers give, for domains and for proxy entries. What is stored is the one spelling of a
 * name: lower case, as ASCII labels, without a dot at its end; so two spellings of one name can never be two domains.
 */
import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { parse } from 'tldts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'

/** The longest text that is read as a name, in characters: one of 253 ASCII characters may be written in fewer. */
const givenLengthMax = 512
const nameLengthMax = 253
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** What no name has, in any script: spaces, controls, characters that are not seen, and those that URLs give a meaning. */
const foreign = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}"#%&'()+,/<=>?@[\\\]^`{|}~!$;]/u

/**
 * The scripts that the labels of names are written in. One label has one of them; Chinese, Japanese and Korean have several
 * that belong together. So a Latin name with one Cyrillic letter, which nobody can tell apart by looking, is refused.
 */
const scriptsOfLabel: readonly RegExp[] = [
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Latin}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Latin}\p{scx=Han}\p{scx=Bopomofo}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Latin}\p{scx=Han}\p{scx=Hangul}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Arabic}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Armenian}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Bengali}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Cyrillic}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Devanagari}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Ethiopic}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Georgian}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Greek}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Gujarati}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Gurmukhi}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Hebrew}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Kannada}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Khmer}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Lao}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Malayalam}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Myanmar}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Oriya}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Sinhala}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Tamil}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Telugu}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Thaana}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Thai}]*$/u,
  /^[\p{scx=Common}\p{scx=Inherited}\p{scx=Tibetan}]*$/u,
]

/**
 * The stored spelling of a name that a caller gave, which may begin with `*.`.
 * @throws BerthError invalid_domain with a sentence that says what is wrong.
 */
export function readDomainName(given: string): string {
  const isWildcard = given.startsWith('*.')
  const text = isWildcard ? given.slice(2) : given
  if (text === '' || text.length > givenLengthMax) throw wrong(`have 1 to ${nameLengthMax} characters`)
  if (text.includes('://')) throw wrong('be a name without https:// before it')
  if (isIP(text.replace(/^\[(.*)\]$/, '$1')) !== 0) throw wrong('be a name, not an IP address')
  if (text.includes(':')) throw wrong('be a name without a port')
  if (text.includes('*')) throw wrong('have a * only as its first label: *.example.com')
  if (foreign.test(text)) throw wrong('have letters, digits, hyphens and dots only, and no path')
  const ascii = domainToASCII(text)
  if (isIP(ascii) !== 0) throw wrong('be a name, not an IP address')
  if (ascii.endsWith('.')) throw wrong('not end with a dot')
  if (ascii.includes('_')) throw wrong('have no underscore')
  if (ascii === '') throw wrong('be the name of a host')
  if (ascii.length + (isWildcard ? 2 : 0) > nameLengthMax) throw wrong(`have 1 to ${nameLengthMax} characters`)
  checkLabels(ascii)
  const { publicSuffix } = parse(ascii, { allowPrivateDomains: true, extractHostname: false, validateHostname: false })
  if (!ascii.includes('.')) throw wrong('have a dot, as in shop.example.com')
  if (ascii === publicSuffix)
    throw wrong(`be below a public suffix; ${ascii} is one itself, and belongs to nobody alone`)
  return isWildcard ? `*.${ascii}` : ascii
}

function checkLabels(ascii: string): void {
  for (const part of ascii.split('.')) {
    if (part === '') throw wrong('have no empty label: two dots follow each other, or one begins it')
    if (!label.test(part))
      throw wrong('have labels of 1 to 63 letters, digits and hyphens that neither begin nor end with a hyphen')
    const unicode = domainToUnicode(part)
    const isEncoded = part.startsWith('xn--')
    if (isEncoded && (unicode === part || domainToASCII(unicode) !== part))
      throw wrong(`have no label like ${part}, which is not the ASCII form of any name`)
    if (isEncoded && !scriptsOfLabel.some((scripts) => scripts.test(unicode)))
      throw wrong(`not mix scripts within a label, as ${part} does`)
  }
}

/** Refuses the names that are the platform's own. @throws BerthError invalid_domain. */
export function checkNotOurs({ domain }: Pick<Config, 'domain'>, name: string): void {
  if (isBelow(baseOf(name), domain))
    throw wrong(`not be ${domain} or a name below it, which this Berth gives out by itself`)
}

/** Whether a name is this one or below it. */
export function isBelow(name: string, above: string): boolean {
  return name === above || name.endsWith(`.${above}`)
}

/** Whether a domain is for every name one level below its base. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.')
}

/** The name without `*.`. */
export function baseOf(name: string): string {
  return isWildcard(name) ? name.slice(2) : name
}

/** A part of a path that needs no other spelling. */
const part = /^[A-Za-z0-9._~!$&'()*+,;=:@-]+$/

/**
 * The one spelling of a path: `/` by default, without `/` at its end.
 * @throws BerthError invalid_request for one that could be written in another way too.
 */
export function readDomainPath(given: string | null | undefined): string {
  if (given === null || given === undefined || given === '/') return '/'
  const parts = given.length <= domainLimits.pathLength ? given.split('/').slice(1) : []
  if (parts.at(-1) === '') parts.pop()
  const isPlain = given.startsWith('/') && parts.length > 0
  if (isPlain && parts.every((one) => part.test(one) && one !== '.' && one !== '..')) return `/${parts.join('/')}`
  throw new BerthError(
    'invalid_request',
    `path must be a plain path such as /api: at most ${domainLimits.pathLength} characters, beginning with /, without //, without . or .. as a part, and without %, ? and #.`,
    { field: 'path' },
  )
}

function wrong(rule: string): BerthError {
  return new BerthError('invalid_domain', `domain must ${rule}.`, { field: 'domain' })
}

/**
 * What an agent lets its web tools reach: the lists of domains and the size of a page in `tools[].configs[]`, as
 * Anthropic documents them. The tools enforce these restrictions at every URL, also after redirects.
 */
import { isIP } from 'node:net'
import { z } from 'zod'
import { normalHost } from '#src/drivers/addresses.ts'
import { limits } from '#src/platform/limits.ts'
import type { AgentTool, ToolConfig, WebRestrictions } from '#src/resources/agents/agents/rows.ts'

const longestEntry = limits.webDomainLength
/** Search engines accept only a few terms. */
const sitesMax = 5
const perList = `it must have 1 to ${limits.webDomainsMax} domains; leave it out when nothing is restricted`

/** The shape of one list. @param mayHavePath whether an entry may end in a path, as in those of web_search. */
function domains(mayHavePath: boolean): z.ZodType<string[] | null | undefined> {
  const wrong = `it must be a host name such as docs.example.com, without scheme, user, port or wildcard${mayHavePath ? '; a path may follow it' : ' and without a path'}, at most ${longestEntry} characters`
  const entry = z.string().refine((text) => readEntry(text, mayHavePath) !== null, wrong)
  return z.array(entry, perList).min(1, perList).max(limits.webDomainsMax, perList).nullish()
}

const unsupported = (why: string): z.ZodOptional<z.ZodType<null, unknown>> => z.null(why).optional()

/** The settings of these tools in addition to those of every tool. */
export const webToolShapes = {
  web_fetch: {
    allowed_domains: domains(false),
    blocked_domains: domains(false),
    max_content_tokens: z.int('it must be a whole number from 1').min(1, 'it must be a whole number from 1').nullish(),
    url_sources: unsupported('it is not supported: leave it out, and name the domains in allowed_domains'),
  },
  web_search: {
    allowed_domains: domains(true),
    blocked_domains: domains(true),
    user_location: unsupported('it is not supported: leave it out; searches carry no location'),
  },
} as const

/** The restrictions of a config as they were sent; null is the same as absent. */
export type GivenRestrictions = { [Key in keyof WebRestrictions]?: WebRestrictions[Key] | null | undefined }

/** The restrictions that are set. */
export function restrictionsOf({
  allowed_domains,
  blocked_domains,
  max_content_tokens,
}: GivenRestrictions): WebRestrictions {
  return {
    ...(allowed_domains ? { allowed_domains } : {}),
    ...(blocked_domains ? { blocked_domains } : {}),
    ...(max_content_tokens ? { max_content_tokens } : {}),
  }
}

/** The restrictions of a web tool of an agent with these tools. */
export function webRestrictions(tools: readonly AgentTool[], name: keyof typeof webToolShapes): WebRestrictions {
  const configs = tools.flatMap((tool): ToolConfig[] => (tool.type === 'agent_toolset_20260401' ? tool.configs : []))
  return configs.find((config) => config.name === name) ?? {}
}

/** Why a URL is not allowed, as a sentence for the model; null when it is. */
export function whyRestricted(
  { allowed_domains: allowed, blocked_domains: blocked }: WebRestrictions,
  url: URL,
): string | null {
  if (allowed && !allowed.some((entry) => covers(entry, url)))
    return `This agent may only reach these domains and their subdomains: ${allowed.join(', ')}.`
  return blocked?.some((entry) => covers(entry, url)) ? `This agent may not reach ${url.hostname}.` : null
}

/**
 * The terms that are added to a search, so that the engine does not fill its few results with other domains. If an
 * engine does not support `site:`, nothing is lost: every result is checked anyway.
 */
export function searchWords({ allowed_domains: allowed = [] }: WebRestrictions): string {
  return allowed.length === 0 || allowed.length > sitesMax
    ? ''
    : ` ${allowed.map((entry) => `site:${entry}`).join(' OR ')}`
}

/** Whether a URL is on the entry's host or a subdomain, and under its path if it has one. */
function covers(entry: string, url: URL): boolean {
  const read = readEntry(entry, true)
  const host = normalHost(url.hostname)
  if (!read || host === null) return false
  const isWithin = host === read.host || (isIP(host) === 0 && host.endsWith(`.${read.host}`))
  return isWithin && (read.path === '' || url.pathname === read.path || url.pathname.startsWith(`${read.path}/`))
}

/** An entry, normalized for comparing; null when it is not valid. */
function readEntry(text: string, mayHavePath: boolean): { host: string; path: string } | null {
  const slash = text.indexOf('/')
  if (text.length > longestEntry || (slash >= 0 && !mayHavePath)) return null
  const host = normalHost(slash < 0 ? text : text.slice(0, slash))
  if (host === null || slash < 0) return host === null ? null : { host, path: '' }
  const url = URL.parse(`https://host${text.slice(slash)}`)
  if (!url || url.search !== '' || url.hash !== '') return null
  return { host, path: url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname }
}

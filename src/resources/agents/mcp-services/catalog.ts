/**
 * The catalog of connectors of this installation: our own file, and the operator's over it. Read once for a
 * configuration; all problems are reported together, like those of the settings.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { mayBeAsked } from '#src/drivers/outbound-fetch.ts'
import { ConfigError, type Config } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { neverLog } from '#src/platform/log.ts'
import { parseSettingsFile, readSettingsFile, type FileContent } from '#src/platform/settings/files.ts'

/**
 * A service of the catalog. `clientId`: of an app that the operator registered there; `missing`: what the operator has
 * to set before anybody can connect it.
 */
export type McpServiceEntry = {
  id: string
  name: string
  description: string
  iconUrl: string | null
  url: string
  auth: 'oauth' | 'none'
  clientId: string | null
  clientSecret: string | null
  missing: string | null
  scopes: string | null
}

const ours = new URL('connectors.yaml', import.meta.url)

/** The form of a service's id; `callback` is a part of addresses that is none. */
export const serviceIdForm = /^(?!callback$)[a-z0-9][a-z0-9_-]{0,62}$/

const text = z.string('text').min(1, 'text').max(limits.nameLength, `at most ${limits.nameLength} characters`)
const address = z
  .url({ protocol: /^https?$/, error: 'an http(s) address' })
  .max(limits.serverUrlLength, `at most ${limits.serverUrlLength} characters`)
  .refine((url) => !/#|:\/\/[^/]*@/.test(url), 'an address without credentials and #')
const variable = z
  .string('the name of an environment variable')
  .regex(
    /^[A-Z][A-Z0-9_]{0,63}$/,
    'the name of an environment variable, such as MY_SECRET: the secret itself does not belong in this file',
  )
const scope = z
  .string('text')
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope, without spaces')
  .max(connectorLimits.scopeLength, `at most ${connectorLimits.scopeLength} characters`)
const entry = z
  .strictObject(
    {
      name: text,
      description: text,
      url: address,
      auth: z.enum(['oauth', 'none'], 'one of oauth, none'),
      icon_url: address.refine((url) => url.startsWith('https:'), 'an https address').nullable(),
      client_id: text.nullable(),
      client_secret_env: variable.nullable(),
      needs_app: z.boolean('true or false'),
      scopes: z
        .array(scope, 'a list')
        .max(connectorLimits.scopesMax, `at most ${connectorLimits.scopesMax}`)
        .nullable(),
    },
    'an object',
  )
  .partial()
const file = z.strictObject(
  {
    services: z
      .record(
        z.string().regex(serviceIdForm, 'a short name: lower-case letters, digits, - and _, and not callback'),
        entry.nullable(),
        'an object',
      )
      .refine((all) => Object.keys(all).length <= connectorLimits.servicesMax, `at most ${connectorLimits.servicesMax}`)
      .nullish(),
  },
  'an object with services',
)
type Entry = z.output<typeof entry>
type CatalogFile = z.output<typeof file>

const aboutSecrets = 'put the secret into an environment variable, and the variable’s name into client_secret_env'
const ofOperators = { name: 'BERTH_CONNECTORS_FILE', shape: file, aboutSecrets }

const catalogs = new WeakMap<Config, ReadonlyMap<string, McpServiceEntry>>()

/** The services by id, in the order of the files. @throws ConfigError naming every problem with the operator's file. */
export function serviceCatalog(config: Config): ReadonlyMap<string, McpServiceEntry> {
  let catalog = catalogs.get(config)
  if (!catalog) catalogs.set(config, (catalog = readCatalog(config)))
  return catalog
}

function readCatalog(config: Config): ReadonlyMap<string, McpServiceEntry> {
  const own = parseSettingsFile({ ...ofOperators, name: 'connectors.yaml' }, readFileSync(ours, 'utf8'))
  const operators: FileContent<CatalogFile> =
    config.connectorsFile === null
      ? { value: null, problems: [] }
      : readSettingsFile(ofOperators, config.connectorsFile, { bytesMax: connectorLimits.fileBytes })
  const problems = [...own.problems, ...operators.problems]
  const merged = new Map<string, Entry>()
  for (const { value } of [own, operators])
    for (const [id, given] of Object.entries(value?.services ?? {})) {
      if (given) merged.set(id, { ...merged.get(id), ...given })
      else merged.delete(id)
    }
  const catalog = new Map([...merged].map(([id, given]) => [id, complete(config, id, given, problems)]))
  if (catalog.size > connectorLimits.servicesMax)
    problems.push(
      `BERTH_CONNECTORS_FILE: there are more than ${connectorLimits.servicesMax} services with Berth’s own.`,
    )
  if (problems.length > 0) throw new ConfigError(problems)
  return catalog
}

function complete(config: Config, id: string, given: Entry, problems: string[]): McpServiceEntry {
  const at = `BERTH_CONNECTORS_FILE: services.${id}`
  const { name, url, auth = 'oauth', client_id: clientId = null, client_secret_env: variable = null } = given
  if (name === undefined) problems.push(`${at}.name is needed.`)
  if (url === undefined) problems.push(`${at}.url is needed.`)
  else if (!mayBeAsked(config.privateHosts, new URL(url)))
    problems.push(`${at}.url must be an https address; http is allowed for hosts in BERTH_PRIVATE_HOSTS.`)
  if (auth === 'none' && (clientId ?? variable ?? given.scopes))
    problems.push(`${at} has auth: none, so client_id, client_secret_env and scopes mean nothing.`)
  if (variable !== null && clientId === null) problems.push(`${at}.client_id is needed with client_secret_env.`)
  const clientSecret = variable === null ? null : config.upstreamKey(variable)
  if (clientSecret !== null) neverLog(clientSecret)
  return {
    id,
    name: name ?? id,
    description: given.description ?? '',
    iconUrl: given.icon_url ?? null,
    url: url ?? '',
    auth,
    clientId,
    clientSecret,
    missing:
      given.needs_app === true && clientId === null
        ? `services.${id}.client_id and client_secret_env in BERTH_CONNECTORS_FILE`
        : variable !== null && clientSecret === null
          ? variable
          : null,
    scopes: given.scopes && given.scopes.length > 0 ? given.scopes.join(' ') : null,
  }
}

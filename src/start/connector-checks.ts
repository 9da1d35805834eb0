/** The doctor's checks of connectors: which are set up, and where people come back to from signing in. */
import type { Config } from '../platform/config.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { selfOf } from '#src/resources/agents/mcp-services/clients.ts'
import type { Check } from './checks.ts'

/** Every check of connectors. Nobody is asked. @throws ConfigError for an invalid file. */
export function checkConnectors(config: Config): Check[] {
  const services = [...serviceCatalog(config).values()]
  if (services.length === 0) return [{ verdict: 'neither', what: 'connectors: none' }]
  const { redirectUrl, documentUrl } = selfOf(config, { id: '', name: '' })
  const missing = services.filter((service) => service.missing !== null)
  return [
    { verdict: 'works', what: `connectors: ${services.length}; sign-ins come back to ${redirectUrl}<its id>` },
    ...missing.map(
      ({ id, missing: variable }): Check => ({
        verdict: 'neither',
        what: `connector ${id}: not set up`,
        remedy: `Set ${variable}. Its app’s callback address is ${redirectUrl}${id}`,
      }),
    ),
    ...(config.returnOrigins.length > 0
      ? []
      : [
          {
            verdict: 'neither',
            what: `connectors send people on to ${new URL(config.publicUrl).origin} only`,
            remedy: 'Set BERTH_RETURN_ORIGINS to the origins of applications that connect services.',
          } as const,
        ]),
    ...(documentUrl !== null
      ? []
      : [
          {
            verdict: 'neither',
            what: 'connectors that read a client’s metadata at its address: not used, Berth is registered there instead',
            remedy: 'Set BERTH_PUBLIC_URL to an https address that they reach.',
          } as const,
        ]),
  ]
}

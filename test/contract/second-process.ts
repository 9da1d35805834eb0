/** A second web process on the database and data folder of the first, as a second host behind the same address would be. */
import { registerSurfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { buildApp } from '#src/gateway/app.ts'
import { readConfig } from '#src/platform/config.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import type { Berth } from '../support/berth.ts'
import { freePort } from '../support/ports.ts'

/** It listens at `url`, and trusts the tokens of the first. */
export type SecondProcess = { url: string; services: Services; stop: () => Promise<void> }

/** Starts one. Its settings are the first one's but for the port. */
export async function startSecondProcess(first: Berth, settings: Record<string, string> = {}): Promise<SecondProcess> {
  const port = await freePort()
  const config = readConfig({
    PORT: String(port),
    BERTH_PUBLIC_URL: first.services.config.publicUrl,
    BERTH_DATA_DIR: first.dataDir,
    BERTH_LOG_LEVEL: 'error',
    BERTH_RATE_LIMIT_FACTOR: String(first.services.config.rateLimitFactor),
    ...settings,
  })
  const services = await openServices(config, first.services.database.url, 'web')
  const app = await buildApp({ services, schema, surfaces: registerSurfaces })
  await app.listen({ port, host: '127.0.0.1' })
  return {
    url: `http://127.0.0.1:${port}`,
    services,
    async stop() {
      await app.close()
      await services.close()
    },
  }
}

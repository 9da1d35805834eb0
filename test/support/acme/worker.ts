/** A process that obtains certificates, for tests that kill it: its settings are its environment. */
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { handleCertificates } from '#workers/infra/certificates.ts'

const config = readConfig()
await handleCertificates(await openServices(config, config.databaseUrl ?? '', 'worker'))
process.stdout.write('the worker is ready\n')

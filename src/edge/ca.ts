/** `npm run -s ca`: prints the certificate of the authority that signs those of databases, and of names that no other signs, for clients to trust. */
import { existsSync } from 'node:fs'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { readFlags, reportError } from '#src/platform/command-line.ts'
import { readConfig } from '#src/platform/config.ts'

const usage =
  'npm run -s ca: prints the certificate of the node’s own authority, which clients of databases trust for sslmode=verify-full, and clients of proxies and domains too. It takes no arguments.'

async function print(words: readonly string[]): Promise<void> {
  readFlags(words, usage, {})
  const { dataDir, tlsCertificateFile } = readConfig()
  if (tlsCertificateFile !== null)
    throw new Error(
      `Clients of databases are shown the certificate in ${tlsCertificateFile} (BERTH_TLS_CERTIFICATE): what they must trust is the authority that signed it.`,
    )
  if (!existsSync(dataDir))
    throw new Error(
      `There is no data folder ${dataDir}. Start Berth with npm start, or set the BERTH_DATA_DIR that it was started with.`,
    )
  process.stdout.write(await createAuthority(dataDir, 'databases').certificate())
}

await print(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = reportError(error)
})

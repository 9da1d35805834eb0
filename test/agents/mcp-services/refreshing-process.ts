/** A process of its own that refreshes a connection as a session would, when told to on its standard input, and prints the token. */
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { findConnectionRow } from '#src/resources/agents/mcp-services/rows.ts'
import { connectionBearer } from '#src/resources/agents/mcp-services/tokens.ts'
import { newerOf } from '#src/resources/agents/mcp/refreshing.ts'

const [, , databaseUrl = '', connectionId = ''] = process.argv
const services = await openServices(readConfig(), databaseUrl, 'web')
const connection = await findConnectionRow(services.db, connectionId) // as it was before anybody refreshed it
console.log('ready')
process.stdin.once('data', () => {
  void (async () => {
    const bearer = connection && (await connectionBearer(services, connection))
    const newer = newerOf((await bearer?.renew()) ?? null)
    console.log(`token ${newer?.token}`)
    await services.close()
    process.exit(0)
  })()
})

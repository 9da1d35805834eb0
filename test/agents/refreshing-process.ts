/** A process of its own that refreshes a credential as a session would, when told to on its standard input, and prints the token. */
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { refreshBearer } from '#src/resources/agents/vaults/credentials/use.ts'
import { newerOf } from '#src/resources/agents/mcp/refreshing.ts'

const [, , databaseUrl = '', credentialId = '', generation = ''] = process.argv
const services = await openServices(readConfig(), databaseUrl, 'web')
console.log('ready')
process.stdin.once('data', () => {
  void refreshBearer(services, { credentialId, token: '', tokenGeneration: Number(generation) }).then(
    async (renewal) => {
      const bearer = newerOf(renewal)
      console.log(`token ${bearer?.token} ${bearer?.tokenGeneration}`)
      await services.close()
      process.exit(0)
    },
  )
})

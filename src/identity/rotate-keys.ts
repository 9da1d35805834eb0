/** `npm run rotate-keys`: a new signing key from now on; tokens of the one before stay good until they expire. */
import { loadSealer } from '#src/platform/secrets.ts'
import { runCommand, withRunningBerth } from './command.ts'
import { rotateSigningKey } from './issuer.ts'

if (import.meta.main) {
  await runCommand('new key', () => withRunningBerth('berth-rotate-keys', async (db, config) => {
    await rotateSigningKey({ db, sealer: loadSealer(config.secretKey, config.dataDir) })
    process.stdout.write('A new key signs from now on.\n')
  }))
}

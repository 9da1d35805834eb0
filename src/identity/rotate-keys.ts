/**
 * `npm run rotate-keys`: creates a new signing key; tokens of the previous one stay valid until they expire, or until a
 * second rotation.
 */
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { runCommand, withRunningBerth } from './command.ts'
import { rotateSigningKey } from './issuer.ts'

async function rotate(words: readonly string[]): Promise<void> {
  answerHelp(words, 'npm run rotate-keys: signs tokens with a new key from now on. It takes no arguments.')
  // With wrong arguments no key is created: a second rotation would end all tokens of the previous key.
  if (words.length > 0) throw new UsageError('The command takes no arguments: npm run rotate-keys')
  await withRunningBerth('berth-rotate-keys', async (db, config) => {
    await rotateSigningKey({ db, sealer: loadSealer(config.secretKey, config.dataDir) })
    process.stdout.write('A new key signs tokens from now on.\n')
  })
}

if (import.meta.main) await runCommand('new key', () => rotate(process.argv.slice(2)))

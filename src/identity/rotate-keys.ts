/** `npm run rotate-keys`: a new signing key from now on; tokens of the one before stay good until they expire, or a second rotation. */
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { runCommand, withRunningBerth } from './command.ts'
import { rotateSigningKey } from './issuer.ts'

async function rotate(words: readonly string[]): Promise<void> {
  answerHelp(words, 'npm run rotate-keys: signs tokens with a new key from now on. It takes no arguments.')
  // Wrong arguments make no key: a second rotation would end all tokens of the key before both.
  if (words.length > 0) throw new UsageError('The command takes no arguments: npm run rotate-keys')
  await withRunningBerth('berth-rotate-keys', async (db, config) => {
    await rotateSigningKey({ db, sealer: loadSealer(config.secretKey, config.dataDir) })
    process.stdout.write('A new key signs tokens from now on.\n')
  })
}

if (import.meta.main) await runCommand('new key', () => rotate(process.argv.slice(2)))

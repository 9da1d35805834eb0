/** `npm run rotate-keys`: a new signing key from now on; tokens of the one before stay good until they expire. */
import '../start/node-version.ts'
import { readConfig } from '../platform/config.ts'
import { openDatabase } from '../platform/postgres.ts'
import { loadSealer } from '../platform/secrets.ts'
import { findRun } from '../start/run-file.ts'
import { rotateSigningKey } from './issuer.ts'

const config = readConfig()
const url = config.databaseUrl ?? findRun(config.dataDir)?.databaseUrl
if (!url) {
  process.stderr.write('Berth does not run here. Start it first: npm start\n')
  process.exit(1)
}
const database = openDatabase(url, { connections: 1, applicationName: 'berth-rotate-keys' })
await rotateSigningKey({ db: database.db, sealer: loadSealer(config.secretKey, config.dataDir) })
await database.close()
process.stdout.write('A new key signs from now on.\n')

/**
 * `npm run restore -- <file>`: restores what `npm run backup` wrote, into an empty data folder. The whole file is checked
 * before any of it is used; a restore that was interrupted is started again by the same command.
 */
import './start/node-version.ts'
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readArchive } from './backup/archive.ts'
import { BackupError } from './backup/backup-error.ts'
import { runBackupCommand } from './backup/command.ts'
import { withEmbedded } from './backup/database.ts'
import { checkKey, manifestName, readManifest, type Manifest } from './backup/manifest.ts'
import { refuseFilledDatabase, restoreDatabase } from './backup/restored-database.ts'
import { tablesFolder } from './backup/tables.ts'
import { readFile, UsageError } from './platform/command-line.ts'
import { readConfig, type Config } from './platform/config.ts'
import { claim, makeFolders, unfinishedRestore } from './start/instance.ts'
import { showProgress } from './start/progress.ts'

const usage = `npm run restore -- <file>

Brings back what npm run backup wrote. The data folder (BERTH_DATA_DIR) must be empty, and so must the database of
DATABASE_URL where that is set. Then start Berth as usual: npm start`

/** The folder where a backup is unpacked, on the disk of the data. */
const unpackedName = '.restore'

async function main(words: readonly string[]): Promise<void> {
  const file = readFile(words, usage)
  if (file === undefined) throw new UsageError(`Name the file of a backup. The command is: ${usage}`)
  const path = resolve(file)
  const config = readConfig()
  if (!existsSync(path)) throw new BackupError(`There is no file ${path}.`)
  if (isBelow(config.dataDir, path))
    throw new BackupError(`${path} is in the folder that is emptied first. Move the backup out of ${config.dataDir}.`)
  makeFolders(config)
  const claimed = await claim(config.dataDir)
  if (!claimed)
    throw new BackupError(`Berth runs on ${config.dataDir}. Stop it, and restore into an empty BERTH_DATA_DIR.`)
  makeEmpty(config.dataDir)
  writeFileSync(join(config.dataDir, unfinishedRestore), '', { mode: 0o600, flush: true })
  const show = showProgress('Restore', process.stdout)
  try {
    const unpacked = join(config.dataDir, unpackedName)
    mkdirSync(unpacked, { mode: 0o700 })
    const names = await readArchive(path, unpacked, (name) => show(0.05, `Unpacking ${name}`))
    const manifest = readManifest(unpacked)
    checkKey(manifest, config.secretKey, unpacked)
    await fillDatabase(config, manifest, unpacked, (name) => show(0.6, `Copying ${name}`))
    show(0.95, 'Restoring files')
    putInPlace(unpacked, config.dataDir, names)
    rmSync(unpacked, { recursive: true, force: true })
    rmSync(join(config.dataDir, unfinishedRestore))
    show(1, 'Done')
    process.stdout.write(
      `Restored what was backed up at ${manifest.createdAt} into ${config.dataDir}. Start it with: ${config.dataDir === readConfig({}).dataDir ? '' : `BERTH_DATA_DIR='${config.dataDir}' `}npm start\n${manifest.objects === 's3' ? 'Its uploads and outputs are at its S3 service: set the same BERTH_S3_ settings.\n' : ''}`,
    )
  } catch (error) {
    makeEmpty(config.dataDir) // a refused restore leaves nothing behind, not even in the operator's own database
    throw error
  }
}

function isBelow(folder: string, file: string): boolean {
  return existsSync(folder) && !relative(realpathSync(folder), realpathSync(file)).startsWith('..')
}

/**
 * Checks that the data folder is empty, and removes what an interrupted restore left.
 * @throws BackupError when it contains an installation.
 */
function makeEmpty(dataDir: string): void {
  const found = readdirSync(dataDir).filter((name) => name !== 'run')
  if (found.length > 0 && !found.includes(unfinishedRestore))
    throw new BackupError(
      `${dataDir} is not empty: it holds ${found.slice(0, 3).join(', ')}${found.length > 3 ? ' and more' : ''}. Set BERTH_DATA_DIR to an empty folder, or move its content away.`,
    )
  for (const name of found)
    if (name !== unfinishedRestore) rmSync(join(dataDir, name), { recursive: true, force: true })
  rmSync(join(dataDir, unfinishedRestore), { force: true }) // last: until then the next attempt knows that it may remove the rest
}

async function fillDatabase(
  config: Config,
  manifest: Manifest,
  unpacked: string,
  onTable: (name: string) => void,
): Promise<void> {
  if (!config.databaseUrl)
    return withEmbedded(config, (url) => restoreDatabase(url, config, manifest, unpacked, onTable))
  await refuseFilledDatabase(config.databaseUrl)
  await restoreDatabase(config.databaseUrl, config, manifest, unpacked, onTable)
}

function putInPlace(unpacked: string, dataDir: string, names: readonly string[]): void {
  for (const name of names) {
    if (name === manifestName || name.startsWith(`${tablesFolder}/`)) continue
    const place = join(dataDir, name)
    // The modes that the driver sets: QEMU's users can traverse these folders, and read only their own files.
    mkdirSync(dirname(place), { recursive: true, mode: name.startsWith('objects/') ? 0o700 : 0o711 })
    renameSync(join(unpacked, name), place)
  }
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
process.umask(0o022)
await runBackupCommand('restore', () => main(process.argv.slice(2)))

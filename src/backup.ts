/**
 * `npm run backup -- [file]`: the whole installation in one file, running or stopped: the database, the keys and
 * authorities, uploads and outputs, folders and templates. `npm run restore` restores it on an empty host.
 */
import './start/node-version.ts'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { writeArchive, type ArchiveWriter } from './backup/archive.ts'
import { BackupError } from './backup/backup-error.ts'
import { copyFolderDisk, folderEntry, listDataFiles, listFolderDisks } from './backup/contents.ts'
import { withDatabase } from './backup/database.ts'
import { keyProof, manifestName, type Manifest } from './backup/manifest.ts'
import { beginMoment, copyJobsOut, copyTableOut, describeDatabase, tableEntry } from './backup/tables.ts'
import { runBackupCommand } from './backup/command.ts'
import { nowMs, timestamp } from './platform/clock.ts'
import { readFile } from './platform/command-line.ts'
import { readConfig, type Config } from './platform/config.ts'
import { recordBackup } from './platform/metrics/last-backup.ts'
import { loadSealer, type Sealer } from './platform/secrets.ts'
import { claim, refuseForeign } from './start/instance.ts'
import { showProgress } from './start/progress.ts'

const usage = `npm run backup -- [file]

Writes the database, the keys, uploads, folders and templates of this installation into one file, readable for you
alone. The default name is berth-<moment>.tar.zst, in this folder or in one that you name. The disks of VMs are not in it; their folders are.`

async function main(words: readonly string[]): Promise<void> {
  const path = placeOf(resolve(readFile(words, usage) ?? '.'))
  const config = readConfig()
  if (!existsSync(join(config.dataDir, 'postgres')) && !config.databaseUrl)
    throw new BackupError(
      `There is no installation in ${config.dataDir}. Start Berth once, or set BERTH_DATA_DIR to its folder.`,
    )
  if (existsSync(path)) throw new BackupError(`${path} already exists. Name another file, or remove it.`)
  if (!existsSync(dirname(path))) throw new BackupError(`The folder ${dirname(path)} does not exist. Create it first.`)
  mkdirSync(config.dataDir, { recursive: true })
  refuseForeign(config.dataDir, 'Take the backup')
  if (!(await claim(config.dataDir, 'backup')))
    throw new BackupError(
      `Another backup of ${config.dataDir} is being written. Wait until it is done, then try again.`,
    )
  const sealer = loadSealer(config.secretKey, config.dataDir)
  const staging = makeStaging(config.dataDir)
  const archive = writeArchive(path)
  try {
    const show = showProgress('Backup', process.stdout)
    await withDatabase(config, async (url) => {
      await addDatabase(archive, url, staging, { config, sealer }, (share, sentence) => show(share * 0.4, sentence))
    })
    await addFiles(archive, { config, sealer }, staging, (share, sentence) => show(0.4 + share * 0.59, sentence))
    const { entries } = await archive.finish()
    const { size } = statSync(path)
    recordBackup(config.dataDir, size)
    show(1, 'Done')
    process.stdout.write(
      `${path}: ${entries} files, ${Math.ceil(size / 1024 / 1024)} MiB.\n${warnings(config)
        .map((line) => `${line}\n`)
        .join('')}`,
    )
  } catch (error) {
    await archive.abandon()
    throw error
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** The file: in a folder it has the default name. */
function placeOf(named: string): string {
  if (!statSync(named, { throwIfNoEntry: false })?.isDirectory()) return named
  return join(named, `berth-${timestamp(nowMs()).slice(0, 19).replaceAll(':', '')}.tar.zst`)
}

/** Creates the staging folder, on the disk of the data. What an earlier run left there is removed. */
function makeStaging(dataDir: string): string {
  for (const name of readdirSync(dataDir))
    if (name.startsWith('.backup-')) rmSync(join(dataDir, name), { recursive: true, force: true })
  return mkdtempSync(join(dataDir, '.backup-'))
}

/** A snapshot of the database. Files are read after it, so that those that its rows name are among them. */
async function addDatabase(
  archive: ArchiveWriter,
  url: string,
  staging: string,
  { config, sealer }: { config: Config; sealer: Sealer },
  show: (share: number, sentence: string) => void,
): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth-backup' })
  await client.connect()
  try {
    await beginMoment(client)
    const described = await describeDatabase(client)
    const manifest: Manifest = {
      format: 'berth.backup/1',
      createdAt: timestamp(nowMs()),
      keyProof: keyProof(sealer),
      objects: config.s3 ? 's3' : 'folder',
      ...described,
    }
    await archive.addText(manifestName, JSON.stringify(manifest, null, 1))
    const staged = join(staging, 'table')
    for (const [at, table] of manifest.tables.entries()) {
      show(at / manifest.tables.length, `Copying ${table.name}`)
      await copyTableOut(client, table, staged)
      await archive.addFile(tableEntry(table.name), staged)
    }
    await archive.addFile(await copyJobsOut(client, staged), staged)
  } finally {
    await client.end()
  }
}

async function addFiles(
  archive: ArchiveWriter,
  { config, sealer }: { config: Config; sealer: Sealer },
  staging: string,
  show: (share: number, sentence: string) => void,
): Promise<void> {
  const files = listDataFiles(config.dataDir)
  const folders = listFolderDisks(config.dataDir)
  const count = files.length + folders.length
  const staged = join(staging, 'disk.qcow2')
  for (const [at, folderId] of folders.entries()) {
    show(at / count, 'Copying folders')
    if (await copyFolderDisk(config, sealer, folderId, staged))
      await archive.addFile(folderEntry(config.dataDir, folderId), staged)
  }
  for (const [at, { name, path, mode }] of files.entries()) {
    show((folders.length + at) / count, 'Copying files')
    if (existsSync(path)) await archive.addFile(name, path, mode) // else it was removed since it was listed
  }
}

function warnings(config: Config): string[] {
  return [
    config.secretKey === null
      ? 'It contains the key to every secret in it: store it as you would a password.'
      : 'It does not contain the key to its secrets: store BERTH_SECRET_KEY as well.',
    ...(config.s3 ? ['It does not contain uploads and build outputs: they stay at the S3 service.'] : []),
  ]
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
await runBackupCommand('backup', () => main(process.argv.slice(2)))

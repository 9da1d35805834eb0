/** `berth db dump`: a database as a file, by a backup that Berth makes, or by the pg_dump of this machine where you have the password. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure, UsageError } from '../../errors.ts'
import type { Cli, Verb } from '../../grammar.ts'
import { newKey } from '../../keys.ts'
import { sizeOf } from '../../output.ts'
import { lineOf } from '../../text.ts'
import { waitFor } from '../../waiting.ts'
import { findDatabaseOf } from './names.ts'
import { checkVersion } from './programs.ts'

const formats = ['custom', 'plain'] as const
type Format = (typeof formats)[number]

/** `dump`. */
export const dumpVerb: Verb = {
  name: 'dump',
  args: '<database>',
  about: 'a dump as a file: by a new backup, or with PGPASSWORD by pg_dump',
  options: [
    ['-f, --file <path>', 'where to put it; stdout without it'],
    ['--format <format>', 'custom, which pg_restore reads, or plain SQL'],
    ['--backup <id>', 'of this backup, instead of a new one'],
  ],
  async run(cli, [text = ''], options) {
    const format = formatOf(options.text('format') ?? 'custom')
    const file = options.text('file')
    if (file === undefined && format === 'custom' && process.stdout.isTTY)
      throw new UsageError('A dump of this format is not for a terminal. Pass -f <file>, or --format plain.')
    const backup = options.text('backup')
    const databaseId = await findDatabaseOf(cli, text)
    if (backup === undefined && cli.env['PGPASSWORD']) return byPgDump(cli, databaseId, format, file)
    return byBackup(cli, { databaseId, backup, format, file })
  },
}

function formatOf(given: string): Format {
  const found = formats.find((one) => one === given)
  if (found === undefined) throw new UsageError(`--format takes one of: ${formats.join(', ')}.`)
  return found
}

async function byPgDump(cli: Cli, id: string, format: Format, file: string | undefined): Promise<void> {
  const { databases } = await cli.berth()
  const { connectionUri } = await databases.get(id)
  await checkVersion(cli, 'pg_dump', id)
  const argv = ['--dbname', connectionUri, '--no-password', `--format=${format}`]
  const child = spawn('pg_dump', argv, { env: cli.env, stdio: ['ignore', 'pipe', 'inherit'] })
  const bytes = await writeTo(file, async (into) => {
    await Promise.all([pipeline(child.stdout, into, { end: file !== undefined }), endOf('pg_dump', child)])
  })
  if (file !== undefined) cli.out.note(`${lineOf(file)}  ${sizeOf(bytes)}`)
}

type Wanted = { databaseId: string; backup: string | undefined; format: Format; file: string | undefined }

async function byBackup(cli: Cli, { databaseId, backup, format, file }: Wanted): Promise<void> {
  if (format === 'plain') await checkVersion(cli, 'pg_restore', databaseId)
  const { databases } = await cli.berth()
  const id = backup ?? (await makeBackup(cli, databaseId))
  const { downloadUrl, sha256, databaseId: owner, sizeBytes } = await databases.backups.get(id)
  if (owner !== databaseId) throw new UsageError(`Backup ${lineOf(id)} is of another database.`)
  if (!downloadUrl)
    throw new Failure('This backup cannot be downloaded: it is not completed, or your role may not restore it (admin).')
  const response = await fetch(downloadUrl).catch((error: unknown) => {
    throw new Failure(`The backup does not come: ${error instanceof Error ? error.message : String(error)}`)
  })
  if (!response.ok || !response.body) throw new Failure(`The backup cannot be read: HTTP ${response.status}.`)
  const hash = createHash('sha256')
  const hashing = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece)
      done(null, piece)
    },
  })
  const source = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
  await writeTo(file, async (into) => {
    if (format === 'custom') await pipeline(source, hashing, into, { end: file !== undefined })
    else {
      const child = spawn('pg_restore', ['--file=-'], { stdio: ['pipe', 'pipe', 'inherit'] })
      await Promise.all([
        pipeline(source, hashing, child.stdin),
        pipeline(child.stdout, into, { end: file !== undefined }),
        endOf('pg_restore', child),
      ])
    }
    if (sha256 && hash.digest('hex') !== sha256) throw new Failure('The backup did not come whole. Try again.')
  })
  if (file !== undefined) cli.out.note(`${lineOf(file)}  ${sizeOf(sizeBytes)}  of backup ${id}`)
}

async function makeBackup(cli: Cli, databaseId: string): Promise<string> {
  const { databases } = await cli.berth()
  const { id } = await databases.backup(databaseId, { idempotencyKey: newKey() })
  cli.out.note(`Making backup ${id}.`)
  const end = await waitFor(
    (signal) => databases.backups.events(id, { signal }),
    ({ status }) => status === 'COMPLETED' || status === 'FAILED',
  )
  if (end.status === 'FAILED') throw new Failure(`The backup failed: ${end.error ?? 'no reason is known'}.`)
  return id
}

/** A file has its name once all of it is there. @returns how many bytes were written. */
async function writeTo(file: string | undefined, write: (into: Writable) => Promise<void>): Promise<number> {
  if (file === undefined) {
    await write(process.stdout)
    return 0
  }
  const part = `${file}.berth-part`
  try {
    const into = createWriteStream(part, { mode: 0o600 })
    await write(into)
    await rename(part, file)
    return into.bytesWritten
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Until a program has ended. @throws Failure unless it ended well. */
async function endOf(program: string, child: ReturnType<typeof spawn>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${program} does not run: ${error.message}`)))
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Failure(`${program} failed; what it said is above.`))
    })
  })
}

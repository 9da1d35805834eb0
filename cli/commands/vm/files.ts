/** `berth vm cp`: files and folders into a VM and out of it. */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Berth } from '../../../src/client/berth.ts'
import { Failure, isBerthError, UsageError, whyUnread } from '../../errors.ts'
import type { Cli, Verb } from '../../grammar.ts'
import { sizeOf } from '../../output.ts'
import { endOfTar, packedBy } from '../../tar.ts'
import { lineOf } from '../../text.ts'
import { findVmOf } from './names.ts'

const progressMs = 200

/** `cp`. */
export const copyVerb: Verb = {
  name: 'cp',
  args: '<from> <to>',
  about: 'copy a file or a folder; one of the two is <vm>:<path>',
  options: [['-r, --recursive', 'a folder of the VM, with all that is in it']],
  async run(cli, [from = '', to = ''], options) {
    const remoteFrom = remoteOf(from)
    const remoteTo = remoteOf(to)
    if (remoteFrom && !remoteTo) return download(cli, remoteFrom, to, options.flag('recursive'))
    if (remoteTo && !remoteFrom) return upload(cli, from, remoteTo)
    throw new UsageError('One of the two is in a VM: <vm>:<path>. The other is a path here.')
  },
}

type Remote = { vm: string; path: string }

/** A path in a VM; what has a slash before its colon is a path here. */
function remoteOf(text: string): Remote | undefined {
  const [, vm, path = ''] = /^([^/:]+):(.*)$/s.exec(text) ?? []
  return vm === undefined ? undefined : { vm, path: path.startsWith('/') ? path : posix.join('/home/user/', path) }
}

async function upload(cli: Cli, from: string, { vm, path }: Remote): Promise<void> {
  const found = await stat(from).catch((error: Error) => {
    throw new UsageError(`${lineOf(from)} cannot be read: ${whyUnread(error)}.`)
  })
  const target = path.endsWith('/') ? posix.join(path, basename(from)) : path
  const counted = countedOf(found.isDirectory() ? undefined : found.size)
  const id = await findVmOf(cli, vm)
  const { files } = (await cli.berth()).vms
  if (found.isDirectory()) {
    const tar = spawn('tar', ['-C', from, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await send(packedBy(tar), counted, (body) => files.write(id, target, body, { format: 'tar' }))
    } finally {
      tar.kill() // it may have more than the VM takes
    }
  } else
    await send(await openHere(from), counted, (body) => files.write(id, target, body)).catch((error: unknown) => {
      throw folderMistake(error, `${vm}:${target} is a folder. To copy into it, end it with a slash.`)
    })
  done(cli, counted.bytes, `${vm}:${target}`)
}

/** What to say where Berth answers that a path is a folder: it names the word of its API. */
function folderMistake(error: unknown, sentence: string): unknown {
  return isBerthError(error) && error.message.includes('is a folder. Add format=tar')
    ? new UsageError(lineOf(sentence))
    : error
}

/** Opens a file of this machine. @throws UsageError at once, and Failure for what cannot be read later. */
async function openHere(path: string): Promise<AsyncIterable<Uint8Array>> {
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`${lineOf(path)} cannot be read: ${whyUnread(error)}.`)
  })
  return (async function* bytes() {
    try {
      yield* file.createReadStream()
    } catch (error) {
      throw new Failure(`${lineOf(path)} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    }
  })()
}

/** Sends what a source gives. @throws what the source failed with, rather than that the server was left. */
async function send(
  source: AsyncIterable<Uint8Array>,
  counted: Counted,
  write: (body: ReadableStream<Uint8Array>) => Promise<unknown>,
): Promise<void> {
  const watched = watch(source)
  const read = pipeline(watched.read(), counted)
  read.catch(() => undefined) // what fails here fails below
  try {
    await write(Readable.toWeb(counted) as ReadableStream<Uint8Array>)
  } catch (error) {
    throw watched.failure ?? error
  } finally {
    counted.destroy()
  }
}

type Watched = { failure: Error | undefined; read: () => AsyncGenerator<Uint8Array> }

/** Who reads a source learns of its failure by way of others, who say less. */
function watch(source: AsyncIterable<Uint8Array>): Watched {
  const watched: Watched = {
    failure: undefined,
    async *read() {
      try {
        yield* source
      } catch (error) {
        watched.failure = error instanceof Error ? error : new Error(String(error))
        throw error
      }
    },
  }
  return watched
}

async function download(cli: Cli, { vm, path }: Remote, to: string, isFolder: boolean): Promise<void> {
  if (to === '-' && !isFolder && process.stdout.isTTY)
    throw new UsageError(
      'The bytes of a file are not for a terminal. Send them elsewhere: berth vm cp <vm>:<path> - > file',
    )
  const id = await findVmOf(cli, vm)
  const berth = await cli.berth()
  if (isFolder) return downloadFolder(cli, berth, { id, path }, to)
  const found = await stat(to).catch(() => undefined) // what is not there is made
  const target = to.endsWith('/') || found?.isDirectory() ? join(to, posix.basename(path)) : to
  const isDevice = found !== undefined && !found.isFile() && !found.isDirectory() // it is written to, and not replaced
  const response = await berth.vms.files.read(id, path).catch((error: unknown) => {
    throw folderMistake(error, `${vm}:${path} is a folder. Pass -r to copy it.`)
  })
  const size = Number(response.headers.get('content-length') ?? Number.NaN)
  const counted = countedOf(size)
  if (target === '-') {
    await pipeline(Readable.fromWeb(bodyOf(response)), process.stdout, { end: false })
    return
  }
  const part = isDevice ? target : `${target}.berth-part`
  try {
    await mkdir(dirname(target), { recursive: true })
    await pipeline(Readable.fromWeb(bodyOf(response)), counted, createWriteStream(part))
    if (Number.isFinite(size) && counted.bytes !== size)
      throw new Failure('The connection was cut before the end of the file.')
    if (!isDevice) await rename(part, target)
  } catch (error) {
    if (!isDevice) await rm(part, { force: true })
    throw isOfFile(error) ? new Failure(`${lineOf(target)} cannot be written: ${error.message}.`) : error
  }
  done(cli, counted.bytes, target)
}

/** Whether a call of the file system failed, as opposed to the network. */
function isOfFile(error: unknown): error is Error {
  return (
    error instanceof Error && 'syscall' in error && ['open', 'write', 'mkdir', 'rename'].includes(String(error.syscall))
  )
}

/**
 * A folder is unpacked where nothing is yet, and gets its name once all of it is there: the archive is made in the VM, and in
 * a folder that another copy made, a link of that copy would lead out of it. @throws UsageError when the name is taken.
 */
async function downloadFolder(
  cli: Cli,
  berth: Berth,
  { id, path }: { id: string; path: string },
  to: string,
): Promise<void> {
  const target = to.endsWith('/') ? join(to, posix.basename(path)) : to
  await checkFree(target)
  const response = await berth.vms.files.read(id, path, { format: 'tar' })
  await mkdir(dirname(target), { recursive: true })
  const part = await mkdtemp(join(dirname(target), `.${basename(target)}.berth-part-`))
  const counted = countedOf(Number(response.headers.get('content-length') ?? Number.NaN))
  try {
    const body = watch(Readable.fromWeb(bodyOf(response)))
    const tar = spawn('tar', ['-C', part, ...unpacking], { stdio: ['pipe', 'inherit', 'inherit'] })
    const ended = endOfTar(tar)
    const [passed, unpacked] = await Promise.allSettled([pipeline(body.read(), counted, tar.stdin), ended])
    if (body.failure !== undefined) throw body.failure
    if (unpacked.status === 'rejected') throw unpacked.reason
    if (passed.status === 'rejected') throw passed.reason
    await checkFree(target)
    await rename(part, target)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
  done(cli, counted.bytes, target)
}

/** Nobody else's owners, and no setuid: also for root, for whom tar keeps both by itself. */
const unpacking = ['--no-same-owner', '--no-same-permissions', '-xf', '-']

async function checkFree(path: string): Promise<void> {
  const isTaken = await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw new UsageError(`${lineOf(path)} cannot be read: ${error.message}`)
    },
  )
  if (isTaken)
    throw new UsageError(
      `${lineOf(path)} exists, and a folder is copied to a new one only. Pass a path that is free, or a folder with a slash behind it.`,
    )
}

type WebBody = Parameters<typeof Readable.fromWeb>[0]

function bodyOf({ body }: Response): WebBody {
  if (!body) throw new Failure('The answer has no file in it.')
  return body as WebBody // the same thing, by the types of Node
}

/** Passes bytes on, and counts them; at a terminal it shows how many. */
class Counted extends Transform {
  bytes = 0
}

function countedOf(whole = Number.NaN): Counted {
  let shown = -Infinity
  const counted = new Counted({
    transform(piece: Buffer, _encoding, pass) {
      counted.bytes += piece.length
      const now = performance.now()
      if (process.stderr.isTTY && now - shown > progressMs) {
        shown = now
        process.stderr.write(`\r${sizeOf(counted.bytes)}${Number.isFinite(whole) ? ` of ${sizeOf(whole)}` : ''}   `)
      }
      pass(null, piece)
    },
    flush(pass) {
      if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
      pass()
    },
  })
  return counted
}

function done(cli: Cli, bytes: number, to: string): void {
  if (cli.out.isJson) cli.out.json({ path: to, bytes })
  else cli.out.note(`${lineOf(to)}  ${sizeOf(bytes)}`)
}

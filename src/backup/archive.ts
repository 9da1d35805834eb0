/**
 * The file of a backup: a tar archive, compressed with Zstandard. Its last entry has the SHA-256 of every other one, so
 * that a truncated or changed file is refused before any of it is used.
 */
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  openSync,
  fsyncSync,
  closeSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text } from 'node:stream/consumers'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { extract, pack } from 'tar-stream'
import { startSha256 } from '#src/platform/secrets.ts'
import { BackupError } from './backup-error.ts'

const checksumsName = 'checksums.json'
const ownerOnly = 0o600

/** A backup that is being written. */
export type ArchiveWriter = {
  addText(name: string, content: string): Promise<void>
  /** Adds a file with its current length. `mode` is set when it is restored. */
  addFile(name: string, path: string, mode?: number): Promise<void>
  /** Writes the checksums; when this resolves, the file is on disk under its final name. */
  finish(): Promise<{ entries: number }>
  /** Gives up, and removes what was written. */
  abandon(): Promise<void>
}

/** Begins a backup beside its final name, readable for its owner alone. */
export function writeArchive(path: string): ArchiveWriter {
  const unfinished = `${path}.part`
  rmSync(unfinished, { force: true })
  const tar = pack()
  const checksums: Record<string, string> = {}
  const written = pipeline(
    tar,
    createZstdCompress(),
    createWriteStream(unfinished, { mode: ownerOnly, flags: 'wx', flush: true }),
  )
  written.catch(() => undefined) // the next call, or finish, throws it
  const add = async (name: string, body: Readable | string, sizeBytes: number, mode: number): Promise<void> => {
    const digest = startSha256()
    const entry = tar.entry({ name, size: sizeBytes, mode })
    const filled = pipeline(
      body,
      async function* (pieces: AsyncIterable<Buffer | string>) {
        for await (const piece of pieces) {
          const bytes = Buffer.from(piece)
          digest.update(bytes)
          yield bytes
        }
      },
      entry as unknown as Writable,
    ) // a stream of tar-stream's own, which pipeline takes
    await Promise.race([
      filled,
      written.then(() => {
        throw new Error('the archive ended too early')
      }),
    ])
    checksums[name] = digest.hex()
  }
  return {
    addText: (name, content) => add(name, content, Buffer.byteLength(content), ownerOnly),
    async addFile(name, file, mode = ownerOnly) {
      const { size } = await stat(file)
      await add(name, size === 0 ? '' : createReadStream(file, { end: size - 1 }), size, mode)
    },
    async finish() {
      const entries = Object.keys(checksums).length
      await add(
        checksumsName,
        JSON.stringify(checksums, null, 1),
        Buffer.byteLength(JSON.stringify(checksums, null, 1)),
        ownerOnly,
      )
      tar.finalize()
      await written
      renameSync(unfinished, path)
      syncFolder(dirname(path))
      return { entries }
    },
    async abandon() {
      tar.destroy()
      await written.catch(() => undefined) // that is what giving up means
      rmSync(unfinished, { force: true })
    },
  }
}

/**
 * Unpacks a backup into an empty folder and checks all of it.
 * @param onEntry called for each file as it arrives.
 * @returns the names of its entries.
 * @throws BackupError when the file is not a backup, was truncated, or was changed; an error of the system, such as ENOSPC.
 */
export async function readArchive(path: string, folder: string, onEntry: (name: string) => void): Promise<string[]> {
  const digests = new Map<string, string>()
  let checksums: Record<string, string> | undefined
  const entries = extract()
  const read = pipeline(createReadStream(path), createZstdDecompress(), entries)
  read.catch(() => undefined) // awaited below
  try {
    for await (const entry of entries) {
      const { name, type, mode } = entry.header
      if (type !== 'file' || !isPlainName(name)) throw new BackupError('This file is not a backup of Berth.')
      if (name === checksumsName) {
        checksums = JSON.parse(await text(entry as unknown as AsyncIterable<Buffer>)) as Record<string, string> // written by writeArchive
        continue
      }
      onEntry(name)
      digests.set(name, await unpack(entry as unknown as AsyncIterable<Buffer>, join(folder, name), mode ?? ownerOnly))
    }
    await read
  } catch (error) {
    entries.destroy()
    const isOfThisHost = error instanceof BackupError || (error instanceof Error && 'syscall' in error) // such as a full disk
    throw isOfThisHost
      ? error
      : new BackupError('The backup cannot be read: the file is truncated, or it is not a backup of Berth.', {
          cause: error,
        })
  }
  if (!checksums) throw new BackupError('The backup is truncated: its end is missing. Use another copy of it.')
  const names = Object.keys(checksums)
  const wrong = names.find((name) => digests.get(name) !== checksums[name])
  if (wrong !== undefined || names.length !== digests.size)
    throw new BackupError(
      `The backup is damaged${wrong === undefined ? '' : `: ${wrong} is not what was written`}. Use another copy of it.`,
    )
  return names
}

async function unpack(entry: AsyncIterable<Buffer>, path: string, mode: number): Promise<string> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const digest = startSha256()
  await pipeline(
    entry,
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        digest.update(piece)
        yield piece
      }
    },
    createWriteStream(path, { mode, flags: 'wx', flush: true }),
  )
  return digest.hex()
}

/** A relative path of plain parts, so that no entry can land outside the folder. */
function isPlainName(name: string): boolean {
  const parts = name.split('/')
  return (
    name.length <= 512 && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'))
  )
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

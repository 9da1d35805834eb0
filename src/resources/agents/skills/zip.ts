/**
 * Zip archives, read strictly and written plainly: nothing is unpacked before all of its directory has been checked, and an
 * archive that two programs could read differently is refused.
 */
import { promisify } from 'node:util'
import { crc32, deflateRaw, inflateRaw } from 'node:zlib'
import { BerthError } from '#src/platform/errors.ts'
import { skillLimits } from './limits.ts'

/** A file in an archive. `isExecutable`: whether it is a program by its permissions. */
export type ZippedFile = { path: string; bytes: Buffer; isExecutable: boolean }

type Entry = {
  path: string
  isFolder: boolean
  isExecutable: boolean
  method: number
  checksum: number
  packedBytes: number
  unpackedBytes: number
  headerAt: number
}

const inflate = promisify(inflateRaw)
const deflate = promisify(deflateRaw)

const signatures = { entry: 0x02014b50, file: 0x04034b50, end: 0x06054b50 }
const headerBytes = { entry: 46, file: 30, end: 22 }
const commentBytesMax = 65_535
const flags = { encrypted: 0x2041, utf8: 0x0800 } // weak, strong, and of the directory
const methods = { stored: 0, deflated: 8 }
const unix = 3
const kindMask = 0xf000
const kinds = { unknown: 0, folder: 0x4000, file: 0x8000, link: 0xa000 }
const mebibyte = 1024 * 1024
const noDate = 0x21 // 1 January 1980, the first that can be written

/** Whether bytes begin as a zip archive does. */
export function isZip(bytes: Buffer): boolean {
  return bytes.length >= 4 && (bytes.readUInt32LE(0) === signatures.file || bytes.readUInt32LE(0) === signatures.end)
}

/**
 * The files of an archive, without its folders.
 * @param checkPaths is given all paths before anything is unpacked; it throws what is wrong with them.
 * @param isWanted says which files are unpacked; the others are left out.
 * @throws BerthError invalid_request.
 */
export async function readZip(
  archive: Buffer,
  isWanted: (path: string) => boolean,
  checkPaths: (paths: readonly string[]) => void,
): Promise<ZippedFile[]> {
  const { entries, directoryAt } = readDirectory(archive)
  checkSizes(archive, entries)
  const places = placesOf(archive, entries, directoryAt)
  const files = entries.filter(({ path, isFolder }) => !isFolder && isWanted(path))
  checkPaths(files.map(({ path }) => path))
  const unpacked: ZippedFile[] = []
  for (const entry of files) {
    const startByte = places.get(entry) ?? 0
    const bytes = await unpack(entry, archive.subarray(startByte, startByte + entry.packedBytes))
    unpacked.push({ path: entry.path, bytes, isExecutable: entry.isExecutable })
  }
  return unpacked
}

/** An archive of these files. The same files make the same archive. */
export async function writeZip(files: readonly ZippedFile[]): Promise<Buffer> {
  const pieces: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { path, bytes, isExecutable } of files) {
    const name = Buffer.from(path)
    const packed = await deflate(bytes)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags.utf8, 2)
    common.writeUInt16LE(methods.deflated, 4)
    common.writeUInt16LE(noDate, 8)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(bytes.length, 18)
    common.writeUInt16LE(name.length, 22)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(((kinds.file | (isExecutable ? 0o755 : 0o644)) << 16) >>> 0, 6)
    rest.writeUInt32LE(at, 10)
    pieces.push(wordOf(signatures.file), common, name, packed)
    directory.push(wordOf(signatures.entry), Buffer.from([20, unix]), common, rest, name)
    at += headerBytes.file + name.length + packed.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(headerBytes.end)
  end.writeUInt32LE(signatures.end, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...pieces, listed, end])
}

function wordOf(value: number): Buffer {
  const word = Buffer.alloc(4)
  word.writeUInt32LE(value)
  return word
}

function readDirectory(archive: Buffer): { entries: Entry[]; directoryAt: number } {
  const endAt = findEnd(archive)
  const [disk, directoryDisk] = [archive.readUInt16LE(endAt + 4), archive.readUInt16LE(endAt + 6)]
  const [here, count] = [archive.readUInt16LE(endAt + 8), archive.readUInt16LE(endAt + 10)]
  const [sizeBytes, directoryAt] = [archive.readUInt32LE(endAt + 12), archive.readUInt32LE(endAt + 16)]
  if (count === 0xffff || sizeBytes === 0xffffffff || directoryAt === 0xffffffff)
    throw invalid(
      `The archive is in the format Zip64. Pack the skill as an ordinary zip; it has ${skillLimits.bytes / mebibyte} MiB at most.`,
    )
  if (disk !== 0 || directoryDisk !== 0 || here !== count)
    throw invalid('The archive is one of several parts. Send the skill as one zip.')
  if (count > skillLimits.entriesMax)
    throw invalid(`The archive has more than ${skillLimits.entriesMax} entries. Pack only what the skill needs.`)
  if (directoryAt + sizeBytes !== endAt) throw broken()
  const entries: Entry[] = []
  let at = directoryAt
  for (let index = 0; index < count; index++) {
    if (at + headerBytes.entry > endAt || archive.readUInt32LE(at) !== signatures.entry) throw broken()
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ] // three fields
    const next = at + headerBytes.entry + nameBytes + extraBytes + commentBytes
    if (next > endAt) throw broken()
    entries.push(readEntry(archive, at, nameBytes))
    at = next
  }
  if (at !== endAt) throw broken()
  return { entries, directoryAt }
}

/**
 * Where the end of the directory begins: the only place whose comment ends with the archive, without another beginning in
 * that comment. Programs that look for it from different sides find different ones otherwise.
 */
function findEnd(archive: Buffer): number {
  const last = archive.length - headerBytes.end
  const places: number[] = []
  for (let at = last; at >= Math.max(0, last - commentBytesMax); at--)
    if (archive.readUInt32LE(at) === signatures.end && archive.readUInt16LE(at + 20) === last - at) places.push(at)
  const [endAt] = places
  if (endAt === undefined || places.length > 1 || archive.includes(wordOf(signatures.end), endAt + 4)) throw broken()
  return endAt
}

function readEntry(archive: Buffer, at: number, nameBytes: number): Entry {
  const path = textOf(archive.subarray(at + headerBytes.entry, at + headerBytes.entry + nameBytes))
  const attributes = archive.readUInt32LE(at + 38)
  const mode = archive.readUInt8(at + 5) === unix ? attributes >>> 16 : 0
  const kind = mode & kindMask
  const entry: Entry = {
    path,
    isFolder: path.endsWith('/'),
    isExecutable: (mode & 0o100) !== 0,
    method: archive.readUInt16LE(at + 10),
    checksum: archive.readUInt32LE(at + 16),
    packedBytes: archive.readUInt32LE(at + 20),
    unpackedBytes: archive.readUInt32LE(at + 24),
    headerAt: archive.readUInt32LE(at + 42),
  }
  const shown = shortened(path)
  if ((archive.readUInt16LE(at + 8) & flags.encrypted) !== 0)
    throw invalid(`${shown} is encrypted. Pack the skill without a password.`)
  if (kind === kinds.link) throw invalid(`${shown} is a symbolic link. Pack the file itself.`)
  if (kind !== kinds.unknown && kind !== (entry.isFolder ? kinds.folder : kinds.file))
    throw invalid(`${shown} is not an ordinary file. Leave it out.`)
  if (entry.method !== methods.stored && entry.method !== methods.deflated)
    throw invalid(`${shown} is packed by a method that is not known here. Pack the skill with deflate, as zip does.`)
  if ([entry.packedBytes, entry.unpackedBytes, entry.headerAt].includes(0xffffffff)) throw broken()
  if (entry.isFolder && entry.unpackedBytes > 0) throw broken()
  return entry
}

function checkSizes(archive: Buffer, entries: readonly Entry[]): void {
  const unpackedBytes = entries.reduce((sum, entry) => sum + entry.unpackedBytes, 0)
  if (unpackedBytes > skillLimits.bytes)
    throw invalid(`The archive unpacks to more than ${skillLimits.bytes / mebibyte} MiB, the most for a skill.`)
  if (unpackedBytes > skillLimits.ratioFreeBytes + skillLimits.ratioMax * archive.length)
    throw invalid(
      `The archive unpacks to more than ${skillLimits.ratioMax} times its size. Make large files where they are needed, by a script.`,
    )
}

/** Where the bytes of each entry begin. Entries whose bytes overlap are refused. */
function placesOf(archive: Buffer, entries: readonly Entry[], directoryAt: number): ReadonlyMap<Entry, number> {
  const places = new Map<Entry, number>()
  let freeAt = 0
  for (const entry of entries.toSorted((one, other) => one.headerAt - other.headerAt)) {
    const at = entry.headerAt
    if (at < freeAt || at + headerBytes.file > directoryAt || archive.readUInt32LE(at) !== signatures.file)
      throw broken()
    const nameBytes = archive.readUInt16LE(at + 26)
    const startByte = at + headerBytes.file + nameBytes + archive.readUInt16LE(at + 28)
    freeAt = startByte + entry.packedBytes
    if (freeAt > directoryAt) throw broken()
    const name = textOf(archive.subarray(at + headerBytes.file, at + headerBytes.file + nameBytes))
    if (name !== entry.path) throw broken()
    if ((archive.readUInt16LE(at + 6) & flags.encrypted) !== 0)
      throw invalid(`${shortened(entry.path)} is encrypted. Pack the skill without a password.`)
    places.set(entry, startByte)
  }
  return places
}

async function unpack({ path, method, unpackedBytes, checksum }: Entry, packed: Buffer): Promise<Buffer> {
  const bytes =
    method === methods.stored
      ? Buffer.from(packed)
      : await inflate(packed, { maxOutputLength: unpackedBytes + 1 }).catch(() => null) // said below
  if (bytes?.length !== unpackedBytes || crc32(bytes) !== checksum)
    throw invalid(`${shortened(path)} is damaged in the archive. Pack the skill again.`)
  return bytes
}

function textOf(name: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name)
  } catch {
    throw invalid('The archive has a name that is not UTF-8. Rename the file, and pack the skill again.')
  }
}

/** A path for a sentence: quoted, and not longer than one may be. */
export function shortened(path: string): string {
  return JSON.stringify(path.slice(0, skillLimits.pathBytes))
}

function broken(): BerthError {
  return invalid('The archive is not a whole zip, or not one that every program reads alike. Pack the skill again.')
}

function invalid(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence, { field: 'files' })
}

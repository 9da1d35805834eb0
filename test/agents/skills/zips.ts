/** Zip archives for tests, also those that no honest program writes. */
import { crc32, deflateRawSync } from 'node:zlib'

/** An entry of an archive; what is not given is as an honest program writes it. */
export type Entry = {
  path: string | Buffer
  content?: string | Buffer
  /** Unix permissions and kind. */
  mode?: number
  flags?: number
  method?: number
  checksum?: number
  /** What the directory says; the header says the same unless it is given. */
  unpackedBytes?: number
  localPath?: string
  packed?: Buffer
  /** The place in the archive of another entry’s header. */
  headerOf?: number
}

/** An archive of these entries. `change`: makes it another one, when it is whole. */
export function zipOf(entries: readonly Entry[], { comment = '', gap = 0, count = entries.length } = {}): Buffer {
  const places: number[] = []
  const pieces: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { path, content = '', mode = 0o100644, flags = 0x800, method = 8, headerOf, ...given } of entries) {
    const bytes = Buffer.from(content)
    const packed = given.packed ?? (method === 8 ? deflateRawSync(bytes) : bytes)
    const name = Buffer.from(path)
    const local = Buffer.from(given.localPath ?? path)
    const fields = (nameBytes: number): Buffer => {
      const common = Buffer.alloc(26)
      common.writeUInt16LE(20, 0)
      common.writeUInt16LE(flags, 2)
      common.writeUInt16LE(method, 4)
      common.writeUInt32LE(given.checksum ?? crc32(bytes), 10)
      common.writeUInt32LE(packed.length, 14)
      common.writeUInt32LE(given.unpackedBytes ?? bytes.length, 18)
      common.writeUInt16LE(nameBytes, 22)
      return common
    }
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE((mode << 16) >>> 0, 6)
    rest.writeUInt32LE(headerOf === undefined ? at : (places[headerOf] ?? 0), 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), fields(name.length), rest, name)
    places.push(at)
    if (headerOf !== undefined) continue
    pieces.push(Buffer.from('PK\x03\x04', 'latin1'), fields(local.length), local, packed)
    at += 30 + local.length + packed.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...pieces, listed, Buffer.alloc(gap), end, Buffer.from(comment)])
}

/** A SKILL.md. */
export function instructionsOf(name: string, description = 'Says hello. Use it to greet people.'): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n# How\n\nRun hello.sh.\n`
}

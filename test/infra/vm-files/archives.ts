/** Tar archives with entries that no honest tar would write. */
const blockBytes = 512
const types = { file: '0', hardLink: '1', link: '2', character: '3', folder: '5', pipe: '6' }

/** An entry; `target` is that of a link. */
export type Entry = { name: string; type?: keyof typeof types; mode?: number; target?: string; text?: string }

/** The archive of these entries, exactly as they are named. */
export function archiveOf(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.map(bytesOf), Buffer.alloc(2 * blockBytes)])
}

function bytesOf({ name, type = 'file', mode = 0o644, target = '', text = '' }: Entry): Buffer {
  const header = Buffer.alloc(blockBytes)
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`
  const content = Buffer.from(text)
  header.write(name, 0)
  header.write(octal(mode, 7), 100)
  header.write(octal(0, 7) + octal(0, 7) + octal(content.length, 11) + octal(0, 11), 108)
  header.write(' '.repeat(8) + types[type] + target, 148)
  header.write('ustar\x0000', 257)
  header.write(octal(1, 7) + octal(3, 7), 329) // of /dev/null
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)} `, 148)
  const filled = Math.ceil(content.length / blockBytes) * blockBytes
  return Buffer.concat([header, content, Buffer.alloc(filled - content.length)])
}

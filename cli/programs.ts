/** Programs of functions, as they are uploaded. */
import { spawn } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { UsageError, whyUnread } from './errors.ts'
import { packedBy } from './tar.ts'
import { lineOf } from './text.ts'

const programBytesMax = 1024 ** 3 // what an upload may have

/** A program as bytes: a file as it is, a folder as a tar.gz. @throws UsageError. */
export async function packProgram(path: string): Promise<Blob> {
  const found = await stat(path).catch((error: Error) => {
    throw new UsageError(`${lineOf(path)} cannot be read: ${whyUnread(error)}.`)
  })
  if (!found.isDirectory()) return new Blob([await readFile(path)])
  const tar = spawn('tar', ['-C', path, '-czf', '-', '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for await (const piece of packedBy(tar)) {
    pieces.push(Uint8Array.from(piece))
    bytes += piece.length
    if (bytes > programBytesMax) throw new UsageError('A program may have 1 GiB, packed.')
  }
  return new Blob(pieces)
}

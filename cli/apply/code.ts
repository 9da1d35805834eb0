/** The code of functions: its digest, by which a plan sees that it has changed. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../errors.ts'
import { lineOf } from '../text.ts'

const filesMax = 50_000 // of a function

/**
 * The digest of a file, or of all files of a folder with their names and who may run them: `sha256:…`. It does not depend
 * on the time, the machine, or how the files are packed.
 * @throws UsageError, which begins with the path in the file.
 */
export async function digestOf(path: string, named: string): Promise<string> {
  const hash = createHash('sha256')
  let files = 0
  const add = async (place: string, name: string): Promise<void> => {
    files++
    if (files > filesMax) throw new UsageError(`${named}: a function may have ${filesMax} files.`)
    const found = await lstat(place)
    if (found.isDirectory()) {
      for (const one of (await readdir(place)).sort()) await add(join(place, one), name === '' ? one : `${name}/${one}`)
      return
    }
    const kind = found.isSymbolicLink() ? 'link' : (found.mode & 0o100) === 0 ? 'file' : 'program'
    hash.update(`${JSON.stringify([name, kind, found.isSymbolicLink() ? await readlink(place) : found.size])}\n`)
    if (found.isFile()) for await (const piece of createReadStream(place)) hash.update(piece as Buffer) // it has no encoding
  }
  try {
    await add(path, '')
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${named}: ${lineOf(error instanceof Error ? error.message : String(error))}`)
  }
  return `sha256:${hash.digest('hex')}`
}

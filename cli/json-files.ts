/** Small files of JSON that only their owner can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from './errors.ts'

/** What a file has; undefined when there is none. @throws Failure for one that is no JSON, or cannot be read. */
export function readJson<Value>(file: string): Value | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined // nothing is saved yet
    throw new Failure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  try {
    return JSON.parse(text) as Value // only we write it
  } catch {
    throw new Failure(`${file} is no JSON. Repair or delete it.`)
  }
}

/** Written whole or not at all, and readable by its owner only. @throws Failure when it cannot be written. */
export function writeJson(file: string, value: unknown): void {
  makeFolderOf(file)
  const next = `${file}.${process.pid}`
  try {
    writeFileSync(next, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
    chmodSync(next, 0o600)
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw unwritable(file, error)
  }
}

/** Makes the folder of a file, for its owner only. @throws Failure when it cannot be made. */
export function makeFolderOf(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(file, error)
  }
}

/** What to say of a file that cannot be written: what it had is still there. */
export function unwritable(file: string, error: unknown): Failure {
  return new Failure(
    `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}. It is as it was.`,
  )
}

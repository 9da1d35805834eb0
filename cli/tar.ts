/** The tar of this machine. */
import type { ChildProcess } from 'node:child_process'
import { Failure } from './errors.ts'

/** Waits for its end. To be called when it is started. @throws Failure when it is not there, or fails. */
export function endOfTar(tar: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.once('error', (error) => reject(new Failure(`tar does not run: ${error.message}`)))
    tar.once('close', (code) => (code === 0 ? resolve() : reject(new Failure('tar failed; what it said is above.'))))
  })
}

/** Its output to the end, which comes only when tar has not failed: what was packed in part must not look whole. */
export function packedBy(tar: ChildProcess): AsyncGenerator<Buffer> {
  const ended = endOfTar(tar)
  ended.catch(() => undefined) // it is awaited once the output is read
  return (async function* packed() {
    if (tar.stdout) yield* tar.stdout
    await ended
  })()
}

/**
 * Staging of a stream for the object store: it is written to a temporary file, measured, and deleted unless it is
 * taken. A file's name contains its process, so that files of killed processes can be cleared.
 */
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { isDeadProcess, processName } from '#src/platform/locks/process-marks.ts'
import { startSha256 } from '#src/platform/secrets.ts'
import { tooLarge, type Pace, type StoredObject } from './store.ts'

/** A complete staged file. */
export type StagedFile = StoredObject & { path: string }

/** Between the process's name and the file's own. */
const separator = '~'

/**
 * Writes the stream to disk and passes the file on; afterwards it is deleted, if it still exists.
 * @throws BerthError request_too_large; timeout for one that is too slow; whatever the stream, the disk or the receiver
 * throws.
 */
export async function stage<Result>(
  folder: string,
  body: Readable,
  limitBytes: number,
  take: (file: StagedFile) => Promise<Result>,
  pace?: Pace,
): Promise<Result> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${processName}${separator}${newUuid()}`)
  const digest = startSha256()
  const file = createWriteStream(path, { mode: 0o600, flags: 'wx', flush: true })
  const closed = once(file, 'close')
  closed.catch(() => undefined) // the pipeline below reports it
  let sizeBytes = 0
  const stopWatching = pace
    ? watchPace(body, pace, () => sizeBytes)
    : () => {
        /* nobody has to hurry */
      }
  try {
    await pipeline(
      body,
      async function* (pieces: AsyncIterable<Buffer>) {
        for await (const piece of pieces) {
          sizeBytes += piece.length
          if (sizeBytes > limitBytes) throw tooLarge(limitBytes)
          digest.update(piece)
          yield piece
        }
      },
      file,
    )
    stopWatching()
    return await take({ path, sizeBytes, sha256: digest.hex() })
  } finally {
    stopWatching()
    await closed.catch(() => undefined) // a file that is still being opened would outlive its removal
    rmSync(path, { force: true })
  }
}

/** Ends the stream when it is too slow; the returned function stops watching. */
function watchPace(body: Readable, { stalledSeconds, bytesPerSecondMin }: Pace, sizeBytes: () => number): () => void {
  let before = 0
  let periods = 0
  const timer = setInterval(() => {
    periods++
    const size = sizeBytes()
    if (size === before || size < bytesPerSecondMin * stalledSeconds * (periods - 1))
      body.destroy(new BerthError('timeout', 'The file arrived too slowly, so the upload was ended. Send it again.'))
    before = size
  }, stalledSeconds * 1000)
  return () => clearInterval(timer)
}

/** Deletes the staged files of dead processes of this host. Called when a process starts. */
export function clearStaging(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const [writer = ''] = name.split(separator)
    if (isDeadProcess(writer)) rmSync(join(folder, name), { force: true })
  }
}

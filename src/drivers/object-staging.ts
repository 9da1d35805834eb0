/** A stream on its way into the object store: a file beside it, measured, and gone unless it is taken. */
import { once } from 'node:events'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { newUuid } from '#src/platform/ids.ts'
import { startSha256 } from '#src/platform/secrets.ts'
import { tooLarge, type StoredObject } from './object-store.ts'

/** A whole file that waits to be taken. */
export type StagedFile = StoredObject & { path: string }

/**
 * Writes the stream to disk and hands the file on; afterwards it is removed, if it is still there.
 * @throws BerthError request_too_large; whatever the stream, the disk or the taker throws.
 */
export async function stage<Result>(folder: string, body: Readable, limitBytes: number, take: (file: StagedFile) => Promise<Result>): Promise<Result> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, newUuid())
  const digest = startSha256()
  const file = createWriteStream(path, { mode: 0o600, flags: 'wx', flush: true })
  const closed = once(file, 'close')
  closed.catch(() => undefined) // the pipeline below tells of it
  let sizeBytes = 0
  try {
    await pipeline(body, async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        sizeBytes += piece.length
        if (sizeBytes > limitBytes) throw tooLarge(limitBytes)
        digest.update(piece)
        yield piece
      }
    }, file)
    return await take({ path, sizeBytes, sha256: digest.hex() })
  } finally {
    await closed.catch(() => undefined) // a file that is still being opened would outlive its removal
    rmSync(path, { force: true })
  }
}

/**
 * Writes one build's log: masks it, cuts it into chunks, and stores what came since the last batch in one statement. Who
 * writes waits while much is unwritten, so that a build's memory does not grow with its log.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '#src/platform/limits.ts'
import { createMasker } from '#src/platform/masking.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import { appendBuildLog, createNumbering, type LogLine } from '#src/resources/infra/build-logs.ts'

const chunkBytes = 16 * 1024
const batchMs = 20
/** Unwritten output beyond which its source waits. */
const unwrittenBytesMax = 1024 * 1024

/** A build's log, to be written by its run alone. */
export type BuildLogWriter = {
  /** Adds a line of our own, on a line of its own. */
  say(line: string): void
  /** Adds a stream's output to its end, masked. */
  pour(stream: AsyncIterable<Buffer>): Promise<void>
  /** Resolves when everything is stored. @throws Error when it cannot be. */
  flush(): Promise<void>
}

/** @param onOver hears that the build is over already: nothing is stored any more. */
export function createBuildLogWriter(db: Db, buildId: string, secrets: () => readonly string[], onOver: () => void): BuildLogWriter {
  const nextPosition = createNumbering()
  let unwritten: string[] = []
  let unwrittenBytes = 0
  let keptBytes = 0
  let endsLine = true
  let over = false
  let writing: Promise<void> | undefined

  const add = (text: string): void => {
    if (over || text === '' || keptBytes > limits.buildLogBytes) return
    endsLine = text.endsWith('\n')
    const bytes = Buffer.byteLength(text)
    keptBytes += bytes
    const kept = keptBytes > limits.buildLogBytes ? `\n[… the log is longer than ${limits.buildLogBytes / 1024 / 1024} MiB; the rest of it is not kept …]\n` : text
    unwritten.push(kept)
    unwrittenBytes += bytes
    writing ??= writeAll()
    writing.catch(() => undefined) // flush and pour tell of it
  }
  const writeAll = async (): Promise<void> => {
    while (unwritten.length > 0) {
      const begunMs = performance.now()
      const lines = chunksOf(unwritten.join('')).map((output): LogLine => ({ ...nextPosition(), output }))
      unwritten = []
      unwrittenBytes = 0
      if (!over && !(await patiently(() => appendBuildLog(db, buildId, lines)))) {
        over = true
        onOver()
      }
      await pause(Math.max(0, batchMs - (performance.now() - begunMs)))
    }
    writing = undefined
  }
  return {
    say: (line) => add(`${endsLine ? '' : '\n'}${createMasker(secrets()).text(line)}\n`),
    async pour(stream) {
      const masking = createMasker(secrets()).stream()
      const decoder = new TextDecoder() // a character that comes in two pieces is put together; what is none becomes U+FFFD
      for await (const bytes of stream) {
        add(decoder.decode(masking.push(bytes), { stream: true }))
        if (unwrittenBytes > unwrittenBytesMax) await writing
      }
      add(decoder.decode(masking.end()))
    },
    flush: async () => writing,
  }
}

/** Pieces of at most 16 KiB, cut between characters. */
function chunksOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const chunks: string[] = []
  for (let at = 0; at < bytes.length;) {
    let end = Math.min(at + chunkBytes, bytes.length)
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end-- // inside: end is below length
    chunks.push(bytes.toString('utf8', at, end))
    at = end
  }
  return chunks
}

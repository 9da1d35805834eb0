/**
 * Writes one build's log: masks it, splits it into chunks, and stores what came since the last batch in one statement
 * together with the build's progress, so that the next worker continues at the same byte. Writers wait while much is
 * unwritten (backpressure), so that memory does not grow with the log.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { cutBytes } from '#src/drivers/compute/guest/frames.ts'
import { limits } from '#src/platform/limits.ts'
import { createMasker, noMasker, type Masking } from '#src/platform/masking.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import { appendBuildLog, createNumbering, lastLines, type LogLine } from '#src/resources/infra/build-logs.ts'
import { BuildClaimLost, type BuildClaim, type BuildProgress } from '#src/resources/infra/builds/runs.ts'

const chunkBytes = 16 * 1024
const batchMs = 20
/** Unwritten output beyond which its source waits. */
const unwrittenBytesMax = 1024 * 1024
const tooLong = `\n[… the log is longer than ${limits.buildLogBytes / 1024 / 1024} MiB; the rest of it is not kept …]\n`

/** The writer of a build's log and progress, used by its run only. */
export type BuildLogWriter = {
  /** The progress of the build, including what was added last. */
  readonly progress: Readonly<BuildProgress>
  /** Masks these secrets from now on. */
  hide(secrets: readonly string[]): void
  /** Adds a line of our own, and the progress that goes with it. */
  say(line: string, change?: Partial<BuildProgress>): void
  /** Restarts reading the running command's output. @returns the offset from which to read. */
  resumeOutput(): number
  /** Adds the next bytes of the running command's output, masked. Waits while much is unwritten. */
  pour(bytes: Buffer): Promise<void>
  /**
   * Ends the command's output: adds what the masker held back, and a line of our own, stored together with the
   * progress; the next command's output begins at 0.
   */
  endOutput(change: Partial<BuildProgress>, line?: string): void
  /** Resolves when everything is stored. @throws BuildClaimLost; Error when it cannot be. */
  flush(): Promise<void>
  /** Calls back with the stored length of the output whenever it grows. */
  onStored(then: (takenBytes: number) => void): void
}

/** @param onLost called when another worker has the build, or it has ended: then nothing more is stored. */
export async function createBuildLogWriter(
  db: Db,
  claim: BuildClaim,
  from: BuildProgress,
  onLost: () => void,
): Promise<BuildLogWriter> {
  const [last] = await lastLines(db, claim.buildId, 1)
  const storing = createStoring(db, claim, from, last, onLost)
  let masker = noMasker
  let masking: Masking | undefined

  const ownLine = (line: string, endsLine: boolean): string => `${endsLine ? '' : '\n'}${masker.text(line)}\n`
  return {
    get progress() {
      return storing.progress
    },
    hide: (values) => {
      masker = createMasker(values)
    },
    say: (line, change = {}) => storing.add(ownLine(line, storing.progress.endsLine), change),
    flush: storing.flush,
    onStored: storing.onStored,
    resumeOutput() {
      masking = undefined
      return storing.progress.takenBytes
    },
    async pour(bytes) {
      const { progress } = storing
      masking ??= masker.stream({ from: progress.maskingState })
      // `takenBytes` excludes what the masker holds back: the next worker reads it again.
      const consumed = progress.takenBytes + masking.resumption().heldBytes + bytes.length
      const shown = Buffer.concat([Buffer.from(progress.cut, 'hex'), masking.push(bytes)])
      const { heldBytes, state } = masking.resumption()
      const completeBytes = shown.length - cutBytes(shown)
      storing.add(shown.toString('utf8', 0, completeBytes), {
        takenBytes: consumed - heldBytes,
        maskingState: state,
        cut: shown.toString('hex', completeBytes),
      })
      if (storing.isFull) await storing.flush()
    },
    endOutput(change, line) {
      const { cut, endsLine } = storing.progress
      const rest = Buffer.concat([Buffer.from(cut, 'hex'), masking?.end() ?? Buffer.alloc(0)]).toString('utf8')
      masking = undefined
      const restEndsLine = rest === '' ? endsLine : rest.endsWith('\n')
      storing.add(line === undefined ? rest : `${rest}${ownLine(line, restEndsLine)}`, {
        takenBytes: 0,
        maskingState: 0,
        cut: '',
        ...change,
      })
    },
  }
}

/** Stores a build's log in the table: one batch after another, each with the progress at its end. */
type Storing = Pick<BuildLogWriter, 'flush' | 'onStored'> & {
  readonly progress: BuildProgress
  /** Whether so much is unwritten that the source must wait. */
  readonly isFull: boolean
  /** Adds a masked text, and the progress that goes with it. */
  add(text: string, change: Partial<BuildProgress>): void
}

function createStoring(
  db: Db,
  claim: BuildClaim,
  from: BuildProgress,
  last: LogLine | undefined,
  onLost: () => void,
): Storing {
  const nextPosition = createNumbering(last)
  let progress = from
  let stored = from
  let unwritten: string[] = []
  let unwrittenBytes = 0
  let writing: Promise<void> | undefined
  let heard = (_takenBytes: number): void => undefined

  const writeAll = async (): Promise<void> => {
    while (stored !== progress) {
      const begunMs = performance.now()
      const reached = progress
      const lines = chunksOf(unwritten.join('')).map((output): LogLine => ({ ...nextPosition(), output }))
      unwritten = []
      unwrittenBytes = 0
      if (!(await patiently(() => appendBuildLog(db, claim, lines, reached)))) {
        onLost()
        throw new BuildClaimLost()
      }
      stored = reached
      heard(stored.takenBytes)
      await pause(Math.max(0, batchMs - (performance.now() - begunMs)))
    }
    writing = undefined // a failure is kept, and rejects everyone who waits
  }
  return {
    get progress() {
      return progress
    },
    get isFull() {
      return unwrittenBytes > unwrittenBytesMax
    },
    add(text, change) {
      const bytes = Buffer.byteLength(text)
      const isKept = text !== '' && progress.keptBytes <= limits.buildLogBytes
      progress = {
        ...progress,
        ...change,
        ...(isKept ? { endsLine: text.endsWith('\n'), keptBytes: progress.keptBytes + bytes } : {}),
      }
      if (isKept) {
        unwritten.push(progress.keptBytes > limits.buildLogBytes ? tooLong : text)
        unwrittenBytes += bytes
      }
      writing ??= writeAll()
      writing.catch(() => undefined) // flush and pour report it
    },
    flush: async () => writing,
    onStored: (then) => {
      heard = then
    },
  }
}

/** Pieces of at most 16 KiB, split between characters. */
function chunksOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const chunks: string[] = []
  for (let at = 0; at < bytes.length; ) {
    let end = Math.min(at + chunkBytes, bytes.length)
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end-- // inside: end is below length
    chunks.push(bytes.toString('utf8', at, end))
    at = end
  }
  return chunks
}

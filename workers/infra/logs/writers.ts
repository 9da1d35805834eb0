/**
 * Writes a log that programs print: masks it, splits it into chunks, and stores what came since the last batch in one
 * statement together with the progress, so that the next worker continues at the same byte. Writers wait while much is
 * unwritten (backpressure), so that memory does not grow with the log.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createMasker, noMasker, type Masking } from '#src/platform/masking.ts'
import { openBytes } from '#src/platform/texts.ts'

const chunkBytes = 16 * 1024
const batchMs = 20
/** Unwritten output beyond which its source waits. */
const unwrittenBytesMax = 1024 * 1024

/** How much of a log is stored, for whoever continues it. */
export type LogProgress = {
  /**
   * Of the running command's output: the bytes already stored; the state of the masker there; the first bytes of an
   * incomplete character, in hexadecimal.
   */
  takenBytes: number
  maskingState: number
  cut: string
  /** Of the log: whether its last line is complete, and how many bytes it has. */
  endsLine: boolean
  keptBytes: number
}

/**
 * Where a log is stored.
 * @property store stores chunks together with the progress at their end; false when nothing more may be stored.
 * @property lost is called then; it makes the error for those who wait.
 * @property most after so many bytes a last sentence is stored, and no more output; absent without a limit.
 * @property findFull says why nothing may be stored for now; null while there is room. What is added meanwhile is left out,
 * and the log says so once.
 */
export type LogStore<Progress extends LogProgress> = {
  from: Progress
  store(outputs: readonly string[], reached: Progress): Promise<boolean>
  lost(): Error
  most?: { bytes: number; sentence: string }
  findFull(): Promise<string | null>
}

/** The writer of a log and its progress, used by one run only. */
export type LogWriter<Progress extends LogProgress> = {
  /** The progress, including what was added last. */
  readonly progress: Readonly<Progress>
  /** Masks these secrets from now on. */
  hide(secrets: readonly string[]): void
  /** Adds a line of our own, and the progress that goes with it. */
  say(line: string, change?: Partial<Progress>): void
  /** Restarts reading the running command's output. @returns the offset from which to read. */
  resumeOutput(): number
  /** Adds the next bytes of the running command's output, masked. Waits while much is unwritten. */
  pour(bytes: Buffer): Promise<void>
  /**
   * Ends the command's output: adds what the masker held back, and a line of our own, stored together with the
   * progress; the next command's output begins at 0.
   */
  endOutput(change: Partial<Progress>, line?: string): void
  /** Resolves when everything is stored. @throws what `lost` makes; Error when it cannot be. */
  flush(): Promise<void>
  /** Calls back with the stored length of the output whenever it grows. */
  onStored(then: (takenBytes: number) => void): void
}

/** Makes a writer. */
export function createLogWriter<Progress extends LogProgress>(to: LogStore<Progress>): LogWriter<Progress> {
  const storing = createStoring(to)
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
      const completeBytes = shown.length - openBytes(shown)
      storing.add(shown.toString('utf8', 0, completeBytes), {
        takenBytes: consumed - heldBytes,
        maskingState: state,
        cut: shown.toString('hex', completeBytes),
      } as Partial<Progress>) // these are its keys
      if (storing.isFull) await storing.flush()
    },
    endOutput(change, line) {
      const { cut, endsLine } = storing.progress
      const rest = Buffer.concat([Buffer.from(cut, 'hex'), masking?.end() ?? Buffer.alloc(0)]).toString('utf8')
      masking = undefined
      const restEndsLine = rest === '' ? endsLine : rest.endsWith('\n')
      const ended = { takenBytes: 0, maskingState: 0, cut: '', ...change }
      storing.add(line === undefined ? rest : `${rest}${ownLine(line, restEndsLine)}`, ended)
    },
  }
}

/** Stores a log: one batch after another, each with the progress at its end. */
type Storing<Progress extends LogProgress> = Pick<LogWriter<Progress>, 'flush' | 'onStored'> & {
  readonly progress: Progress
  /** Whether so much is unwritten that the source must wait. */
  readonly isFull: boolean
  /** Adds a masked text, and the progress that goes with it. */
  add(text: string, change: Partial<Progress>): void
}

function createStoring<Progress extends LogProgress>({
  from,
  store,
  lost,
  most,
  findFull,
}: LogStore<Progress>): Storing<Progress> {
  const mostBytes = most?.bytes ?? Infinity
  let progress = from
  let stored = from
  let unwritten: string[] = []
  let unwrittenBytes = 0
  let writing: Promise<void> | undefined
  let heard = (_takenBytes: number): void => undefined
  let isLeftOut = false

  const withinRoom = async (outputs: readonly string[]): Promise<readonly string[]> => {
    const full = outputs.length === 0 ? null : await findFull()
    if (full === null) {
      if (outputs.length > 0) isLeftOut = false
      return outputs
    }
    const marker = isLeftOut ? [] : [`\n[… ${full} What is printed until there is room is left out …]\n`]
    isLeftOut = true
    return marker
  }
  const writeAll = async (): Promise<void> => {
    while (stored !== progress) {
      const begunMs = performance.now()
      const reached = progress
      const text = unwritten.join('')
      unwritten = []
      unwrittenBytes = 0
      const outputs = await withinRoom(chunksOf(text))
      if (!(await store(outputs, reached))) throw lost()
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
      const isKept = text !== '' && progress.keptBytes <= mostBytes
      progress = {
        ...progress,
        ...change,
        ...(isKept ? { endsLine: text.endsWith('\n'), keptBytes: progress.keptBytes + bytes } : {}),
      }
      if (isKept) {
        unwritten.push(most && progress.keptBytes > mostBytes ? most.sentence : text)
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

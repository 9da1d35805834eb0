/**
 * The text of a model's answer on the stream of a run, while it is being written: the first piece at once, the later ones
 * collected for a moment. Secrets are masked before anything is stored.
 */
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as pause } from 'node:timers/promises'
import type { Masker } from '#src/platform/masking.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Db } from '#src/platform/postgres.ts'
import { storableText } from '#src/platform/texts.ts'
import { textIdOf, type Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { taskStreamLimits } from '#src/resources/agents/tasks/limits.ts'
import { hasPiece, writePiece, type Piece } from '#src/resources/agents/tasks/streams.ts'

/** The stream that an answer is written to: of which run, and the stored id of the event that began the request. */
type AnswerStream = Pick<Piece, 'taskId' | 'requestId'>

/** An answer that is being streamed. */
export type StreamedAnswer = {
  /** Adds text. Nothing waits for it. */
  say(text: string): void
  /** Streams the rest of the whole text. @throws the database's errors: then the answer cannot be logged either. */
  finish(whole: string): Promise<void>
  /** Streams nothing more: the answer is given up. */
  stop(): Promise<void>
}

/** Begins to stream an answer. A worker that has lost its claim streams nothing any more. */
export function streamAnswer(db: Db, stream: AnswerStream, masker: Masker, signal: AbortSignal): StreamedAnswer {
  const masking = masker.stream() // text that may be the beginning of a secret waits for the next piece
  const decoder = new StringDecoder('utf8')
  const hurry = new AbortController()
  let due = ''
  let addedLength = 0
  let number = 0
  let isOver = false
  let writing: Promise<void> | null = null
  let failure: Error | undefined

  const write = async (text: string): Promise<void> => {
    if (text === '') return
    const id = textIdOf(stream.requestId)
    const delta: Chunk = { type: 'text-delta', id, delta: text }
    const chunks = number === 0 ? [{ type: 'text-start', id } as const, delta] : [delta]
    isOver = !(await writeOnce(db, { ...stream, number: number++, chunks }, signal)) || isOver
  }
  /** What is due and may be shown; half a character waits for its other half. */
  const takeDue = (): string => {
    const whole = /[\ud800-\udbff]$/.test(due) ? due.slice(0, -1) : due
    due = due.slice(whole.length)
    return decoder.write(masking.push(Buffer.from(storableText(whole))))
  }
  const writeOn = async (): Promise<void> => {
    while (due !== '' && !isOver) {
      await write(takeDue())
      await pause(taskStreamLimits.pieceMs, undefined, { signal: hurry.signal }).catch(() => undefined) // the rest is due at once
      if (hurry.signal.aborted) return
    }
  }
  return {
    say(text) {
      due += text
      addedLength += text.length
      if (isOver || failure !== undefined) return
      writing ??= writeOn()
        .catch((error: Error) => void (failure = error))
        .finally(() => (writing = null))
    },
    async finish(whole) {
      hurry.abort()
      await writing
      if (failure !== undefined) throw failure
      due += whole.slice(addedLength)
      if (!isOver) await write(takeDue() + decoder.write(masking.end()) + decoder.end())
    },
    async stop() {
      isOver = true
      hurry.abort()
      await writing
    },
  }
}

/**
 * Writes a piece once, also when the connection is lost before Postgres has answered. A lost attempt may still be at work:
 * the next one waits for it, and then finds the piece.
 */
async function writeOnce(db: Db, piece: Piece, signal: AbortSignal): Promise<boolean> {
  let attempts = 0
  return patiently(async () => {
    const isAgain = attempts++ > 0
    return (await writePiece(db, piece)) || (isAgain && (await hasPiece(db, piece)))
  }, signal)
}

/** Commands in a guest, run to their end. Of each output stream the last MiB is kept. */
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { closingBytes } from '#src/platform/texts.ts'

/** How long after a command's time limit we give up on the guest: it kills 5 s after the limit, and then reports it. */
const silenceMs = 5_000 + limits.execSilenceSeconds * 1000

/** A command as `user`; `workingDir` null is the home folder. `stdin` is what it reads, nothing when absent. */
export type GuestCommand = {
  argv: readonly string[]
  workingDir?: string | null
  timeoutMs: number
  stdin?: string | Buffer | null
  as?: 'user' | 'root'
}
/** What a command printed and how it ended; a time limit is exit code 124. */
export type GuestResult = { stdout: string; stderr: string; exitCode: number; timedOut: boolean; durationMs: number }

/**
 * Runs a command and waits for it.
 * @throws BerthError vm_unreachable when the guest is lost; timeout when it is silent long after the command's limit.
 */
export async function execInGuest(machine: Machine, command: GuestCommand, signal?: AbortSignal): Promise<GuestResult> {
  const startedMs = performance.now()
  const { argv, workingDir, timeoutMs, stdin, as = 'user' } = command
  const channel = await machine.run({ argv, timeoutMs, as, ...(workingDir ? { workingDir } : {}) }, signal)
  const { stdout, stderr, exit } = await collect(channel, stdin ?? '', timeoutMs + silenceMs)
  return { stdout: stdout.text(), stderr: stderr.text(), ...exit, durationMs: performance.now() - startedMs }
}

/** Reads both streams to their ends. @throws BerthError timeout after the limit. */
export async function collect(
  channel: Channel,
  stdin: string | Buffer,
  limitMs: number,
): Promise<{ stdout: Tail; stderr: Tail; exit: Awaited<Channel['exit']> }> {
  const stdout = keepTail(channel.stdout)
  const stderr = keepTail(channel.stderr)
  channel.stdin.on('error', () => undefined) // a command that does not read its input to the end is no failure
  channel.stdin.end(stdin)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new BerthError(
          'timeout',
          'The VM did not end the command at its time limit. It may be overloaded; try again, or restart it.',
        ),
      )
      channel.close()
    }, limitMs)
  })
  try {
    return { stdout, stderr, exit: await Promise.race([channel.exit, late]) }
  } finally {
    clearTimeout(timer)
  }
}

/** How many chunks of output are held separately: with more, chunks are on average below a kilobyte, and are joined. */
const piecesMax = 2048

/** The end of a stream. `bytes` is without the line that says what is missing. */
export type Tail = { text(): string; bytes(): Buffer; droppedBytes(): number }

function keepTail(stream: Readable): Tail {
  const keptBytes = limits.execOutputBytes
  let pieces: Buffer[] = []
  let heldBytes = 0
  let droppedBytes = 0
  const trim = (): void => {
    const all = Buffer.concat(pieces)
    const excess = Math.max(0, all.length - keptBytes)
    droppedBytes += excess
    pieces = [all.subarray(excess)]
    heldBytes = all.length - excess
  }
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece)
    heldBytes += piece.length
    // A chunk of one byte takes a hundred bytes of memory, so many small ones are joined.
    if (heldBytes > 2 * keptBytes || pieces.length > piecesMax) trim()
  })
  const bytes = (): Buffer => {
    trim()
    return pieces[0] ?? Buffer.alloc(0)
  }
  return {
    bytes,
    droppedBytes: () => droppedBytes,
    text() {
      const kept = bytes()
      if (droppedBytes === 0) return kept.toString('utf8')
      const cut = closingBytes(kept)
      return `[… ${droppedBytes + cut} bytes dropped …]\n${kept.toString('utf8', cut)}`
    },
  }
}

/** Background processes of a guest: they outlive the connection, and keep the last MiB of each stream (guest/image/background.c). */
import { BerthError } from '#src/platform/errors.ts'
import type { OutputChunk, ProcessReport } from '#src/drivers/node.ts'
import { collect, execInGuest, type GuestCommand } from './exec.ts'
import { checkedId, readFrames, readReport, type GuestFrame } from './frames.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { runOnce } from './once.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'
import { openBytes } from '#src/platform/texts.ts'

const answerLimitMs = 15_000
const unknown = 3
/**
 * The maximum size of one piece of a followed stream: output from before the reader connected arrives as one frame of
 * up to a MiB.
 */
const pieceBytesMax = 64 * 1024
const signals = { INT: 2, KILL: 9, TERM: 15 } as const

/** What a process reads, until it has begun to. */
const inputOf = (processId: string): string => `/tmp/.berth-input-${processId}`

/**
 * Starts a process; a limit of 0 means none. Starting it a second time has no effect.
 * @param requestId the same for all tries of a request: what the process reads is written once.
 * @returns what to call when nobody will try again.
 * @throws BerthError vm_unreachable
 */
export async function startBackground(
  machine: Machine,
  requestId: string,
  processId: string,
  command: GuestCommand,
): Promise<() => void> {
  const { stdin, argv } = command
  if (!stdin) {
    await start(machine, processId, command)
    return () => undefined
  }
  const input = inputOf(checkedId(processId))
  const reading = ['/bin/dash', '-c', 'exec < "$0" && rm -f -- "$0" && exec "$@"', input, ...argv]
  let taken = (): void => undefined
  try {
    const written = await runOnce(machine, requestId, {
      argv: ['/bin/dash', '-c', 'umask 077; exec cat > "$0"', input],
      timeoutMs: answerLimitMs,
      stdin,
    })
    taken = () => written.taken()
    if (written.exitCode !== 0) throw notStarted()
    await start(machine, processId, { ...command, argv: reading })
  } catch (error) {
    taken()
    removeInput(machine, input)
    throw error
  }
  return taken
}

/** Not waited for: a machine that is lost or overloaded would only delay the answer. */
function removeInput(machine: Machine, input: string): void {
  execInGuest(machine, { argv: ['/bin/rm', '-f', '--', input], timeoutMs: answerLimitMs }).catch(() => undefined) // it stays in a machine that does not answer
}

async function start(machine: Machine, processId: string, command: GuestCommand): Promise<void> {
  const channel = await machine.request([
    'start',
    checkedId(processId),
    command.workingDir || '/home/user',
    String(Math.ceil(command.timeoutMs)),
    ...command.argv,
  ])
  const { exit } = await collect(channel, '', answerLimitMs)
  if (exit.exitCode !== 0) throw notStarted()
}

const notStarted = (): BerthError =>
  new BerthError('vm_unreachable', 'The VM could not start the process; its disk may be full.')

/** The process's output and state. @throws BerthError not_found when the guest does not know it. */
export async function readBackground(machine: Machine, processId: string): Promise<ProcessReport> {
  return readReport(watch(machine, processId, { stdout: 0, stderr: 0 }, false))
}

/**
 * Signals the process and all its descendants; returns whether any of them was still running.
 * @throws BerthError vm_unreachable
 */
export async function killBackground(
  machine: Machine,
  processId: string,
  signal: keyof typeof signals,
): Promise<boolean> {
  const channel = await machine.request(['kill', checkedId(processId), String(signals[signal])])
  const { exit } = await collect(channel, '', answerLimitMs)
  if (exit.exitCode !== 0 && exit.exitCode !== unknown) throw unreachable()
  return exit.exitCode === 0
}

/** Frees the output of ended processes, 2 MiB each. The record that remains keeps a process from being started twice. @throws BerthError vm_unreachable */
export async function forgetOutput(machine: Machine, processIds: readonly string[]): Promise<void> {
  const script = 'cd /var/lib/berth/processes && for id; do rm -f -- "$id/stdout" "$id/stderr"; done'
  const channel = await machine.run({
    argv: ['/bin/dash', '-c', script, 'forget', ...processIds.map(checkedId)],
    as: 'root',
    timeoutMs: answerLimitMs,
  })
  await collect(channel, '', answerLimitMs * 2)
}

/**
 * Streams the output from these offsets on, until the process has ended or the signal fires. A slow reader misses output;
 * the offset of the next piece shows how much.
 * @throws BerthError not_found, vm_unreachable
 */
export async function* followBackground(
  machine: Machine,
  processId: string,
  from: { stdout: number; stderr: number },
  signal: AbortSignal,
): AsyncIterableIterator<OutputChunk> {
  const cut: Record<'stdout' | 'stderr', Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  const offsets = { ...from }
  /**
   * A piece of a stream as text, with its offset. The text may have more bytes than the output if that was not valid
   * UTF-8.
   */
  const piece = (stream: 'stdout' | 'stderr', bytes: Buffer): OutputChunk => ({
    stream,
    offset: offsets[stream],
    sizeBytes: bytes.length,
    text: bytes.toString('utf8'),
  })
  try {
    for await (const frame of watch(machine, processId, from, true, signal)) {
      if (signal.aborted) return
      if ('status' in frame) {
        if (frame.status === 'running') continue
        for (const stream of ['stdout', 'stderr'] as const) if (cut[stream].length > 0) yield piece(stream, cut[stream]) // its last character never became complete
        yield { ended: true, exitCode: frame.exitCode, status: frame.status }
        continue
      }
      const { stream } = frame
      if (frame.offset !== offsets[stream] + cut[stream].length) {
        if (cut[stream].length > 0) yield piece(stream, cut[stream])
        cut[stream] = Buffer.alloc(0)
        offsets[stream] = frame.offset
      }
      for (let at = 0; at < frame.bytes.length; at += pieceBytesMax) {
        // A character that is split by the end of a piece is sent completely with the next piece.
        const bytes = Buffer.concat([cut[stream], frame.bytes.subarray(at, at + pieceBytesMax)])
        const completeBytes = bytes.length - openBytes(bytes)
        if (completeBytes > 0) yield piece(stream, bytes.subarray(0, completeBytes))
        offsets[stream] += completeBytes
        cut[stream] = bytes.subarray(completeBytes)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function* watch(
  machine: Machine,
  processId: string,
  from: { stdout: number; stderr: number },
  follow: boolean,
  signal?: AbortSignal,
): AsyncIterableIterator<GuestFrame> {
  const channel = await machine.request(
    ['watch', checkedId(processId), String(from.stdout), String(from.stderr), follow ? '1' : '0'],
    signal,
  )
  channel.stderr.resume()
  channel.stdin.on('error', () => undefined) // nothing is ever written
  try {
    yield* readFrames(channel)
    const { exitCode } = await channel.exit
    if (exitCode === unknown) throw new BerthError('not_found', 'The VM does not know this process.')
  } finally {
    channel.close()
  }
}

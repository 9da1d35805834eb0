/** Background processes of a guest: they outlive the connection, and keep the last MiB of each stream (guest/background.c). */
import assert from 'node:assert'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { OutputChunk, ProcessReport } from '../node.ts'
import { collect, type GuestCommand } from './guest-exec.ts'
import type { Channel, Machine } from './machine.ts'
import { unreachable } from './ssh.ts'

const answerLimitMs = 15_000
const unknown = 3
/** A frame's head, or the last line. Unit: bytes. */
const headBytesMax = 80
const piecesMax = 2048
const reportBytesMax = 4 * limits.execOutputBytes
/** Of one piece of a stream that is followed: what was printed before the reader came arrives as one frame of up to a MiB. */
const pieceBytesMax = 64 * 1024
const signals = { INT: 2, KILL: 9, TERM: 15 } as const

type Frame = { stream: 'stdout' | 'stderr'; offset: number; bytes: Buffer } | { status: 'running' | 'exited' | 'killed'; exitCode: number }

/** Starts a process; a limit of 0 is none. Starting it a second time does nothing. @throws BerthError vm_unreachable */
export async function startBackground(machine: Machine, processId: string, command: GuestCommand): Promise<void> {
  const channel = await machine.request(['start', checked(processId), command.workingDir || '/home/user', String(Math.ceil(command.timeoutMs)), ...command.argv])
  const { exit } = await collect(channel, '', answerLimitMs)
  if (exit.exitCode !== 0) throw new BerthError('vm_unreachable', 'The VM could not start the process; its disk may be full.')
}

/** What the process printed and how it is. @throws BerthError not_found when the guest does not know it. */
export async function readBackground(machine: Machine, processId: string): Promise<ProcessReport> {
  const report: ProcessReport = { status: 'running', exitCode: null, stdout: '', stderr: '', stdoutOffset: 0, stderrOffset: 0 }
  const kept: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
  let heldBytes = 0
  for await (const frame of watch(machine, processId, { stdout: 0, stderr: 0 }, false)) {
    if ('status' in frame) {
      report.status = frame.status
      report.exitCode = frame.status === 'running' ? null : frame.exitCode
    } else {
      const dropped = kept[frame.stream].length === 0 && frame.offset > 0
      if (dropped) kept[frame.stream].push(Buffer.from(`[… ${frame.offset} bytes dropped …]\n`))
      heldBytes += frame.bytes.length
      if (heldBytes > reportBytesMax) throw unreachable() // more than the guest's rings hold: it is not ours that answers
      kept[frame.stream].push(frame.bytes)
      report[`${frame.stream}Offset`] = frame.offset + frame.bytes.length
    }
  }
  report.stdout = Buffer.concat(kept.stdout).toString('utf8')
  report.stderr = Buffer.concat(kept.stderr).toString('utf8')
  return report
}

/** Signals everything that came of the process; answers whether any of it still ran. @throws BerthError vm_unreachable */
export async function killBackground(machine: Machine, processId: string, signal: keyof typeof signals): Promise<boolean> {
  const channel = await machine.request(['kill', checked(processId), String(signals[signal])])
  const { exit } = await collect(channel, '', answerLimitMs)
  if (exit.exitCode !== 0 && exit.exitCode !== unknown) throw unreachable()
  return exit.exitCode === 0
}

/** Frees what ended processes printed, 2 MiB each. What is left of one keeps it from being started again. @throws BerthError vm_unreachable */
export async function forgetOutput(machine: Machine, processIds: readonly string[]): Promise<void> {
  const script = 'cd /var/lib/berth/processes && for id; do rm -f -- "$id/stdout" "$id/stderr"; done'
  const channel = await machine.run({ argv: ['/bin/dash', '-c', script, 'forget', ...processIds.map(checked)], as: 'root', timeoutMs: answerLimitMs })
  await collect(channel, '', answerLimitMs * 2)
}

/**
 * The output from these offsets on, as it comes, until the process has ended or the signal fires. What a reader was too
 * slow for is left out: the offset of the next piece shows it.
 * @throws BerthError not_found, vm_unreachable
 */
export async function* followBackground(machine: Machine, processId: string, from: { stdout: number; stderr: number }, signal: AbortSignal): AsyncIterableIterator<OutputChunk> {
  const cut: Record<'stdout' | 'stderr', Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
  const offsets = { ...from }
  /** What is held of a stream, as text, and its place: the text may have more bytes, where what was printed is none. */
  const piece = (stream: 'stdout' | 'stderr', bytes: Buffer): OutputChunk => ({ stream, offset: offsets[stream], sizeBytes: bytes.length, text: bytes.toString('utf8') })
  try {
    for await (const frame of watch(machine, processId, from, true, signal)) {
      if (signal.aborted) return
      if ('status' in frame) {
        if (frame.status === 'running') continue
        for (const stream of ['stdout', 'stderr'] as const) if (cut[stream].length > 0) yield piece(stream, cut[stream]) // its character never came whole
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
        // A character that the end of a piece cuts in two comes whole with the next piece.
        const bytes = Buffer.concat([cut[stream], frame.bytes.subarray(at, at + pieceBytesMax)])
        const whole = bytes.length - cutBytes(bytes)
        if (whole > 0) yield piece(stream, bytes.subarray(0, whole))
        offsets[stream] += whole
        cut[stream] = bytes.subarray(whole)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** How many bytes at the end begin a UTF-8 character without ending it. */
function cutBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

async function* watch(machine: Machine, processId: string, from: { stdout: number; stderr: number }, follow: boolean, signal?: AbortSignal): AsyncIterableIterator<Frame> {
  const channel = await machine.request(['watch', checked(processId), String(from.stdout), String(from.stderr), follow ? '1' : '0'], signal)
  channel.stderr.resume()
  channel.stdin.on('error', () => undefined) // nothing is ever written
  try {
    yield* frames(channel)
    const { exitCode } = await channel.exit
    if (exitCode === unknown) throw new BerthError('not_found', 'The VM does not know this process.')
  } finally {
    channel.close()
  }
}

/** Cuts the guest's answer into frames. The guest is not trusted: what does not fit ends the reading. */
async function* frames(channel: Channel): AsyncIterableIterator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  let pieces: Buffer[] = []
  let wantedBytes = 0
  let piecesBytes = 0
  for await (const piece of channel.stdout as AsyncIterable<Buffer>) {
    // Copied once when a frame is whole, or when there are many: a guest that sends single bytes would have us copy all of it for each.
    pieces.push(piece)
    piecesBytes += piece.length
    if (rest.length + piecesBytes < wantedBytes && pieces.length < piecesMax) continue
    rest = Buffer.concat([rest, ...pieces])
    ;[pieces, piecesBytes, wantedBytes] = [[], 0, 0]
    for (;;) {
      const end = rest.indexOf('\n')
      if ((end < 0 ? rest.length : end) > headBytesMax) throw unreachable()
      if (end < 0) break
      const head = rest.toString('latin1', 0, end)
      const state = /^state (running|exited|killed) (\d{1,3})$/.exec(head)
      const frame = /^([12]) (\d{1,15}) (\d{1,7})$/.exec(head)
      if (state) {
        yield { status: state[1] as 'running' | 'exited' | 'killed', exitCode: Number(state[2]) } // as the pattern says
        rest = rest.subarray(end + 1)
        continue
      }
      const length = Number(frame?.[3])
      if (!frame || length > limits.execOutputBytes) throw unreachable()
      if (rest.length < end + 1 + length) {
        wantedBytes = end + 1 + length
        break
      }
      yield { stream: frame[1] === '1' ? 'stdout' : 'stderr', offset: Number(frame[2]), bytes: Buffer.from(rest.subarray(end + 1, end + 1 + length)) }
      rest = rest.subarray(end + 1 + length)
    }
  }
}

/** It names a folder and a control group in the guest. */
function checked(processId: string): string {
  assert(/^[A-Za-z0-9_-]{1,64}$/.test(processId), 'a process id must be a plain word')
  return processId
}

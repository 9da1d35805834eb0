/**
 * How the guest sends what supervised commands printed (guest/image/watch.c): frames of a stream, and a line with the
 * command's state.
 */
import assert from 'node:assert'
import { limits } from '#src/platform/limits.ts'
import type { ProcessReport } from '#src/drivers/node.ts'
import type { Channel } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'
import { closingBytes } from '#src/platform/texts.ts'

/** A frame's head, or the line of a state. Unit: bytes. */
const headBytesMax = 80
const piecesMax = 2048
const reportBytesMax = 4 * limits.execOutputBytes

/** A piece of a stream with its offset in the whole output, or the command's state. */
export type GuestFrame =
  | { stream: 'stdout' | 'stderr'; offset: number; bytes: Buffer }
  | { status: 'running' | 'exited' | 'killed'; exitCode: number }

/**
 * Cuts the guest's answer into frames. The guest is not trusted: invalid data ends the reading.
 * @throws BerthError vm_unreachable
 */
export async function* readFrames(channel: Channel): AsyncIterableIterator<GuestFrame> {
  let rest: Buffer = Buffer.alloc(0)
  let pieces: Buffer[] = []
  let wantedBytes = 0
  let piecesBytes = 0
  for await (const piece of channel.stdout as AsyncIterable<Buffer>) {
    // Joined once when a frame is complete, or there are many chunks: otherwise a guest that sends single bytes would make us copy everything for each.
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
      yield {
        stream: frame[1] === '1' ? 'stdout' : 'stderr',
        offset: Number(frame[2]),
        bytes: Buffer.from(rest.subarray(end + 1, end + 1 + length)),
      }
      rest = rest.subarray(end + 1 + length)
    }
  }
}

/**
 * Both streams as texts, with a line for what is missing at their beginnings, and the last reported state.
 * @throws BerthError vm_unreachable
 */
export async function readReport(frames: AsyncIterable<GuestFrame>): Promise<ProcessReport> {
  const report: ProcessReport = {
    status: 'running',
    exitCode: null,
    stdout: '',
    stderr: '',
    stdoutOffset: 0,
    stderrOffset: 0,
  }
  const kept: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
  let heldBytes = 0
  for await (const frame of frames) {
    if ('status' in frame) {
      report.status = frame.status
      report.exitCode = frame.status === 'running' ? null : frame.exitCode
    } else {
      const dropped = kept[frame.stream].length === 0 && frame.offset > 0
      const cut = dropped ? closingBytes(frame.bytes) : 0
      if (dropped) kept[frame.stream].push(Buffer.from(`[… ${frame.offset + cut} bytes dropped …]\n`))
      heldBytes += frame.bytes.length
      if (heldBytes > reportBytesMax) throw unreachable() // more than the guest's ring buffers hold: another program is answering
      kept[frame.stream].push(frame.bytes.subarray(cut))
      report[`${frame.stream}Offset`] = frame.offset + frame.bytes.length
    }
  }
  report.stdout = Buffer.concat(kept.stdout).toString('utf8')
  report.stderr = Buffer.concat(kept.stderr).toString('utf8')
  return report
}

/** The id, which names a folder and a control group in the guest. */
export function checkedId(id: string): string {
  assert(/^[A-Za-z0-9_-]{1,64}$/.test(id), 'an id in the guest must be a plain word')
  return id
}

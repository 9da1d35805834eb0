/**
 * Commands whose complete output is needed: the guest keeps it until it is acknowledged, and the command waits meanwhile
 * (guest/image/watch.c), so that nothing is lost when its reader dies.
 */
import { BerthError } from '#src/platform/errors.ts'
import { collect, type GuestCommand } from './exec.ts'
import { checkedId, readFrames } from './frames.ts'
import type { Exit, Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'

const answerLimitMs = 15_000
const notKnown = 125

/** A piece of the output from this offset on, or how the command ended. Both streams are merged. */
export type KeptPiece = { offset: number; bytes: Buffer } | Exit

/** The output of a kept command as it comes. */
export type KeptOutput = {
  pieces: AsyncIterable<KeptPiece>
  /** Acknowledges everything before this offset: it is stored, and the guest can free it. */
  taken(offset: number): void
  close(): void
}

/** What a guest cannot do. */
export class GuestRefusal extends Error {}

/**
 * Starts a command as `user` that waits for its output to be taken. Starting it a second time has no effect, even after
 * its end.
 * @throws BerthError vm_unreachable; GuestRefusal when the guest cannot start anything, or is of an earlier version.
 */
export async function startKept(
  machine: Machine,
  id: string,
  { argv, workingDir, timeoutMs }: Omit<GuestCommand, 'stdin' | 'as'>,
): Promise<void> {
  const channel = await machine.request([
    'keep',
    checkedId(id),
    workingDir || '/home/user',
    String(Math.ceil(timeoutMs)),
    ...argv,
  ])
  const { exit } = await collect(channel, '', answerLimitMs).catch((error: unknown) => {
    throw error instanceof BerthError && error.code === 'timeout' ? unreachable() : error
  })
  if (exit.exitCode === notKnown)
    throw new GuestRefusal(
      'The template was made by an earlier version of Berth, and builds cannot start from it any more. Build it again.',
    )
  if (exit.exitCode !== 0)
    throw new GuestRefusal(
      'The machine has too little memory left to start a command. Set a larger memory_mb in resources.',
    )
}

/**
 * Takes a kept command's output from this offset on; everything before is already stored.
 * @throws BerthError vm_unreachable; the pieces too.
 */
export async function takeKept(machine: Machine, id: string, offset: number): Promise<KeptOutput> {
  const channel = await machine.request(['take', checkedId(id), String(offset)])
  channel.stderr.resume()
  channel.stdin.on('error', () => undefined) // a lost guest takes no more acknowledgements; its exit reports that
  async function* pieces(): AsyncIterableIterator<KeptPiece> {
    let next = offset
    for await (const frame of readFrames(channel)) {
      if ('status' in frame)
        return yield { exitCode: frame.exitCode, timedOut: frame.status === 'killed' && frame.exitCode === 124 }
      if (frame.offset !== next) throw new GuestRefusal('The machine lost some of what the command printed.')
      next += frame.bytes.length
      yield { offset: frame.offset, bytes: frame.bytes }
    }
    throw unreachable()
  }
  return {
    pieces: pieces(),
    taken(upTo) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64BE(BigInt(upTo))
      if (channel.stdin.writable) channel.stdin.write(bytes)
    },
    close: () => channel.close(),
  }
}

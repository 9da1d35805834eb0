/**
 * Commands that run once, however often they are requested under the same id: the guest keeps the answer until it is
 * acknowledged (guest/image/watch.c), so a retry after a broken connection, or after a worker's death, gets it too.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { execInGuest, type GuestCommand, type GuestResult } from './exec.ts'
import { checkedId, readFrames, readReport } from './frames.ts'
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'

/** How long after a command's time limit we give up on the guest: it kills 5 s after the limit, and then reports it. */
const silenceMs = 5_000 + limits.execSilenceSeconds * 1000
const againMs = 100
/** What a guest of an earlier version answers to a request that it does not know. */
const notKnown = 125

/** An answer; `taken` acknowledges it, so that the guest need not keep it. */
export type KeptResult = GuestResult & { taken(): void }

/** Guests of VMs that were made before this version: their commands end with the connection. */
const olderGuests = new WeakSet<Machine>()

/**
 * Runs a command as `user` and waits for it. If the connection to the machine breaks, the request is repeated.
 * @throws BerthError vm_unreachable when the guest is lost; timeout when it is silent long after the command's limit.
 */
export async function runOnce(machine: Machine, id: string, command: GuestCommand): Promise<KeptResult> {
  const startedMs = performance.now()
  let lastReachedMs = startedMs
  for (;;) {
    if (olderGuests.has(machine)) return { ...(await execInGuest(machine, command)), taken: () => undefined }
    try {
      const channel = await machine.request(fieldsOf(id, command))
      lastReachedMs = Infinity // assumed, until the guest says otherwise
      const answer = await ask(channel, command)
      if (answer) return { ...answer, durationMs: performance.now() - startedMs }
      olderGuests.add(machine)
    } catch (error) {
      if (!(error instanceof BerthError) || error.code !== 'vm_unreachable') throw error
      if (lastReachedMs === Infinity) lastReachedMs = performance.now()
      if (performance.now() - lastReachedMs > limits.nodeWaitSeconds * 1000) throw error
      await pause(againMs)
    }
  }
}

function fieldsOf(id: string, { argv, workingDir, timeoutMs, stdin }: GuestCommand): string[] {
  return [
    'once',
    checkedId(id),
    workingDir || '/home/user',
    String(Math.ceil(timeoutMs)),
    String(Buffer.byteLength(stdin ?? '')),
    ...argv,
  ]
}

/** Sends the command its input and reads the answer; undefined when the guest does not know such requests. */
async function ask(
  channel: Channel,
  { timeoutMs, stdin }: GuestCommand,
): Promise<Omit<KeptResult, 'durationMs'> | undefined> {
  channel.stderr.resume()
  channel.stdin.on('error', () => undefined) // a lost guest does not read it; its exit reports that
  if (stdin) channel.stdin.write(stdin)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(
      new BerthError(
        'timeout',
        'The VM did not end the command at its time limit. It may be overloaded; try again, or restart it.',
      ),
    )
    channel.close()
  }, timeoutMs + silenceMs)
  const reading = readReport(untilState(channel))
  reading.catch(() => undefined) // thrown below, unless it was late
  try {
    const { status, exitCode, stdout, stderr } = await Promise.race([reading, late.promise])
    if (status !== 'running' && exitCode !== null)
      return {
        stdout,
        stderr,
        exitCode,
        timedOut: status === 'killed' && exitCode === 124,
        taken: () => void channel.stdin.end(Buffer.of(1)),
      }
    if ((await Promise.race([channel.exit, late.promise])).exitCode === notKnown) return undefined
    throw unreachable()
  } finally {
    clearTimeout(timer)
    late.promise.catch(() => undefined) // thrown above, when it was
  }
}

/** The frames up to the state: the guest then waits until its answer is acknowledged. */
async function* untilState(channel: Channel): ReturnType<typeof readFrames> {
  const frames = readFrames(channel)
  for (;;) {
    const { value, done } = await frames.next()
    if (done) return
    yield value
    if ('status' in value) break
  }
  frames.next().catch(() => undefined) // read on, so that the channel can close; the rest is ignored
}

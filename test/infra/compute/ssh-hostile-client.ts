/**
 * Run as a process of its own by ssh-hostile.test.ts, because its memory is measured: connects to a guest's SSH server as a
 * worker does, uses the connection, and says how it ended and how far its memory went meanwhile.
 */
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { connectSsh, type SshTarget } from '#src/drivers/compute/ssh.ts'

/** What the process is told, and what it answers. Memory that objects and buffers take, in bytes, grown since the guest before had been served. */
export type Wanted = {
  /** An honest guest, served first: code and buffers that any guest costs are no attack's. */ before: SshTarget
  target: SshTarget
  reads: boolean
  writes: boolean
  limitMs: number
}
/** `cutFor` is null when the connection was still there at the end, or ended otherwise. */
export type Outcome = { cutFor: string | null; ended: boolean; grewBytes: number }

const [{ before: honest, target, reads, writes, limitMs }] = (await once(process, 'message')) as [Wanted]
const chunk = Buffer.alloc(64 * 1024)

function keptBytes(): number {
  globalThis.gc?.()
  globalThis.gc?.() // the first one frees buffers beside us, and the next one waits for that
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function onEgress(connection: Duplex): void {
  connection.on('error', () => connection.destroy())
  if (reads) connection.resume()
  if (!writes) return
  // A fast host, which waits when the guest does not read.
  const send = (): void => {
    while (connection.write(chunk)) continue
  }
  connection.on('drain', send)
  send()
}

const served = await connectSsh(honest, (connection) => connection.destroy(), 5_000)
const work = await served.run({ argv: ['work'], timeoutMs: 60_000 })
work.stdin.on('error', () => undefined)
work.stderr.resume()
for await (const _ of work.stdout) continue
served.end()
await served.closed
const before = keptBytes()
let most = before
const sampler = setInterval(() => {
  most = Math.max(most, keptBytes())
}, 50)

let outcome: Pick<Outcome, 'cutFor' | 'ended'> = { cutFor: null, ended: false }
try {
  const connection = await connectSsh(target, onEgress, 5_000)
  const command = connection.run({ argv: ['work'], timeoutMs: limitMs }).then((channel) => {
    channel.stdin.on('error', () => undefined)
    if (!reads) return
    channel.stdout.resume()
    channel.stderr.resume()
  })
  command.catch(() => undefined) // the connection's end says more
  const late = new Promise<null>((resolve) => {
    setTimeout(() => resolve(null), limitMs).unref()
  })
  const closed = await Promise.race([connection.closed, late])
  outcome = { cutFor: closed?.cutFor ?? null, ended: closed !== null }
  connection.end()
} catch (error) {
  outcome = { cutFor: error instanceof Error ? error.message : String(error), ended: true }
}
clearInterval(sampler)
process.send!(
  {
    ...outcome,
    grewBytes: Math.max(most, keptBytes()) - before,
  } satisfies Outcome,
  () => process.exit(0),
)

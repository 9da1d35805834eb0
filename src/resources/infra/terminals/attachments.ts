/**
 * A client at a terminal: what passes between the two, over workers that start again, for as long as whoever asked for the ticket
 * may write in the VM. The guest keeps what was printed, and counts its bytes; here it is only known how far the client is.
 */
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newId, randomToken } from '#src/platform/ids.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import {
  brokenTerminal,
  createFrameReader,
  terminalFrames,
  type GuestFrame,
  type TerminalSize,
} from '#src/drivers/node/terminal-frames.ts'
import { reachVm, type RunningVm } from '#src/resources/infra/vms/access.ts'
import { PendingInput } from './pending-input.ts'
import { finishTerminal, noteClient, type Terminal } from './records.ts'
import { callerNow, type Rights } from './rights.ts'
import { terminalEnded, type Redeemed } from './tickets.ts'

const againMs = 250
const seenMs = 60_000
/** For the guest to end, once it is told that its end is known. */
const endTakenMs = 5_000
const attachmentIdBytes = 8

/** What a client asks for. `after`: how many bytes of the output it has; null: none. */
export type AttachRequest = TerminalSize & { ticket: string; after: number | null; isFromOurPage: boolean }

/** What a client is told; nothing more after `exit`, `replaced` and `failed`. Offsets count bytes since the terminal was opened. */
export type TerminalClient = {
  /** What follows begins at this offset. */
  attached(terminal: Terminal, offset: number): void
  output(bytes: Buffer): void
  /** What is before this offset and the client does not have is lost. */
  gap(offset: number): void
  exit(code: number): void
  /** Another client has attached. */
  replaced(): void
  failed(error: unknown): void
}

/** A client that is attached. */
export class Attachment {
  readonly #services: Services
  readonly #terminal: Terminal
  readonly #rights: Rights
  readonly #client: TerminalClient
  readonly #id = Buffer.from(randomToken(attachmentIdBytes), 'base64url')
  readonly #left = new AbortController()
  readonly #input = new PendingInput()
  readonly #endStream: () => void
  #timers: NodeJS.Timeout[] = []
  #line: Duplex | null = null
  #size: TerminalSize
  /** What the client was sent, or had; null: nothing yet. */
  #sent: number | null
  #isAttached = false
  #reconnectUntilMs: number | null = null
  #isPaused = false
  /** What is to be said once the line takes more. */
  #unsaid: { acknowledged?: number; isResized?: boolean } = {}

  /** @throws BerthError rate_limited. */
  constructor(
    services: Services,
    { terminal, rights, caller }: Redeemed & { caller: Caller },
    { columns, rows, after }: AttachRequest,
    client: TerminalClient,
  ) {
    this.#services = services
    this.#terminal = terminal
    this.#rights = rights
    this.#client = client
    this.#size = { columns, rows }
    this.#sent = after
    this.#endStream = beginStream('terminal', `terminals of ${callerName(caller)}`)
  }

  /** Connects to the guest. @throws BerthError as attachTerminal; then it is over. */
  async begin(): Promise<void> {
    try {
      const line = await this.#connect({ wakes: true })
      if (this.#left.signal.aborted) return void line.destroy()
      this.#watch()
      this.#follow(line)
    } catch (error) {
      this.leave()
      throw error
    }
  }

  /** Passes on what the client typed. @throws BerthError rate_limited. */
  type(bytes: Buffer): void {
    this.#input.add(bytes)
    this.#sendInput()
  }

  resize(size: TerminalSize): void {
    this.#size = size
    this.#unsaid.isResized = true
    this.#say()
  }

  /** The client has everything before this offset; of what it was not sent, it cannot have anything. */
  acknowledge(offset: number): void {
    this.#unsaid.acknowledged = Math.min(offset, this.#sent ?? 0)
    this.#say()
  }

  /** Reads nothing more until `resume`: the client does not take what it is sent. */
  pause(): void {
    this.#isPaused = true
    this.#line?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#line?.resume()
  }

  /** The client is gone; its terminal stays. */
  leave(): void {
    if (this.#left.signal.aborted) return
    this.#left.abort()
    for (const timer of this.#timers) clearInterval(timer)
    this.#line?.destroy()
    this.#endStream()
    if (this.#isAttached) this.#note()
  }

  /** @throws BerthError not_found when it has ended; as reachVm and NodeClient.tunnel. */
  async #connect({ wakes }: { wakes: boolean }): Promise<Duplex> {
    try {
      if (this.#terminal.status !== 'running') throw terminalEnded()
      const { id: vmId, node } = await this.#reach({ wakes })
      return await node.tunnel({ vmId, terminalId: this.#terminal.id })
    } catch (error) {
      if (error instanceof BerthError && error.code === 'not_found' && error.details['noun'] === 'terminal')
        await finishTerminal(this.#services.db, this.#terminal.id, null)
      throw error
    }
  }

  /** The VM, as whoever asked for the ticket may reach it now. @throws BerthError as reachVm and callerNow. */
  async #reach({ wakes }: { wakes: boolean }): Promise<RunningVm> {
    const caller = await callerNow(this.#services.db, this.#rights)
    const call = { ...this.#services, caller, requestId: newId('request') }
    return reachVm(call, encodeId('vm', this.#terminal.vmId), 'vms:write', { wakes })
  }

  /** Looks again and again whether the client may still be attached, and notes that it is. */
  #watch(): void {
    const look = (): void => {
      this.#reach({ wakes: false }).catch((error: unknown) => {
        if (error instanceof BerthError && error.status < 500) this.#fail(error)
        else log.debug({ err: error }, 'the caller at a terminal could not be checked') // the next time will tell
      })
    }
    this.#timers = [setInterval(look, terminalLimits.recheckSeconds * 1000), setInterval(() => this.#note(), seenMs)]
    for (const timer of this.#timers) timer.unref()
  }

  #note(): void {
    noteClient(this.#services.db, this.#terminal.id, this.#size).catch((error: unknown) =>
      log.warn({ err: error }, 'a client at a terminal could not be noted'),
    )
  }

  /** Passes what the guest says, until it is over; a connection that breaks before is opened again. */
  #follow(line: Duplex): void {
    this.#line = line
    let isOver = false
    let hasBegun = false
    const read = createFrameReader((frame) => {
      if (isOver || this.#left.signal.aborted) return
      if (frame.kind === 'attached' && hasBegun) throw brokenTerminal() // it is said once
      hasBegun ||= frame.kind === 'attached'
      isOver = this.#take(frame)
    })
    line.on('error', () => line.destroy()) // 'close' follows
    line.on('data', (piece: Buffer) => {
      try {
        read(piece)
      } catch (error) {
        this.#fail(error)
      }
    })
    line.on('drain', () => {
      this.#say()
      this.#sendInput()
    })
    line.once('close', () => {
      this.#line = null
      if (!isOver && !this.#left.signal.aborted) this.#reconnect().catch((error: unknown) => this.#fail(error))
    })
    line.write(terminalFrames.attach(this.#sent, this.#size, this.#id))
    if (this.#isPaused) line.pause()
  }

  async #reconnect(): Promise<void> {
    this.#reconnectUntilMs ??= performance.now() + terminalLimits.reconnectSeconds * 1000 // until the guest has begun
    const untilMs = this.#reconnectUntilMs
    for (;;) {
      await pause(againMs, undefined, { signal: this.#left.signal }).catch(() => undefined) // nobody waits any more
      if (this.#left.signal.aborted) return
      try {
        const line = await this.#connect({ wakes: false })
        return this.#left.signal.aborted ? void line.destroy() : this.#follow(line)
      } catch (error) {
        const isPassing = error instanceof BerthError && error.code === 'vm_unreachable'
        if (!isPassing || performance.now() > untilMs) throw error
      }
    }
  }

  /** Whether this was the last. */
  #take(frame: GuestFrame): boolean {
    switch (frame.kind) {
      case 'attached':
        this.#begun(frame)
        return false
      case 'output':
        this.#sent = (this.#sent ?? 0) + frame.bytes.length
        this.#client.output(frame.bytes)
        return false
      case 'input':
        this.#input.confirm(frame.offset)
        this.#sendInput()
        return false
      case 'exit':
        this.#end(frame).catch((error: unknown) => this.#fail(error))
        return true
      case 'replaced':
        this.#client.replaced()
        this.leave()
        return true
    }
  }

  #begun({ offset, inputOffset }: Extract<GuestFrame, { kind: 'attached' }>): void {
    const has = this.#sent
    this.#reconnectUntilMs = null
    this.#sent = offset
    if (!this.#isAttached) {
      this.#isAttached = true
      this.#client.attached(this.#terminal, offset)
      this.#note()
    }
    if (has !== null && has !== offset) this.#client.gap(offset)
    this.#input.begin(inputOffset)
    this.#sendInput()
  }

  /** The end is written down before the guest may forget it. */
  async #end({ code, wasClosed }: Extract<GuestFrame, { kind: 'exit' }>): Promise<void> {
    await finishTerminal(this.#services.db, this.#terminal.id, wasClosed ? null : code)
    const line = this.#line
    this.#line = null
    line?.write(terminalFrames.endTaken())
    setTimeout(() => line?.destroy(), endTakenMs).unref()
    if (this.#left.signal.aborted) return
    this.#client.exit(code)
    this.leave()
  }

  #fail(error: unknown): void {
    if (this.#left.signal.aborted) return
    this.leave()
    this.#client.failed(error)
  }

  /** While the line takes nothing, what is typed waits here, where it is bounded. */
  #sendInput(): void {
    const next = this.#line && !this.#line.writableNeedDrain ? this.#input.take() : null
    if (next && next.length > 0) this.#line?.write(terminalFrames.input(next))
  }

  /** Says the newest size and acknowledgement; while the line takes nothing, newer ones take their places. */
  #say(): void {
    const line = this.#line
    if (!line || !this.#isAttached || line.writableNeedDrain) return
    const { acknowledged, isResized } = this.#unsaid
    this.#unsaid = {}
    if (isResized) line.write(terminalFrames.resize(this.#size))
    if (acknowledged !== undefined) line.write(terminalFrames.acknowledge(acknowledged))
  }
}

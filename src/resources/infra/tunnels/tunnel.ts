/**
 * A tunnel: one TCP connection to a port of a VM, for as long as whoever asked for the ticket may write in the VM. Each side says how
 * many bytes it has dealt with, and the other one sends so many more at most: nothing gathers where somebody reads slowly.
 */
import type { Duplex } from 'node:stream'
import { JoinedPieces } from '#src/drivers/joined-pieces.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newId } from '#src/platform/ids.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import { callerNow } from '#src/resources/infra/terminals/rights.ts'
import { reachVm, type RunningVm } from '#src/resources/infra/vms/access.ts'
import type { TunnelRight } from './tickets.ts'

/** An acknowledgement waits for so much more, or until all that came is passed on. */
const ackBytes = 64 * 1024

/** What a client is told; nothing more after `over` and `failed`. Offsets count the bytes of one direction. */
export type TunnelClient = {
  opened(): void
  output(bytes: Buffer): void
  /** What the client sent before this offset is passed on. */
  acknowledged(offset: number): void
  /** The program in the VM sends no more. */
  ended(): void
  /** Both directions have ended. */
  over(): void
  failed(error: unknown): void
}

/** One that is open, or will be in a moment. */
export class Tunnel {
  readonly #services: Services
  readonly #right: TunnelRight
  readonly #client: TunnelClient
  readonly #endStream: () => void
  #isLeft = false
  #line: Duplex | null = null
  #recheck: NodeJS.Timeout | undefined
  readonly #output = { sent: 0, acknowledged: 0 }
  readonly #input = { received: 0, passedOn: 0, acknowledged: 0, hasEnded: false, isWriting: false }
  /** What waits for the write before it: one buffer, however small the messages were. */
  readonly #gathered = new JoinedPieces()

  /** @throws BerthError rate_limited. */
  constructor(services: Services, right: TunnelRight, client: TunnelClient) {
    this.#services = services
    this.#right = right
    this.#client = client
    const whose = `tunnels of ${encodeId('organization', right.rights.organizationId)}`
    this.#endStream = beginStream('tunnel', whose, tunnelLimits.perOrganization)
  }

  /** Connects to the port. @throws BerthError as openTunnel; then it is over. */
  async begin(): Promise<void> {
    try {
      const { id: vmId, node } = await this.#reach({ wakes: true })
      const line = await node.tunnel({ vmId, port: this.#right.port, isForCaller: true })
      if (this.#isLeft) return void line.destroy()
      this.#client.opened()
      this.#follow(line)
      this.#watch()
    } catch (error) {
      this.leave()
      throw error
    }
  }

  /** Passes on what the client sends. @throws BerthError invalid_request behind its end; rate_limited when it did not wait. */
  send(bytes: Buffer): void {
    if (!this.#line) return // it is over, which the client is being told
    if (this.#input.hasEnded) throw new BerthError('invalid_request', 'You have said that you send no more.')
    this.#input.received += bytes.length
    if (this.#input.received - this.#input.passedOn > tunnelLimits.unacknowledgedBytes)
      throw new BerthError(
        'rate_limited',
        `You sent more than ${tunnelLimits.unacknowledgedBytes / 1024} KiB that were not acknowledged. Wait for ack before you send more.`,
      )
    if (bytes.length === 0) return
    this.#gathered.add(bytes)
    this.#write()
  }

  /** The client sends no more. */
  end(): void {
    this.#input.hasEnded = true
    this.#write()
  }

  /** The client has dealt with everything before this offset. @throws BerthError invalid_request for what it was not sent. */
  acknowledge(offset: number): void {
    if (offset > this.#output.sent || offset < this.#output.acknowledged)
      throw new BerthError(
        'invalid_request',
        'offset must be one that the client has come to, and never a smaller one.',
      )
    this.#output.acknowledged = offset
    if (!this.#isBehind) this.#line?.resume()
  }

  /** The client is gone. */
  leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    clearInterval(this.#recheck)
    this.#line?.destroy()
    this.#line = null
    this.#endStream()
  }

  get #isBehind(): boolean {
    return this.#output.sent - this.#output.acknowledged >= tunnelLimits.unacknowledgedBytes
  }

  /** Writes what has gathered, behind the write before. */
  #write(): void {
    const line = this.#line
    if (!line || this.#input.isWriting) return
    const joined = this.#gathered.take()
    if (!joined) return void (this.#input.hasEnded && line.end())
    this.#input.isWriting = true
    line.write(joined, (error) => {
      this.#input.isWriting = false
      if (error) return
      this.#passedOn(joined.length)
      this.#write()
    })
  }

  #passedOn(count: number): void {
    const input = this.#input
    input.passedOn += count
    const isAllPassedOn = input.passedOn === input.received
    if (this.#isLeft || (!isAllPassedOn && input.passedOn - input.acknowledged < ackBytes)) return
    input.acknowledged = input.passedOn
    this.#client.acknowledged(input.passedOn)
  }

  #follow(line: Duplex): void {
    this.#line = line
    line.on('error', () => line.destroy()) // 'close' follows
    line.on('data', (piece: Buffer) => {
      for (let at = 0; at < piece.length; at += tunnelLimits.messageBytes)
        this.#client.output(piece.subarray(at, at + tunnelLimits.messageBytes))
      this.#output.sent += piece.length
      if (this.#isBehind) line.pause()
    })
    line.once('end', () => {
      if (!this.#isLeft) this.#client.ended()
    })
    line.once('close', () => {
      if (this.#isLeft) return
      const hasEndedInOrder = line.readableEnded && line.writableFinished
      this.leave()
      if (hasEndedInOrder) this.#client.over()
      else this.#client.failed(cut())
    })
  }

  /** Looks again and again whether the tunnel may still be open. */
  #watch(): void {
    this.#recheck = setInterval(() => {
      this.#reach({ wakes: false }).catch((error: unknown) => {
        if (this.#isLeft) return
        if (!(error instanceof BerthError && error.status < 500))
          return log.debug({ err: error }, 'the caller at a tunnel could not be checked') // the next time will tell
        this.leave()
        this.#client.failed(error)
      })
    }, tunnelLimits.recheckSeconds * 1000)
    this.#recheck.unref()
  }

  /** The VM, as whoever asked for the ticket may reach it now. @throws BerthError as reachVm and callerNow. */
  async #reach({ wakes }: { wakes: boolean }): Promise<RunningVm> {
    const caller = await callerNow(this.#services.db, this.#right.rights)
    const call = { ...this.#services, caller, requestId: newId('request') }
    return reachVm(call, encodeId('vm', this.#right.vmId), 'vms:write', { wakes })
  }
}

/** The program in the VM, the VM, or its node's worker has cut the connection: it is not known which. */
function cut(): BerthError {
  return new BerthError(
    'vm_unreachable',
    'The connection was cut: by the program in the VM, the end of the VM, or its node, which starts again. Connect again.',
  )
}

/** Web sockets: a request that changes the protocol of its connection, and from then on bytes both ways. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { joinConnections } from '#src/drivers/joined-connections.ts'
import type { PieceTurns } from '#src/drivers/small-pieces.ts'
import { log } from '#src/platform/log.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import type { Use } from '#src/platform/caches/reported-use.ts'
import type { AnswerHead } from './answer-heads.ts'
import { AnswerReader, type ResponseHandler } from './answers.ts'
import { writeHead } from './client-answers.ts'
import type { ingressLimits } from './limits.ts'
import { countAnswer } from './metrics.ts'
import { answerPage, pages, type Page } from './pages.ts'
import { BadRequest, type GivenRequest } from './requests.ts'
import { badRequestPage, pageFor, type Admitted, type Serving } from './serving.ts'
import { openWithin, reachLimitSeconds } from './reaching.ts'
import { TargetFlow } from './target-flow.ts'
import { refusalFrom, targetKey, TargetRefusal, type Reach } from './targets.ts'
import type { Tenants } from './tenants.ts'

/** The limits of web sockets; shorter in tests. */
export type SocketLimits = Pick<typeof ingressLimits, 'reachSeconds' | 'answerSeconds' | 'webSocketIdleSeconds'>

/** What they need. */
export type UpgradeOptions = {
  serving: Serving
  reach: Reach
  tenants: Tenants
  /** Of targets that answer in many small chunks. */
  turns: Pick<PieceTurns, 'pay'>
  limits: SocketLimits
  functions?: { use: Use } | undefined
}

/** The open web sockets. */
export type Upgrades = {
  /** Serves a request for one, on the connection that it came on. */
  serve(request: IncomingMessage, socket: Duplex, head: Buffer, given: GivenRequest): void
  /** Cuts those of a route that is gone, or leads elsewhere now. */
  cutRoute(route: Route): void
  cutAll(): void
}

/** Begins without any. */
export function createUpgrades({ serving, reach, tenants, turns, limits, functions }: UpgradeOptions): Upgrades {
  const byRoute = new Map<string, Set<Duplex>>()

  function keep({ id }: Route, socket: Duplex): void {
    const open = byRoute.get(id) ?? new Set()
    byRoute.set(id, open.add(socket))
    socket.once('close', () => {
      if (open.delete(socket) && open.size === 0 && byRoute.get(id) === open) byRoute.delete(id)
    })
  }

  async function lead(asking: Asking, { route, target, read }: Admitted): Promise<void> {
    const { socket } = asking
    const key = targetKey(target)
    const { organizationId } = route
    if (!tenants.enterSocket(organizationId, key)) return asking.sendPage(pages.crowded)
    socket.once('close', () => tenants.leaveSocket(organizationId, key))
    keep(route, socket)
    const { functionId } = route
    if (functionId !== null) {
      functions?.use.begin(functionId)
      socket.once('close', () => functions?.use.end(functionId))
    }
    const stream = await openWithin(reach, target, reachLimitSeconds(target, limits) * 1000)
    stream.on('error', (error) => log.debug({ err: error }, 'the connection of a web socket broke'))
    if (socket.destroyed) return void stream.destroy()
    socket.once('close', () => stream.destroy())
    stream.write(`${read.head}\r\n`, 'latin1')
    await new Handshake(asking, stream, turns, limits).done
  }

  return {
    serve(request, socket, head, given) {
      const asking = ask(request, socket, head)
      try {
        const admitted = serving.admit(given)
        if ('page' in admitted) return asking.sendPage(admitted.page)
        lead(asking, admitted).catch((error: unknown) => asking.sendPage(pageFor(refusalFrom(error))))
      } catch (error) {
        if (!(error instanceof BadRequest)) throw error
        asking.sendPage(badRequestPage(error))
      }
    },
    cutRoute({ id }) {
      for (const socket of byRoute.get(id) ?? []) socket.destroy()
    },
    cutAll() {
      for (const open of byRoute.values()) for (const socket of open) socket.destroy()
    },
  }
}

/** A request for a web socket; its connection, and an ordinary answer to it, where it gets none. */
type Asking = {
  socket: Duplex
  /** What came behind the request. */
  head: Buffer
  answer: ServerResponse
  sendPage(page: Page): void
}

function ask(request: IncomingMessage, socket: Duplex, head: Buffer): Asking {
  socket.on('error', () => socket.destroy()) // 'close' follows
  const answer = new ServerResponse(request)
  answer.shouldKeepAlive = false
  answer.assignSocket(socket as never) // Node's types know sockets of the network only
  answer.once('finish', () => {
    answer.detachSocket(socket as never)
    socket.end(() => socket.destroy())
  })
  return { socket, head, answer, sendPage: (page) => answerPage(request, answer, page) }
}

/** What a target answers to a request for a web socket: that it has begun, or an ordinary answer. */
class Handshake implements ResponseHandler {
  readonly isHead = false
  readonly isUpgrade = true
  /** Settles with the handshake; rejects when the target answers nothing of use. */
  readonly done: Promise<void>
  readonly #asking: Asking
  readonly #stream: Duplex
  readonly #reader = new AnswerReader()
  readonly #limits: SocketLimits
  readonly #settled = Promise.withResolvers<void>()
  readonly #late: NodeJS.Timeout
  readonly #take = (bytes: Buffer): void => this.#read(bytes)
  readonly #gone = (): void => this.#ended()
  readonly #flow: TargetFlow
  #hasBegun = false

  constructor(asking: Asking, stream: Duplex, turns: Pick<PieceTurns, 'pay'>, limits: SocketLimits) {
    this.#asking = asking
    this.#stream = stream
    this.#flow = new TargetFlow(stream, turns)
    this.#limits = limits
    this.done = this.#settled.promise
    this.#reader.expect(this)
    this.#late = setTimeout(() => {
      stream.destroy()
      this.#fail(new TargetRefusal('failing', pages.late.sentence))
    }, limits.answerSeconds * 1000)
    stream.on('data', this.#take).once('end', this.#gone).once('close', this.#gone)
  }

  onContinue(): void {
    /* a request for a web socket has no body */
  }

  onHeaders(head: AnswerHead): void {
    clearTimeout(this.#late)
    this.#hasBegun = true
    if (head.status !== 101) return writeHead(this.#asking.answer, head.status, head.reason, head.headers)
    countAnswer(101)
    const { socket, answer } = this.#asking
    let text = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
    for (let at = 0; at < head.headers.length; at += 2) text += `${head.headers[at]}: ${head.headers[at + 1]}\r\n`
    answer.detachSocket(socket as never) // as above
    socket.write(`${text}\r\n`, 'latin1')
  }

  onData(bytes: Buffer): boolean {
    const { answer } = this.#asking
    if (answer.write(bytes)) return true
    if (answer.listenerCount('drain') === 0) answer.once('drain', () => this.#flow.resume())
    return false
  }

  onEnd(): void {
    this.#asking.answer.end()
    this.#stop()
    this.#stream.destroy()
    this.#settled.resolve()
  }

  #read(bytes: Buffer): void {
    try {
      const wantsMore = this.#reader.take(bytes)
      if (this.#reader.isUpgraded) return this.#join()
      this.#flow.took(wantsMore, this.#reader)
    } catch (error) {
      this.#broke(error)
    }
  }

  /** From here on the two are one. */
  #join(): void {
    const { socket, head } = this.#asking
    this.#stop()
    const { rest } = this.#reader
    if (rest.length > 0) socket.write(rest)
    if (head.length > 0) this.#stream.write(head)
    const idle = watchIdle(socket, this.#stream, this.#limits.webSocketIdleSeconds * 1000)
    socket.once('close', () => clearInterval(idle))
    joinConnections(socket, this.#stream)
    this.#settled.resolve()
  }

  #ended(): void {
    try {
      this.#reader.end()
    } catch (error) {
      this.#broke(error)
    }
  }

  #broke(error: unknown): void {
    log.debug({ err: error }, 'a target answered a request for a web socket with what is no HTTP')
    this.#stream.destroy()
    this.#fail(new TargetRefusal('failing', 'The service answered what is no proper HTTP.'))
  }

  #fail(refusal: TargetRefusal): void {
    this.#stop()
    if (this.#hasBegun) this.#asking.socket.destroy()
    this.#settled.reject(refusal)
  }

  #stop(): void {
    clearTimeout(this.#late)
    this.#stream.off('data', this.#take).off('end', this.#gone).off('close', this.#gone)
  }
}

type Counting = Duplex & { bytesRead?: number; bytesWritten?: number }

/** Cuts two joined connections on which nothing is said. */
function watchIdle(socket: Counting, stream: Duplex, limitMs: number): NodeJS.Timeout {
  const transferred = (): number => (socket.bytesRead ?? 0) + (socket.bytesWritten ?? 0)
  let before = -1
  return setInterval(() => {
    const now = transferred()
    if (now === before) {
      socket.destroy()
      stream.destroy()
    }
    before = now
  }, limitMs / 2).unref()
}

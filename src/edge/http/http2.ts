/** HTTP/2 towards clients: sessions with limits on everything that a client may have us keep or do. */
import { constants, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { watchPieces } from '#src/drivers/small-pieces.ts'
import { log } from '#src/platform/log.ts'
import { ingressLimits } from './limits.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { refused } from './metrics.ts'
import { createSessionBytes } from './session-bytes.ts'

/** The limits of sessions; smaller in tests. */
export type SessionLimits = Pick<
  typeof ingressLimits,
  | 'http2Streams'
  | 'http2SessionMb'
  | 'http2IdleSeconds'
  | 'http2ControlFramesPerSecond'
  | 'http2SmallFramesPerSecond'
  | 'http2OtherBytesPerSecond'
  | 'smallPieceBytes'
  | 'stalledSeconds'
  | 'lingerSeconds'
>

/** The sessions. */
export type Sessions = {
  /** Begins one on a secured connection. */
  begin(socket: TLSSocket): void
  /** Tells clients to send no more requests, and ends each session after its last answer. */
  close(): void
}

/** As Node's default: the first is how many resets at once, the second how many more a second. */
const resetBurst = 200
const resetsPerSecond = 20
const [rejectedStreamsMax, invalidFramesMax, settingsMax, pingsMax] = [100, 50, 16, 4]
const windowBytes = 256 * 1024
const frameBytes = 16 * 1024
/** Bytes of a body for which a small piece of it is usual: a read may end anywhere in a frame, and a window just before its end. */
const bytesForSmall = 1024

/** What is known of a session. `destroyedMs`: since when only its connection is left; 0 while it is open. */
type State = { socket: TLSSocket; controlFrames: number; smallFrames: number; windowMs: number; destroyedMs: number }

function newState(socket: TLSSocket): State {
  return { socket, controlFrames: 0, smallFrames: 0, windowMs: performance.now(), destroyedMs: 0 }
}

/**
 * Ends a session that has more of these frames than it may: each PING and SETTINGS wants an answer, each DATA costs as much as
 * a large one, and there is no reason to send many.
 */
function countFrame(
  session: ServerHttp2Session,
  state: State | undefined,
  kind: 'controlFrames' | 'smallFrames',
  most: number,
): void {
  if (!state || session.destroyed) return
  const nowMs = performance.now()
  if (nowMs - state.windowMs > 1000) Object.assign(state, { windowMs: nowMs, controlFrames: 0, smallFrames: 0 })
  if (++state[kind] > most) calm(session, kind === 'controlFrames' ? 'control-frames' : 'small-frames')
}

/** Ends a session with the reason that its client does too much. */
function calm(session: ServerHttp2Session, reason: 'control-frames' | 'small-frames' | 'other-frames'): void {
  if (session.destroyed) return
  refused.inc({ reason })
  session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
}

function watchFrames(stream: Readable, session: ServerHttp2Session, state: State, limits: SessionLimits): void {
  let isFirst = true // all of a small request's body
  const most = limits.http2SmallFramesPerSecond
  watchPieces(stream, (bytes) => {
    if (bytes >= limits.smallPieceBytes) state.smallFrames = Math.max(-most, state.smallFrames - bytes / bytesForSmall)
    else if (!isFirst) countFrame(session, state, 'smallFrames', most)
    isFirst = false
  })
}

/** A server that listens nowhere: connections are given to it. */
function openServer(limits: SessionLimits): Http2Server {
  return createServer({
    maxSessionMemory: limits.http2SessionMb,
    maxHeaderListPairs: ingressLimits.http2HeaderPairs,
    maxSendHeaderBlockLength: ingressLimits.answerHeadBytes * 2,
    maxSessionRejectedStreams: rejectedStreamsMax,
    maxSessionInvalidFrames: invalidFramesMax,
    maxSettings: settingsMax,
    maxOutstandingPings: pingsMax,
    strictSingleValueFields: false, // what a target sends twice is its own business
    streamResetBurst: resetBurst,
    streamResetRate: resetsPerSecond,
    settings: {
      maxConcurrentStreams: limits.http2Streams,
      maxHeaderListSize: ingressLimits.headBytes,
      initialWindowSize: windowBytes,
      maxFrameSize: frameBytes,
      enablePush: false,
    },
  })
}

/** Makes what serves sessions. */
export function createSessions(
  serve: (request: Incoming, answer: Outgoing, socket: TLSSocket) => void,
  limits: SessionLimits,
  sweepEveryMs: number,
): Sessions {
  const open = new Map<ServerHttp2Session, State>()
  const sessionBytes = createSessionBytes(limits)
  let beginning: TLSSocket | null = null
  const server = openServer(limits)
  server.on('session', (session) => {
    if (!beginning) return session.destroy() // `begin` alone begins one
    const state = newState(beginning)
    open.set(session, state)
    sessionBytes.watch(state.socket, () => calm(session, 'other-frames'))
    const countControl = (): void => countFrame(session, state, 'controlFrames', limits.http2ControlFramesPerSecond)
    session.on('error', (error) => log.debug({ err: error }, 'an HTTP/2 session was cut'))
    session.on('ping', countControl)
    session.on('remoteSettings', countControl)
    session.setTimeout(limits.http2IdleSeconds * 1000, () => session.close())
    session.once('close', () => open.delete(session))
  })
  server.on('sessionError', (error) => log.debug({ err: error }, 'an HTTP/2 session was cut'))
  const answers = new Map<Outgoing, { session: ServerHttp2Session; endedMs: number }>()
  const sweeping = setInterval(() => {
    const nowMs = performance.now()
    for (const [session, state] of open) {
      if (!session.destroyed) continue
      if (state.destroyedMs === 0) state.destroyedMs = nowMs
      else if (nowMs - state.destroyedMs > limits.lingerSeconds * 1000) state.socket.destroy() // it never closes its side
    }
    for (const [answer, state] of answers) {
      if (!answer.writableEnded) continue
      if (state.endedMs === 0) state.endedMs = nowMs
      else if (nowMs - state.endedMs > limits.stalledSeconds * 1000) {
        refused.inc({ reason: 'unread-answer' })
        state.session.destroy()
      }
    }
  }, sweepEveryMs).unref()
  const take = (request: Incoming, answer: Outgoing): void => {
    const session = 'stream' in answer ? (answer.stream?.session as ServerHttp2Session | undefined) : undefined // we are a server
    const state = session && open.get(session)
    if (!state || !('stream' in answer) || !answer.stream) return void answer.destroy()
    const { socket } = state
    watchFrames(answer.stream, session, state, limits)
    sessionBytes.expect(socket, answer.stream, request.rawHeaders)
    answers.set(answer, { session, endedMs: 0 })
    answer.once('close', () => answers.delete(answer))
    serve(request, answer, socket)
  }
  server.on('request', take)
  server.on('checkContinue', take)
  return {
    begin(socket) {
      if (socket.destroyed) return
      beginning = socket
      try {
        server.emit('connection', socket) // the session begins within
      } finally {
        beginning = null
      }
    },
    close() {
      clearInterval(sweeping)
      for (const session of open.keys()) session.close()
    },
  }
}

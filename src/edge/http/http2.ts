/** HTTP/2 towards clients: sessions with limits on everything that a client may have us keep or do. */
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { ingressLimits } from '#src/platform/limits/ingress.ts'
import { log } from '#src/platform/log.ts'
import type { Incoming, Outgoing } from './exchanges.ts'
import { refused } from './metrics.ts'

/** The limits of sessions; smaller in tests. */
export type SessionLimits = Pick<
  typeof ingressLimits,
  'http2Streams' | 'http2SessionMb' | 'http2IdleSeconds' | 'stalledSeconds'
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

/** Makes what serves sessions. */
export function createSessions(
  serve: (request: Incoming, answer: Outgoing, socket: TLSSocket) => void,
  limits: SessionLimits,
  sweepEveryMs: number,
): Sessions {
  const open = new Map<ServerHttp2Session, TLSSocket>()
  const server: Http2Server = createServer({
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
  server.on('session', (session) => {
    session.on('error', (error) => log.debug({ err: error }, 'an HTTP/2 session was cut'))
    session.setTimeout(limits.http2IdleSeconds * 1000, () => session.close())
    session.once('close', () => open.delete(session))
  })
  server.on('sessionError', (error) => log.debug({ err: error }, 'an HTTP/2 session was cut'))
  const answers = new Map<Outgoing, { session: ServerHttp2Session; endedMs: number }>()
  const sweeping = setInterval(() => {
    const nowMs = performance.now()
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
    const socket = session && open.get(session)
    if (!socket) return void answer.destroy()
    answers.set(answer, { session, endedMs: 0 })
    answer.once('close', () => answers.delete(answer))
    serve(request, answer, socket)
  }
  server.on('request', take)
  server.on('checkContinue', take)
  return {
    begin(socket) {
      server.once('session', (session) => open.set(session, socket))
      server.emit('connection', socket)
    },
    close() {
      clearInterval(sweeping)
      for (const session of open.keys()) session.close()
    },
  }
}

/**
 * What clients of HTTP/2 send besides requests and their bodies: openings of windows, priorities, resets, padding. Node reads
 * these without a word, so they are counted by what is left of the bytes that came. Each few bytes of them are a frame, which
 * costs as much as a large one.
 */
import type { ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { watchPieces } from '#src/drivers/small-pieces.ts'
import type { ingressLimits } from './limits.ts'

/** The limit; smaller in tests. */
export type OtherBytesLimits = Pick<typeof ingressLimits, 'http2OtherBytesPerSecond'>

/** The sessions of which bytes are counted. */
export type SessionBytes = {
  /** Counts from here on, until the connection closes. @param tooMany ends the session; it is called once. */
  watch(socket: TLSSocket, tooMany: () => void): void
  /** A request has come: with its headers and its body these bytes are accounted for. */
  expect(socket: TLSSocket, stream: ServerHttp2Stream, rawHeaders: readonly string[]): void
}

type Counted = { read: number; written: number; other: number; tooMany: () => void }

const secondMs = 1000
/** Of a frame of a body: its head, and some padding. */
const frameBytes = 64
/** Of a request, besides its headers' text: the heads of its frames, its window, its end. */
const requestBytes = 256
/** Bytes that are sent, for one that is expected in return: some clients open both windows after each frame, which may be of 100. */
const sentForOne = 4
/** A stream that ends before its body: what is on its way by then. */
const underWayBytes = 128 * 1024
/** How much of what is expected may be still to come. */
const expectedBytesMax = 256 * 1024
/** Looking takes up to this part of the time. */
const lookShare = 1 / 20
/** What was long may have been another process. */
const lookMsMax = 50

/** Begins without any. */
export function createSessionBytes({ http2OtherBytesPerSecond: most }: OtherBytesLimits): SessionBytes {
  const all = new Map<TLSSocket, Counted>()
  let [lookedMs, tookMs] = [0, 0]
  let isLooking = false

  function look(): void {
    isLooking = all.size > 0
    if (!isLooking) return
    setImmediate(look).unref() // in each turn of the event loop, which it does not keep from resting
    const nowMs = performance.now()
    const sinceMs = nowMs - lookedMs
    if (sinceMs < Math.min(tookMs / lookShare, lookMsMax)) return
    lookedMs = nowMs
    const passed = (sinceMs / secondMs) * most
    for (const [socket, counted] of all) count(socket, counted, passed)
    tookMs = performance.now() - nowMs
  }
  function count(socket: TLSSocket, counted: Counted, passed: number): void {
    const { bytesRead, bytesWritten } = socket
    if (counted.other > 0) counted.other = Math.max(0, counted.other - passed)
    counted.other += bytesRead - counted.read - (bytesWritten - counted.written) / sentForOne
    counted.read = bytesRead
    counted.written = bytesWritten
    if (counted.other < -expectedBytesMax) counted.other = -expectedBytesMax
    if (counted.other <= most) return
    all.delete(socket)
    counted.tooMany()
  }

  return {
    watch(socket, tooMany) {
      all.set(socket, { read: socket.bytesRead, written: socket.bytesWritten, other: 0, tooMany })
      socket.once('close', () => all.delete(socket))
      if (isLooking) return
      isLooking = true
      lookedMs = performance.now()
      setImmediate(look).unref()
    },
    expect(socket, stream, rawHeaders) {
      const counted = all.get(socket)
      if (!counted) return
      counted.other -= rawHeaders.reduce((sum, text) => sum + text.length, requestBytes)
      watchPieces(stream, (bytes) => {
        counted.other -= bytes + frameBytes
      })
      stream.once('close', () => {
        if (!stream.readableEnded) counted.other -= underWayBytes
      })
    },
  }
}

/** The limits of the ingress, which serves proxies, domains and functions over HTTP; each with its unit in its name. */
import { smallPieceLimits } from '#src/platform/limits/small-pieces.ts'

/** Used everywhere in the ingress; smaller in tests. */
export const ingressLimits = {
  // Requests.
  headBytes: 32 * 1024, // of a request, its first line included
  headersMax: 200, // of a request
  headSeconds: 10, // from a connection's first byte, or the end of the request before, until a request's headers are there
  greetingBytes: 16 * 1024, // of a TLS ClientHello, which is one record
  greetingSeconds: 10, // from a connection to the HTTPS port until its TLS handshake is done
  uploadBytesPerSecondMin: 256, // of a body, over a whole window; one that is slower is cut
  uploadWindowSeconds: 15,
  lingerSeconds: 5, // how long a client may go on sending a body that nobody wants, to read the answer
  lingerBytes: 1024 * 1024,
  pipelinedRequests: 16, // on one connection, sent before the answers to those before them
  pipelinedPieces: 256, // in which they come

  // Bodies that come in small pieces: chunks, frames and TLS records.
  ...smallPieceLimits,
  smallAnswerPiecesPerSecond: 200_000, // small chunks in answers of targets, in one process, of those with more than smallPiecesAtOnce in one read
  http2SmallFramesPerSecond: 1_000, // DATA frames smaller than that, of one session, besides one for each KiB of body; one with more is ended

  // Connections of clients.
  idleSeconds: 65, // without a request
  keepAliveSeconds: 60, // of silence, before TCP asks whether the other end is still there
  stalledSeconds: 30, // an answer whose reader accepts nothing for so long is cut
  connectionsMax: 10_000, // of one process; the one that rests for longest makes room
  connectionsPerAddress: 1024, // the same, of one address
  unprovenPerAddress: 256, // connections of an address without a request yet
  http2Streams: 100, // at once in one session
  http2HeaderPairs: 200,
  http2SessionMb: 8, // memory of one session
  http2IdleSeconds: 120, // a session on which nothing comes or goes
  http2ControlFramesPerSecond: 200, // PING and SETTINGS of one session
  http2OtherBytesPerSecond: 64 * 1024, // of one session, that are no requests, no bodies and not in return for what it was sent

  // What organizations take.
  requestsMax: 5000, // that are not answered yet, in one process; with the web sockets fewer than connectionsMax
  requestsPerOrganization: 2048, // of those, and not more than are still free
  webSocketsMax: 4096, // in one process, with the connections that pass as they are
  webSocketsPerOrganization: 2048, // of those, and not more than are still free
  webSocketsPerTarget: 256,
  webSocketIdleSeconds: 900, // one on which nothing is said for so long is cut

  // Names that nothing is known of: what leads there may have been made a moment ago.
  unknownLooksPerSecond: 50, // in Postgres, of one process; the others are answered at once
  unknownWaitMs: 500, // for that look

  // Targets.
  connectionsPerTarget: 128,
  waitingPerTarget: 1024, // requests that wait for one of those
  waitingSeconds: 30,
  reachSeconds: 45, // until there is a connection to a target, which may have to wake up
  answerSeconds: 120, // until a target begins its answer, after it has the request
  silenceSeconds: 900, // an answer of which nothing comes for so long is cut
  answerHeadBytes: 64 * 1024,
  answerHeadersMax: 500,
  informationalMax: 16, // 1xx before one answer
  chunkLineBytes: 1024, // the size of a chunk, with its extensions
  trailerBytes: 16 * 1024,
  targetIdleSeconds: 4, // a connection to a target that nobody uses; most servers close theirs after five
} as const

/**
 * Limits of bodies that come in small pieces: chunks, frames and TLS records. In the platform, because the driver of
 * sockets, the gateway and the ingress read them.
 */
export const smallPieceLimits = {
  smallPieceBytes: 256, // smaller ones count
  smallPiecesAtOnce: 500, // of a body in a second; one with more waits for its turn
  smallPiecesPerSecond: 50_000, // of all connections that wait, in one process, edge or web
} as const

/** The connections to upstreams, kept for each base URL. */
import { Pool } from 'undici'

/** To one upstream, of this process. */
export const connectionsMax = 4_096
const connectMs = 10_000
const headerBytesMax = 32 * 1024
const keepAliveMs = 30_000

/** An upstream's connections: `path` comes before that of each request; `open` requests are under way. */
export type Origin = { pool: Pool; path: string; open: number }
/** By base URL; there are as many as the operator has configured. */
const origins = new Map<string, Origin>()

/** The connections for a base URL. */
export function originOf(baseUrl: string): Origin {
  let origin = origins.get(baseUrl)
  if (!origin) {
    const url = new URL(baseUrl)
    const pool = new Pool(url.origin, {
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: connectMs },
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: headerBytesMax,
    })
    origins.set(baseUrl, (origin = { pool, path: url.pathname.replace(/\/$/, ''), open: 0 }))
  }
  return origin
}

/** node-postgres on a connection that is open already, in the place of a socket that it opens itself. */
import type { Duplex } from 'node:stream'

/** The stream, as `stream` of a `pg.Client` wants one: with the methods of a socket that the driver calls. */
export function asDriverSocket(stream: Duplex): Duplex {
  const nothing = (): Duplex => stream
  const connect = (): void => process.nextTick(() => stream.emit('connect'))
  return Object.assign(stream, { connect, setNoDelay: nothing, setKeepAlive: nothing, ref: nothing, unref: nothing })
}

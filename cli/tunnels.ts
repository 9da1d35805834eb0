/** What is read from a stream goes into a tunnel, and no faster. */
import type { Readable } from 'node:stream'
import type { OpenTunnel } from '../src/client/berth.ts'

/** Until the stream or the tunnel has ended; a stream that ends ends that direction of the tunnel only. */
export async function pourInto(tunnel: OpenTunnel, from: Readable): Promise<void> {
  let last = Promise.resolve()
  from.on('data', (bytes: Buffer) => {
    from.pause()
    last = tunnel.write(bytes)
    last.then(
      () => from.resume(),
      () => undefined, // the tunnel is over, and says why
    )
  })
  from.once('end', () => {
    last.then(
      () => tunnel.end(),
      () => undefined, // likewise
    )
  })
  from.resume()
  await tunnel.ended
}

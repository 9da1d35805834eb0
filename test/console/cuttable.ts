/** A way to a port that a test can cut, as a network does: what is open ends, and what is new is refused. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** The way. */
export type Way = {
  port: number
  cut: () => void
  mend: () => void
  /** Leads to another port from now on; what is open ends. */
  leadTo: (port: number) => void
  /** How many web sockets were opened on it so far. */
  sockets: () => number
  close: () => void
}

/** Opens it. */
export async function openWay(first: number): Promise<Way> {
  let to = first
  const open = new Set<Socket>()
  let isCut = false
  let sockets = 0
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(to, '127.0.0.1')
    near.on('data', (bytes) => {
      if (/^upgrade: websocket/im.test(bytes.toString('latin1', 0, 2048))) sockets++
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      for (const one of open) one.destroy()
    },
    mend: () => (isCut = false),
    leadTo(port) {
      to = port
      for (const one of open) one.destroy()
    },
    sockets: () => sockets,
    close() {
      for (const one of open) one.destroy()
      server.close()
    },
  }
}

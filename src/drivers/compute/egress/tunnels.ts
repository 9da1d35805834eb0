/** CONNECT: a tunnel to a host, byte for byte; TLS towards the host of a secret is handed over to be intercepted. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { parseAuthority } from '#src/drivers/addresses.ts'
import { openPassage, refuseConnection, rest, wake, type Answer, type Guest, type Passage } from './passages.ts'
import { isFor } from './secrets.ts'

/** Takes over a guest's connection that begins with TLS, and the socket that was dialled for it. */
export type Secured = (guest: Guest, passage: Passage, socket: Socket) => Promise<void>

/** A TLS record of a handshake of version 3.x that begins with a ClientHello; `null` is any byte (RFC 8446 §5.1). */
const clientHello = [0x16, 0x03, null, null, null, 0x01] as const

/** Connects a CONNECT request with its host, each direction half-closing on its own; or hands it to `secured`. */
export async function tunnel(guest: Guest, req: IncomingMessage, head: Buffer, secured: Secured | null): Promise<void> {
  const { connection } = guest
  wake(guest)
  const stop = new AbortController()
  connection.once('close', () => stop.abort())
  const target = parseAuthority(req.url ?? '')
  if (!target)
    return refuseConnection(guest, { status: 400, rule: 'bad request', sentence: 'CONNECT requires host:port.' })
  const mayOpen = secured ? await hasSecretFor(guest, target.host) : false
  if (typeof mayOpen === 'object') return refuseConnection(guest, mayOpen)
  const passage = { ...target, stop }
  const socket = await openPassage(guest, passage, true)
  if ('rule' in socket) return refuseConnection(guest, socket)
  let opened = false
  stop.signal.addEventListener(
    'abort',
    () => {
      // A guest that ended its side and then closed still has its last bytes delivered; anything else cuts at once.
      if (!opened && !guest.open && connection.readableEnded && !connection.errored) return socket.destroySoon()
      socket.destroy()
      connection.destroy()
    },
    { once: true },
  )
  socket.on('error', () => {
    if (!opened) connection.destroy()
  })
  socket.once('close', () => rest(guest)) // the time that the guest has to read the rest
  connection.write('HTTP/1.1 200 Connection established\r\n\r\n')
  const first = mayOpen ? await firstBytes(connection, socket, head) : { isTls: false, bytes: head }
  if (first.isTls && secured) {
    opened = true
    return secured(guest, passage, socket)
  }
  if (first.bytes.length > 0) socket.write(first.bytes)
  connection.pipe(socket)
  socket.pipe(connection)
}

/** Whether the machine has a secret for this host. While that cannot be read, the last known answer is used. */
async function hasSecretFor({ machine, node }: Guest, host: string): Promise<boolean | Answer> {
  try {
    machine.secretHosts = await node.findSecretHosts(machine.id)
  } catch (error) {
    node.log.error({ machineId: machine.id, err: error }, 'the hosts of a machine’s secrets could not be looked up')
    if (!machine.secretHosts)
      return {
        status: 503,
        rule: 'secrets unknown',
        sentence: 'The secrets of this VM cannot be looked up right now. Try again in a few seconds.',
      }
  }
  return machine.secretHosts.some((hosts) => isFor(hosts, host))
}

/** The guest's first bytes, as many as it takes to recognise TLS; none when the host speaks first. */
function firstBytes(connection: Duplex, socket: Socket, head: Buffer): Promise<{ isTls: boolean; bytes: Buffer }> {
  let bytes = head
  const { promise, resolve } = Promise.withResolvers<{ isTls: boolean; bytes: Buffer }>()
  const ended = ['end', 'close'] as const
  const settle = (isTls: boolean): void => {
    connection.off('readable', hear)
    socket.off('readable', give)
    for (const event of ended) connection.off(event, give)
    resolve({ isTls, bytes })
  }
  const give = (): void => settle(false)
  const hear = (): void => {
    bytes = Buffer.concat([bytes, (connection.read() as Buffer | null) ?? Buffer.alloc(0)]) // a guest's connection yields buffers
    if (clientHello.some((byte, at) => byte !== null && bytes[at] !== undefined && bytes[at] !== byte)) settle(false)
    else if (bytes.length >= clientHello.length) {
      connection.unshift(bytes) // at once: a guest may have ended its side already
      settle(true)
    }
  }
  for (const event of ended) connection.on(event, give)
  socket.on('readable', give)
  connection.on('readable', hear)
  hear()
  return promise
}

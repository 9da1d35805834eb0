/**
 * Holds a guest to the SSH protocol. Root in a guest can replace its SSH server by any program; ssh2, made for well-behaved
 * servers, would buffer whatever that one sends, open whatever it opens, and split our writes into empty packets for ever.
 * So what a connection may buffer, open and waste is counted here, and one that goes beyond is cut.
 * This reaches into ssh2 1.17, whose version is pinned; what is not where it is expected fails at the first connection.
 */
import assert from 'node:assert'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Client } from 'ssh2'
import { limitKeyExchanges } from './key-exchanges.ts'
import { createInflows, firstWindowBytes, type Inflow } from './inflow.ts'

/** Connections that the guest has opened at once, to its proxy (egress.ts) and its project: they answer the last ones. */
const openedByGuestMax = 224
/** Channels of both sides that the guest has not closed yet. */
const channelsMax = 1_024
/** A guest with smaller packets could make us send one for each byte. dropbear and OpenSSH take 32 KiB. */
const packetBytesMin = 1_024
/** Unaccepted bytes of all channels: above the first limit writers wait; at the second the guest is cut off. */
const unsentBytesMax = 1024 * 1024
const unsentBytesCut = 16 * 1024 * 1024
/** The allowance of useless bytes, such as refused requests: in total, and restored in every interval. */
const wasteBytesMax = 1024 * 1024
const wasteBytesForgiven = 16 * 1024
/** With so much waste in one interval, besides the current packet, reading pauses until the next interval. */
const wasteBytesPause = 64 * 1024
/** A packet's overhead on the wire, generously estimated. */
const packetOverheadBytes = 128
/** A window adjustment of less than this counts as waste. */
const grantBytesMin = 1_024
/** Small packets cost as much to read as large ones; after so many in one interval, reading pauses until the next. */
const smallPacketBytes = 256
const smallPacketsMax = 500
const intervalMs = 50

type Handler<Args extends unknown[]> = (protocol: unknown, ...args: Args) => void
type OpenInfo = { sender: number; recipient: number; packetSize: number }
type InsideChannel = Duplex & {
  stderr: Duplex
  incoming: { state: string }
  outgoing: { id: number; state: string }
  _write(piece: Buffer, encoding: string, done: () => void): void
}
type Protocol = {
  _handlers: {
    CHANNEL_DATA: Handler<[number, Buffer]>
    CHANNEL_EXTENDED_DATA: Handler<[number, Buffer, number]>
    CHANNEL_OPEN: Handler<[OpenInfo]>
    CHANNEL_OPEN_CONFIRMATION: Handler<[OpenInfo]>
    CHANNEL_WINDOW_ADJUST: Handler<[number, number]>
    CHANNEL_EOF: Handler<[number]>
    CHANNEL_CLOSE: Handler<[number]>
    GLOBAL_REQUEST: Handler<[string, boolean, unknown]>
  }
  /** Defined while keys are exchanged: until then everything written is queued. */
  _kexinit: unknown
  session(id: number, windowBytes: number, packetBytes: number): void
  openssh_directStreamLocal(id: number, windowBytes: number, packetBytes: number, target: object): void
  directTcpip(id: number, windowBytes: number, packetBytes: number, target: object): void
  channelOpenConfirm(remoteId: number, id: number, windowBytes: number, packetBytes: number): void
  channelOpenFail(remoteId: number, reason: number, description: string): void
  channelWindowAdjust(remoteId: number, bytes: number): void
  requestFailure(): void
}
type Inside = { _protocol: Protocol; _sock: Socket; _chanMgr: { get(id: number): unknown; _count: number } }

const stderrData = 1
const resourceShortage = 4

/**
 * Guards a connection that was started and has received nothing yet.
 * @param cut called once, with what the guest did; the connection is gone then.
 */
export function guardConnection(client: Client, cut: (reason: string) => void): void {
  const { _protocol: protocol, _sock: socket, _chanMgr: channels } = client as unknown as Inside
  assert(
    [protocol?._handlers?.CHANNEL_DATA, socket?.bytesRead, channels?._count].every((part) => part !== undefined),
    'ssh2 is the version that this guard was made for',
  )
  let isCut = false
  const refuse = (reason: string): void => {
    if (isCut) return
    isCut = true
    cut(reason)
    client.destroy()
    socket.destroy()
  }
  const waste = watchWaste(client, socket, refuse)
  const channelOf = (id: number): InsideChannel | undefined => {
    const found = channels.get(id)
    return typeof found === 'object' && found !== null ? (found as InsideChannel) : undefined // what is being opened is a function
  }
  const inflows = holdToWindows(protocol, channelOf, waste, refuse)
  const gate = createGate(socket, client, protocol)
  holdOpening({ protocol, channels, channelOf, refuse }, (channel) => {
    inflows.open(channel)
    gate(channel)
  })
  const { GLOBAL_REQUEST: request } = protocol._handlers
  protocol._handlers.GLOBAL_REQUEST = (own, name, wantsReply, data) => {
    // Host keys other than the pinned one are irrelevant, and checking them costs time.
    if (name !== 'hostkeys-00@openssh.com') return request(own, name, wantsReply, data)
    if (wantsReply) protocol.requestFailure()
  }
}

type Opening = {
  protocol: Protocol
  channels: Inside['_chanMgr']
  channelOf: (id: number) => InsideChannel | undefined
  refuse: (reason: string) => void
}

/** Counts channels, and announces small windows in place of ssh2's. */
function holdOpening(
  { protocol, channels, channelOf, refuse }: Opening,
  onOpen: (channel: InsideChannel) => void,
): void {
  const { CHANNEL_OPEN: open, CHANNEL_OPEN_CONFIRMATION: confirmed } = protocol._handlers
  const [session, confirm] = [protocol.session.bind(protocol), protocol.channelOpenConfirm.bind(protocol)]
  let openedByGuest = 0
  const fits = ({ packetSize }: OpenInfo): boolean => {
    if (packetSize >= packetBytesMin) return true
    refuse('it accepts tiny packets only')
    return false
  }
  protocol.session = (id, _windowBytes, packetBytes) => {
    if (channels._count > channelsMax) return refuse('it closes no channels')
    session(id, firstWindowBytes, packetBytes)
  }
  for (const name of ['openssh_directStreamLocal', 'directTcpip'] as const) {
    const connect = protocol[name].bind(protocol)
    protocol[name] = (id, _windowBytes, packetBytes, target) => {
      if (channels._count > channelsMax) return refuse('it closes no channels')
      connect(id, firstWindowBytes, packetBytes, target)
    }
  }
  protocol.channelOpenConfirm = (remoteId, id, _windowBytes, packetBytes) => {
    confirm(remoteId, id, firstWindowBytes, packetBytes)
    const channel = channelOf(id)
    if (!channel) return
    openedByGuest++
    channel.once('close', () => openedByGuest--)
    channel.stderr.resume() // a forwarded connection has none
    drainWhenDestroyed(channel)
    onOpen(channel)
  }
  protocol._handlers.CHANNEL_OPEN = (own, info) => {
    if (!fits(info)) return
    if (openedByGuest >= openedByGuestMax) return protocol.channelOpenFail(info.sender, resourceShortage, '')
    open(own, info)
  }
  protocol._handlers.CHANNEL_OPEN_CONFIRMATION = (own, info) => {
    if (!fits(info)) return
    const isNew = !channelOf(info.recipient)
    confirmed(own, info)
    const channel = isNew ? channelOf(info.recipient) : undefined
    if (channel) onOpen(channel)
  }
}

/** ssh2 emits `close` for a channel after its last byte was read, so the rest of a destroyed channel is drained. */
function drainWhenDestroyed(channel: InsideChannel): void {
  const destroy = channel.destroy.bind(channel)
  channel.destroy = () => {
    destroy()
    channel.removeAllListeners('data')
    channel.resume()
    return channel
  }
}

/** Replaces ssh2's own accounting of incoming data. */
function holdToWindows(
  protocol: Protocol,
  channelOf: Opening['channelOf'],
  waste: Waste,
  refuse: (reason: string) => void,
): { open(channel: InsideChannel): void } {
  const inflows = createInflows()
  const opened = new WeakMap<InsideChannel, Inflow>()
  const handlers = protocol._handlers
  const grant = protocol.channelWindowAdjust.bind(protocol)
  protocol.channelWindowAdjust = () => {
    /* windows are granted below */
  }
  const take = (id: number, stream: 'stdout' | 'stderr', piece: Buffer): void => {
    const channel = channelOf(id)
    const inflow = channel && opened.get(channel)
    if (!inflow || channel.incoming.state !== 'open' || piece.length === 0) return // waste
    waste.useful(piece.length)
    if (!inflow.take(stream, piece)) refuse('it sends more than its window allows')
  }
  handlers.CHANNEL_DATA = (_own, id, piece) => take(id, 'stdout', piece)
  handlers.CHANNEL_EXTENDED_DATA = (_own, id, piece, type) => {
    if (type === stderrData) take(id, 'stderr', piece)
  }
  for (const name of ['CHANNEL_EOF', 'CHANNEL_CLOSE'] as const) {
    const handle = handlers[name]
    handlers[name] = (own, id) => {
      const channel = channelOf(id)
      if (channel) opened.get(channel)?.end()
      handle(own, id)
    }
  }
  const { CHANNEL_WINDOW_ADJUST: granted } = handlers
  handlers.CHANNEL_WINDOW_ADJUST = (own, id, bytes) => {
    if (bytes >= grantBytesMin) waste.usefulGrant()
    granted(own, id, bytes)
  }
  return {
    open: (channel) =>
      void opened.set(
        channel,
        inflows.open({ stdout: channel, stderr: channel.stderr }, (bytes) => {
          if (channel.incoming.state === 'open' && channel.outgoing.state !== 'closed')
            grant(channel.outgoing.id, bytes)
        }),
      ),
  }
}

/** ssh2 writes whatever the guest has granted, whether or not it reads: here writers wait for the socket, and while keys are exchanged. */
function createGate(socket: Socket, client: Client, protocol: Protocol): (channel: InsideChannel) => void {
  let waiting: (() => void)[] = []
  const resume = (): void => {
    const now = waiting
    waiting = []
    for (const write of now) write()
  }
  socket.on('drain', resume)
  client.on('handshake', () => setImmediate(resume)) // what ssh2 has queued goes first
  return (channel) => {
    const write = channel._write.bind(channel)
    channel._write = (piece: Buffer, encoding, done) => {
      if (socket.writableLength > unsentBytesMax || protocol._kexinit !== undefined)
        waiting.push(() => channel._write(piece, encoding, done))
      else write(piece, encoding, done)
    }
  }
}

/** Counts bytes that were useful. */
type Waste = { useful(bytes: number): void; usefulGrant(): void }

/** Checks what the guest wastes and what it leaves unread. Runs only while the guest sends, so that an idle one costs nothing. */
function watchWaste(client: Client, socket: Socket, refuse: (reason: string) => void): Waste {
  let usefulBytes = 0
  let seenBytes = 0
  let forgivenBytes = 0
  let levelBefore = 0
  let smallPackets = 0
  let timer: NodeJS.Timeout | undefined
  let isPaused = false
  /** The waste that is not forgiven yet, including the packet that is still arriving. */
  const level = (): number => seenBytes - usefulBytes - forgivenBytes
  const pause = (): void => {
    isPaused = true
    socket.pause()
  }
  const look = (): void => {
    if (level() > wasteBytesMax) refuse('it sends to no open channel')
    if (socket.writableLength > unsentBytesCut) refuse('it sends requests and does not read replies')
  }
  const endInterval = (): void => {
    timer = undefined
    look()
    // Useful bytes give no credit for later.
    forgivenBytes = Math.min(forgivenBytes + wasteBytesForgiven, seenBytes - usefulBytes)
    levelBefore = level()
    smallPackets = 0
    if (isPaused) socket.resume()
    isPaused = false
  }
  socket.on('data', (piece: Buffer) => {
    timer ??= setTimeout(endInterval, intervalMs).unref()
    look()
    // This chunk is parsed after us, so it counts with the next one.
    if (level() - levelBefore > wasteBytesPause) pause()
    seenBytes += piece.length
  })
  limitKeyExchanges(client, refuse)
  socket.once('close', () => clearTimeout(timer))
  return {
    useful(bytes) {
      usefulBytes += bytes + packetOverheadBytes
      if (bytes < smallPacketBytes && ++smallPackets > smallPacketsMax) pause()
    },
    usefulGrant() {
      usefulBytes += packetOverheadBytes
    },
  }
}

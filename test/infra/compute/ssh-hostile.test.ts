/** A guest whose root has put another program in the place of its SSH server: what a worker loses by it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import ssh2, { type Connection } from 'ssh2'
import { afterEach, describe, expect, test } from 'vitest'
import { firstWindowBytes } from '#src/drivers/compute/ssh/inflow.ts'
import { clientPrivateKey, newKeys } from '#src/drivers/compute/ssh/keys.ts'
import type { SshTarget } from '#src/drivers/compute/ssh.ts'
import type { Outcome, Wanted } from './ssh-hostile-client.ts'

const mebibyte = 1024 ** 2
const grownBytesMax = 20 * mebibyte
const childPath = fileURLToPath(new URL('ssh-hostile-client.ts', import.meta.url))

/** What ssh2's own protocol can send when nobody holds it back. */
type Raw = {
  channelData(id: number, bytes: Buffer): void
  channelExtData(id: number, bytes: Buffer, type: number): void
  channelSuccess(id: number): void
  channelOpenConfirm(remote: number, local: number, windowBytes: number, packetBytes: number): void
  channelEOF(id: number): void
  channelWindowAdjust(id: number, bytes: number): void
  forwardedTcpip(id: number, windowBytes: number, packetBytes: number, details: object): void
  ping(): void
  rekey(): void
  _handlers: Record<string, (...args: never[]) => void>
}
type Guest = {
  raw: Raw
  socket: Socket /** Sends what the node has granted. */
  send(id: number, piece: Buffer): void /** Runs an action over and over, as fast as the node takes it. */
  flood(action: () => void): void
}
type Attack = {
  onReady?: (guest: Guest) => void
  onCommand?: (guest: Guest, id: number) => void
  onOpened?: (guest: Guest, id: number) => void
  confirms?: { windowBytes: number; packetBytes: number }
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function listen(serve: (connection: Connection) => void): Promise<SshTarget> {
  const keys = newKeys()
  const server = new ssh2.Server({ hostKeys: [clientPrivateKey({ ...keys, clientSeed: keys.hostSeed })] }, serve)
  server.listen(0, '127.0.0.1')
  servers.push(server as unknown as Server)
  await once(server, 'listening')
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port, keys }
}

/** Starts a guest and lets a worker's code at it. */
async function meet(attack: Attack, client: Partial<Omit<Wanted, 'before' | 'target'>> = {}): Promise<Outcome> {
  return run({
    target: await listen((connection) => misbehave(connection, attack)),
    reads: false,
    writes: false,
    limitMs: 10_000,
    ...client,
  })
}

/** A guest whose port answers with whatever `speak` says. */
async function meetBytes(speak: (socket: Socket) => void): Promise<Outcome> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    speak(socket)
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return run({
    target: { address: '127.0.0.1', port: (server.address() as AddressInfo).port, keys: newKeys() },
    reads: false,
    writes: false,
    limitMs: 10_000,
  })
}

async function run(wanted: Omit<Wanted, 'before'>): Promise<Outcome> {
  const child = fork(childPath, { execArgv: ['--expose-gc'] })
  child.send({ before: await listen(behave), ...wanted } satisfies Wanted)
  const [answer] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the worker’s code ended with ${code}`)
    }),
  ])) as [Outcome]
  await once(child, 'exit')
  return answer
}

/** A guest whose command prints two megabytes in pieces of every size, and ends. */
function behave(connection: Connection): void {
  connection.on('error', () => undefined)
  connection.on('authentication', (context) => context.accept())
  connection.on('request', (accept) => accept?.())
  connection.on('session', (accept) => {
    accept().on('exec', (acceptExec) => {
      const stream = acceptExec()
      const pieces = Array.from({ length: 4_000 }, (_, at) => Buffer.alloc(at % 100 === 0 ? 32 * 1024 : at % 300))
      Readable.from(pieces, { objectMode: true })
        .pipe(stream, { end: false })
        .on('unpipe', () => {
          stream.exit(0)
          stream.end()
        })
    })
  })
}

function misbehave(connection: Connection, attack: Attack): void {
  const { _protocol: raw, _sock: socket } = connection as unknown as { _protocol: Raw; _sock: Socket }
  connection.on('error', () => undefined) // the node cuts it
  let over = false
  socket.once('close', () => {
    over = true
  })
  const windows = new Map<number, number>()
  const { CHANNEL_WINDOW_ADJUST: adjusted } = raw._handlers as Record<
    string,
    (own: unknown, id: number, bytes: number) => void
  >
  raw._handlers['CHANNEL_WINDOW_ADJUST'] = ((own: unknown, id: number, bytes: number) => {
    windows.set(id, (windows.get(id) ?? firstWindowBytes) + bytes)
    adjusted?.(own, id, bytes)
  }) as never
  const guest: Guest = {
    raw,
    socket,
    send(id, piece) {
      const window = windows.get(id) ?? firstWindowBytes
      if (piece.length > window) return
      windows.set(id, window - piece.length)
      raw.channelData(id, piece)
    },
    flood(action) {
      const some = (): void => {
        for (let times = 0; times < 1000 && !over && socket.writableLength < mebibyte; times++) action()
        if (!over) setImmediate(some)
      }
      some()
    },
  }
  connection.on('authentication', (context) => context.accept())
  connection.on('request', (accept) => {
    accept?.()
    attack.onReady?.(guest) // the way out is open: behind the answer, connections through it are expected
  })
  if (attack.confirms) {
    const confirm = raw.channelOpenConfirm.bind(raw)
    const { windowBytes, packetBytes } = attack.confirms
    raw.channelOpenConfirm = (remote, local) => confirm(remote, local, windowBytes, packetBytes)
  }
  raw._handlers['CHANNEL_OPEN_CONFIRMATION'] = ((_own: unknown, { sender }: { sender: number }) =>
    attack.onOpened?.(guest, sender)) as never
  connection.on('ready', () => {
    connection.on('session', (accept) => {
      const session = accept()
      session.on('exec', (acceptExec) => {
        const stream = acceptExec() as unknown as { outgoing: { id: number } }
        attack.onCommand?.(guest, stream.outgoing.id)
      })
    })
  })
}

const big = Buffer.alloc(32 * 1024)
const crumb = Buffer.alloc(1)
/** With a name so long that also a guest on a busy host sends more of it than what is forgiven. */
const forwarded = { boundAddr: '127.0.0.1', boundPort: 3128, remoteAddr: 'x'.repeat(2_000), remotePort: 40_000 }
/** What the keepalive finds, if that is first. */
const silent = 'it does not answer'
const stderrType = 1

describe('a guest is cut off, and its node grows by 20 MB at most, when it', () => {
  const cases: [what: string, attack: Attack, client: Partial<Wanted>, reason: RegExp][] = [
    [
      'sends more output than it was granted',
      { onCommand: ({ raw, flood }, id) => flood(() => raw.channelData(id, big)) },
      {},
      /more than its window allows/,
    ],
    [
      'sends more errors than it was granted',
      { onCommand: ({ raw, flood }, id) => flood(() => raw.channelExtData(id, big, stderrType)) },
      {},
      /more than its window allows/,
    ],
    [
      'sends output of channels that were never opened',
      { onReady: ({ raw, flood }) => flood(() => raw.channelData(12_345, big)) },
      {},
      /to no open channel/,
    ],
    [
      'opens channels without end',
      {
        onReady: ({ raw, flood }) => {
          let id = 0
          flood(() => raw.forwardedTcpip(id++, mebibyte, 32_768, forwarded))
        },
      },
      {},
      /to no open channel/,
    ],
    [
      'opens channels of other kinds without end',
      {
        onReady: ({ raw, flood }) => {
          let id = 0
          flood(() => raw.forwardedTcpip(id++, mebibyte, 32_768, { ...forwarded, boundPort: 1 }))
        },
      },
      {},
      /to no open channel/,
    ],
    [
      'asks and asks and does not read the answers',
      {
        onReady: ({ raw, socket, flood }) => {
          socket.pause()
          flood(() => raw.ping())
        },
      },
      {},
      new RegExp(`to no open channel|does not read|${silent}`),
    ],
    [
      'exchanges keys without end',
      {
        onReady: ({ raw, socket }) => {
          const again = setInterval(() => {
            if (socket.destroyed) clearInterval(again)
            else raw.rekey()
          }, 1)
        },
      },
      {},
      /renegotiates keys/,
    ],
    ['takes packets of no bytes only', { confirms: { windowBytes: mebibyte, packetBytes: 0 } }, {}, /tiny packets/],
    [
      'opens a channel that takes packets of no bytes',
      { onReady: ({ raw }) => raw.forwardedTcpip(1, mebibyte, 0, forwarded) },
      { writes: true },
      /tiny packets/,
    ],
  ]
  test.each(cases)('%s', async (_what, attack, client, reason) => {
    const outcome = await meet(attack, client)
    expect(outcome.ended).toBe(true)
    expect(outcome.cutFor ?? silent).toMatch(reason)
    expect(outcome.grewBytes).toBeLessThan(grownBytesMax)
  })

  test('says anything but SSH', async () => {
    const huge = Buffer.alloc(mebibyte, 'x')
    const speakers: ((socket: Socket) => void)[] = [
      (socket) => socket.write(huge),
      (socket) => void setInterval(() => socket.write('a line\r\n'.repeat(10_000)), 1).unref(),
      (socket) => socket.write(Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), Buffer.alloc(64, 0xff), huge])),
      (socket) => socket.write(Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), Buffer.from([0, 0, 0, 12, 10, 20]), huge])),
    ]
    for (const speak of speakers) {
      const outcome = await meetBytes(speak)
      expect(outcome.ended).toBe(true)
      expect(outcome.grewBytes).toBeLessThan(grownBytesMax)
    }
  })

  test('says anything but SSH once it was let in', async () => {
    const outcome = await meet({ onReady: ({ socket }) => void socket.write(Buffer.alloc(4 * mebibyte, 'x')) })
    expect(outcome.ended).toBe(true)
    expect(outcome.grewBytes).toBeLessThan(grownBytesMax) // it is deciphered to a length of any size up to 4 GiB
  })
})

describe('a node grows by 20 MB at most, and keeps the connection, when a guest', () => {
  const kept = async (attack: Attack, client: Partial<Wanted>): Promise<void> => {
    const outcome = await meet(attack, { limitMs: 3_000, ...client })
    expect(outcome).toMatchObject({ cutFor: null, ended: false })
    expect(outcome.grewBytes).toBeLessThan(grownBytesMax)
  }

  test('grants four gigabytes, and does not read what a fast host sends it', () =>
    kept(
      {
        onReady: ({ raw }) => {
          for (let id = 0; id < 100; id++) raw.forwardedTcpip(id, 2 ** 32 - 1, 32_768, forwarded)
        },
        onOpened: ({ socket }) => socket.pause(),
      },
      { writes: true, limitMs: 2_000 },
    ))

  test('fills the windows of as many connections as it may have, whose hosts do not read', () =>
    kept(
      {
        onReady: ({ raw }) => {
          for (let id = 0; id < 400; id++) raw.forwardedTcpip(id, mebibyte, 32_768, forwarded)
        },
        onOpened: ({ raw }, id) => raw.channelData(id, big),
      },
      {},
    ))

  test('fills its windows with tiny chunks that nobody reads', () =>
    kept(
      {
        onReady: ({ raw }) => {
          for (let id = 0; id < 10; id++) raw.forwardedTcpip(id, mebibyte, 32_768, forwarded)
        },
        onOpened: ({ raw }, id) => {
          for (let sent = 0; sent < 20_000; sent++) raw.channelData(id, crumb)
        },
      },
      {},
    ))

  test('sends tiny chunks as fast as it can to a reader', () =>
    kept({ onCommand: ({ raw, flood }, id) => flood(() => raw.channelData(id, crumb)) }, { reads: true }))

  test('continues with errors after it has reported its end', () =>
    kept(
      {
        onCommand: ({ raw }, id) => {
          raw.channelEOF(id)
          raw.channelExtData(id, crumb, stderrType)
          raw.channelData(id, crumb)
        },
      },
      { limitMs: 1_000 },
    ))
})

test('a guest that sends the requested data as fast as it can, in packets of any size, keeps its connection', async () => {
  for (const bytes of [32 * 1024, 20_000, 1_000, 300]) {
    const piece = Buffer.alloc(bytes)
    const outcome = await meet(
      { onCommand: ({ flood, send }, id) => flood(() => send(id, piece)) },
      { reads: true, limitMs: 1_500 },
    )
    expect(outcome).toMatchObject({ cutFor: null, ended: false })
  }
})

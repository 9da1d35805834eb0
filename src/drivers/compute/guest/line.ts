/**
 * The serial line to the guest's `berth serve`: the only way to reach a machine before it has an SSH server, and the
 * fastest afterwards. A message is its kind, length and bytes; an answer is a line. Its other end is
 * guest/image/serve.c.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { nowMs } from '#src/platform/clock.ts'
import { onLines } from '#src/drivers/compute/lines.ts'
import { open } from '#src/drivers/compute/qemu/qmp.ts'

const answerTimeoutMs = 10_000
const entropyBytes = 256
/** No valid answer is longer, and no more characters arrive in a second. */
const limits = { lineCharacters: 200, charactersPerSecond: 64 * 1024 }
const unheardLinesMax = 100
/** How much may be unread by the guest: time and entropy are skipped meanwhile. */
const untakenBytesMax = 64 * 1024

/** What makes a machine unique: machines restored from the same snapshot would otherwise share it. */
export type Persona = {
  hostname: string
  machineId: string
  hostKey: Buffer
  authorizedKey: string
  mountFolder: boolean
}

/** The open line. */
export type GuestLine = {
  /** Gives the guest its persona, fresh entropy and the time; resolves when its SSH server listens. @throws Error after the limit. */
  personalise(persona: Persona, limitMs: number): Promise<void>
  /** Sends time and entropy to a guest that was paused, without waiting. */
  refresh(): void
  setHostname(hostname: string): void
  unmountFolder(): Promise<void>
  /** Ends SSH connections that the guest still considers open. */
  endSessions(): Promise<void>
  /** Runs what callers use most, so that it is in memory in the snapshot. */
  warm(limitMs: number): Promise<void>
  /** Asks the guest to end cleanly. Not waited for. */
  powerOff(): void
  close(): void
}

/**
 * Opens the line of a machine whose QEMU is running. One that was lost, or whose guest did not answer in time, is opened
 * anew for the next question: the guest then begins with a new message, whatever it was waiting for.
 */
export async function openLine(path: string): Promise<GuestLine> {
  let connection = listenTo(await open(path))
  let closed = false
  let queue: Promise<void> = Promise.resolve()
  const current = async (): Promise<Connection> => {
    if (closed) throw lineClosed()
    if (connection.socket.destroyed) connection = listenTo(await open(path))
    return connection
  }
  /** One question at a time: answers do not say which question they belong to. */
  const ask: Ask = (messages, answers, limitMs) => {
    const turn = queue.then(async () => {
      const { socket, expect, forget } = await current()
      forget() // answers to questions that timed out
      try {
        socket.write(Buffer.concat(messages))
        for (const answer of answers) await expect(answer, limitMs)
      } catch (error) {
        socket.destroy()
        throw error
      }
    })
    queue = turn.catch(() => undefined) // the caller gets the error
    return turn
  }
  return {
    ...waitedFor(ask),
    ...notWaitedFor(() => connection.socket),
    close() {
      closed = true
      connection.socket.destroy()
    },
  }
}

/** One connection to the line. */
type Connection = {
  socket: Socket
  /** Waits for this answer. @throws Error when another one comes, or none in time. */
  expect(wanted: string, limitMs: number): Promise<void>
  /** Drops the answers that came without a question. */
  forget(): void
}

function listenTo(socket: Socket): Connection {
  const unheard: string[] = []
  let waiting: { resolve: (line: string) => void; reject: (error: Error) => void } | undefined
  socket.on('error', () => socket.destroy()) // 'close' follows
  socket.once('close', () => waiting?.reject(lineClosed()))
  // Root in the guest may write anything here; it then loses the line.
  onLines(
    socket,
    limits,
    (line) => {
      if (waiting) waiting.resolve(line)
      else if (unheard.push(line) > unheardLinesMax) socket.destroy()
    },
    'latin1',
  )
  const nextLine = (limitMs: number): Promise<string> => {
    const line = unheard.shift()
    if (line !== undefined) return Promise.resolve(line)
    return new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(lineClosed())
      const timer = setTimeout(() => waiting?.reject(new Error('the guest does not answer on its line')), limitMs)
      const end =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer)
          waiting = undefined
          then(value)
        }
      waiting = { resolve: end(resolve), reject: end(reject) }
    })
  }
  return {
    socket,
    async expect(wanted, limitMs) {
      const line = await nextLine(limitMs)
      if (line !== wanted) throw new Error(`the guest answered "${line}" instead of "${wanted}"`)
    },
    forget: () => void (unheard.length = 0),
  }
}

const lineClosed = (): Error => new Error('the line to the guest is closed')

type Ask = (messages: Buffer[], answers: string[], limitMs: number) => Promise<void>
type Waited = Pick<GuestLine, 'personalise' | 'unmountFolder' | 'endSessions' | 'warm'>

function waitedFor(ask: Ask): Waited {
  return {
    personalise: ({ hostname, machineId, hostKey, authorizedKey, mountFolder }, limitMs) =>
      ask(
        [
          ...nowMessages(),
          message('h', hostname),
          message('m', `${machineId}\n`),
          message('k', hostKey),
          message('a', `${authorizedKey}\n`),
          ...(mountFolder ? [message('f')] : []),
          message('g'),
        ],
        [...(mountFolder ? ['folder mounted'] : []), 'ready'],
        limitMs,
      ),
    unmountFolder: () => ask([message('u')], ['folder unmounted'], answerTimeoutMs),
    endSessions: () => ask([message('x')], ['sessions ended'], answerTimeoutMs),
    warm: (limitMs) => ask([message('w')], ['warm'], limitMs),
  }
}

function notWaitedFor(socket: () => Socket): Pick<GuestLine, 'refresh' | 'setHostname' | 'powerOff'> {
  return {
    refresh() {
      if (socket().writableLength < untakenBytesMax) socket().write(Buffer.concat(nowMessages()))
    },
    setHostname: (hostname) => void socket().write(message('h', hostname)),
    powerOff: () => void socket().write(message('o')),
  }
}

function nowMessages(): Buffer[] {
  const now = nowMs()
  return [
    message('e', randomBytes(entropyBytes)),
    message('t', `${Math.floor(now / 1000)} ${(now % 1000) * 1_000_000}`),
  ]
}

function message(kind: string, content: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(content as string) // a Buffer is copied as it is
  const head = Buffer.alloc(5)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

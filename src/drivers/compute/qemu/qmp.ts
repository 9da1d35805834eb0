/**
 * QEMU's control socket: one JSON object per line, commands answered in order, events in between. A compromised QEMU
 * may write anything there; it then loses the connection, and with it its machine.
 */
import { connect, type Socket } from 'node:net'
import { onLines } from '#src/drivers/compute/lines.ts'

/** A command that QEMU does not answer in this time has failed. */
const answerTimeoutMs = 10_000
const connectTimeoutMs = 10_000
/** One that takes the connection and does not greet in this time is given up. */
const greetingTimeoutMs = 10_000
/** QEMU creates its socket some 30 ms after it starts. */
const connectEveryMs = 4
/** The longest expected answer has some kilobytes, and the events of a second some hundreds of bytes. */
const limits = { lineCharacters: 1024 * 1024, charactersPerSecond: 4 * 1024 * 1024 }
/** More concurrent commands than we ever send. */
const commandsMax = 64

type Pending = { resolve: (value: unknown) => void; reject: (error: Error) => void; timer: NodeJS.Timeout }

/** A connection to one QEMU. */
export type Qmp = {
  /** @throws Error with QEMU's message, or when it does not answer. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown>
  /** Resolves when this event comes. @throws Error after the limit. */
  event(
    name: string,
    limitMs: number,
    fits?: (data: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>>
  /** Calls back for each of these events from now on. */
  on(name: string, onEvent: (data: Record<string, unknown>) => void): void
  /** Resolves once QEMU is gone (or has closed this connection), with how its guest ended it, if it did. */
  readonly closed: Promise<{ guestEnd: 'shutdown' | 'reset' | null }>
  /** Leaves QEMU running. */
  close(): void
}

/**
 * Connects to a QEMU that is starting or running.
 * @param alive whether it is worth trying again.
 * @throws Error when it does not answer in time.
 */
export async function connectQmp(path: string, alive: () => boolean, limitMs = connectTimeoutMs): Promise<Qmp> {
  const deadline = performance.now() + limitMs
  for (;;) {
    try {
      return await begin(speak(await open(path)))
    } catch (error) {
      if (!alive() || error instanceof SilentQemu || performance.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, connectEveryMs))
  }
}

/** It runs, and says nothing: trying again would only take longer. */
class SilentQemu extends Error {}

/** Waits for the greeting, and enters the mode of commands. */
async function begin(qmp: Qmp & { greeted: Promise<void> }): Promise<Qmp> {
  const silent = new SilentQemu(`QEMU did not greet within ${greetingTimeoutMs / 1000} s`)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(silent), greetingTimeoutMs)
  try {
    await Promise.race([qmp.greeted, late.promise])
    await qmp.execute('qmp_capabilities')
    return qmp
  } catch (error) {
    qmp.close()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Opens a socket of the machine's. It is in use for a moment after a worker's end: until QEMU has noticed that end, and
 * of the connections that other workers began since.
 */
export async function open(path: string): Promise<Socket> {
  const deadline = performance.now() + connectTimeoutMs
  for (;;) {
    try {
      return await openOnce(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, connectEveryMs))
  }
}

function openOnce(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

function speak(socket: Socket): Qmp & { greeted: Promise<void> } {
  const pending: Pending[] = []
  const listeners = new Set<(name: string, data: Record<string, unknown>) => unknown>()
  let guestEnd: 'shutdown' | 'reset' | null = null
  let gone = false
  const greeting = Promise.withResolvers<void>()
  const closing = Promise.withResolvers<{ guestEnd: 'shutdown' | 'reset' | null }>()
  greeting.promise.catch(() => undefined) // whoever connects awaits it; a second listener must not be needed
  socket.on('error', () => socket.destroy()) // 'close' follows and reports it
  socket.once('close', () => {
    gone = true
    const error = new Error('QEMU has ended')
    greeting.reject(error)
    for (const one of pending.splice(0)) settle(one).reject(error)
    closing.resolve({ guestEnd })
  })
  onLines(socket, limits, (line) => {
    const message = parse(line)
    if (!message) return socket.destroy()
    if (message.QMP) greeting.resolve()
    else if (typeof message.event === 'string') {
      const data = message.data ?? {}
      if (message.event === 'SHUTDOWN' && data['guest'] === true)
        guestEnd = data['reason'] === 'guest-shutdown' ? 'shutdown' : 'reset'
      for (const listener of [...listeners]) listener(message.event, data)
    } else {
      const first = pending.shift()
      if (!first) return
      if (message.error) settle(first).reject(new Error(`QEMU refused: ${message.error.desc}`))
      else settle(first).resolve(message.return)
    }
  })
  return {
    greeted: greeting.promise,
    closed: closing.promise,
    execute: (command, args) =>
      new Promise((resolve, reject) => {
        if (gone || pending.length >= commandsMax) return reject(new Error('QEMU has ended'))
        // A late answer would be taken for the next command's, so the connection is closed.
        const timer = setTimeout(() => socket.destroy(), answerTimeoutMs)
        pending.push({ resolve, reject, timer })
        socket.write(`${JSON.stringify({ execute: command, ...(args ? { arguments: args } : {}) })}\n`)
      }),
    event: (name, limitMs, fits = () => true) =>
      new Promise((resolve, reject) => {
        const done = (): void => {
          clearTimeout(timer)
          listeners.delete(listener)
        }
        const listener = (event: string, data: Record<string, unknown>): void => {
          if (event !== name || !fits(data)) return
          done()
          resolve(data)
        }
        const timer = setTimeout(() => {
          done()
          reject(new Error(`QEMU did not say ${name} in time`))
        }, limitMs)
        listeners.add(listener)
        void closing.promise.then(() => {
          done()
          reject(new Error('QEMU has ended'))
        })
      }),
    on: (name, onEvent) => void listeners.add((event, data) => event === name && onEvent(data)),
    close: () => socket.destroy(),
  }
}

type QmpMessage = {
  QMP?: unknown
  return?: unknown
  error?: { desc?: string }
  event?: string
  data?: Record<string, unknown>
}

/** What QEMU sent, or undefined when it is not a JSON object. */
function parse(line: string): QmpMessage | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as QmpMessage) : undefined // QEMU's protocol guarantees it
  } catch {
    return undefined
  }
}

function settle(one: Pending): Pending {
  clearTimeout(one.timer)
  return one
}

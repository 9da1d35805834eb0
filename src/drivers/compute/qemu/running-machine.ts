/**
 * A running machine: its control socket, its serial line, and an SSH connection that is re-established when it breaks.
 */
import type { Duplex } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import type { GuestLine } from '#src/drivers/compute/guest/line.ts'
import { createGuestPorts } from './guest-ports.ts'
import { watchHalts, type Halting } from './halting.ts'
import type { Command, Machine } from '#src/drivers/compute/machine.ts'
import type { ComputeNode } from '#src/drivers/compute/compute-node.ts'
import type { Qmp } from './qmp.ts'
import type { MachineRecord } from '#src/drivers/compute/records.ts'
import { connectSsh, ConnectionCut, unreachable, type SshConnection } from '#src/drivers/compute/ssh.ts'

const connectLimitMs = 15_000
/** How long a command waits for a connection that is being re-established. */
const reconnectWaitMs = 8_000
const firstPauseMs = 100
const longestPauseMs = 3_000
/** The backoff for a guest whose connection was cut for what it sent grows each time. */
const firstCutPauseMs = 5_000
const longestCutPauseMs = 60_000
/** After a connection that lasted this long the backoff is reset. */
const soundMs = 30_000

/** A machine and the handles on it. */
export type RunningMachine = Machine & {
  readonly record: MachineRecord
  readonly pid: number
  readonly qmp: Qmp
  readonly line: GuestLine
  readonly halts: Halting
  /** Makes the first connection. @throws Error */
  reach(limitMs?: number): Promise<void>
  /** Begins to reconnect. */
  wake(): void
  /** Disconnects, and leaves the machine running. */
  release(): void
}

/** A QEMU that was started or found. */
export type Handles = { record: MachineRecord; pid: number; qmp: Qmp; line: GuestLine }

/** The machine of a running QEMU; not connected yet. */
export function runMachine(node: ComputeNode, { record, pid, qmp, line }: Handles): RunningMachine {
  const halts = watchHalts(qmp, record.machineUuid, node.log)
  const { connected, connect, listen, wake, release } = keepConnected(node, record, line)
  return {
    get id() {
      return record.id ?? ''
    },
    get address() {
      return record.address
    },
    get postgresPort() {
      return record.postgresPort ?? null
    },
    get folderId() {
      return record.hasFolder ? record.folderId : null
    },
    record,
    pid,
    qmp,
    line,
    halts,
    run: async (command: Command, signal) => (await connected()).run(command, signal),
    listen,
    request: async (fields, signal) => (await connected()).request(fields, signal),
    connect: async (socketPath) => (await connected()).connect(socketPath),
    connectPort: async (port) => (await connected()).connectPort(port),
    reach: async (limitMs = connectLimitMs) => void (await connect(limitMs)),
    wake,
    release() {
      release()
      halts.release()
      line.close()
      qmp.close()
    },
  }
}

/** The connection to a machine, re-established whenever it breaks, until it is released. */
type Connected = Pick<RunningMachine, 'listen' | 'wake' | 'release'> & {
  connect(limitMs: number): Promise<SshConnection>
  /**
   * Waits for the existing connection, or the one that is being established.
   * @throws BerthError vm_unreachable after 8 s.
   */
  connected(): Promise<SshConnection>
}

function keepConnected(node: ComputeNode, record: MachineRecord, line: GuestLine): Connected {
  let connection: SshConnection | undefined
  let connecting: Promise<SshConnection> | undefined
  let released = false
  const pauses = createPauses(node, record)
  const ports = createGuestPorts(node.log, record.machineUuid)

  /** A machine that no VM uses gets no network, nor does a database, which opens no connections. */
  const takeEgress = (egress: Duplex): void =>
    void (record.id === null || record.recipe === 'postgres' ? egress.destroy() : node.onEgress(record.id, egress))
  const connect = async (limitMs: number): Promise<SshConnection> => {
    const made = await connectSsh(record, takeEgress, limitMs)
    if (released) {
      made.end()
      throw unreachable()
    }
    connection = made
    ports.connected(made)
    const madeAtMs = performance.now()
    void made.closed.then(({ cutFor }) => {
      connection = undefined
      pauses.lengthen(cutFor, performance.now() - madeAtMs)
      if (!released) wake()
    })
    return made
  }
  const reconnect = async (): Promise<SshConnection> => {
    const note = noteOutage(node, record)
    try {
      while (!released) {
        if (pauses.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauses.pauseMs))
        try {
          await line.endSessions() // the guest still considers the old connection open
          return await connect(connectLimitMs)
        } catch (error) {
          note(error)
          pauses.lengthen(error instanceof ConnectionCut ? error.message : null, 0)
        }
      }
      throw unreachable()
    } finally {
      connecting = undefined
    }
  }
  const wake = (): void => {
    connecting ??= reconnect()
    connecting.catch(() => undefined) // running commands get the error; the next one reconnects
  }
  const connected = async (): Promise<SshConnection> => {
    if (connection) return connection
    if (released) throw unreachable()
    connecting ??= reconnect()
    return withinMs(connecting, reconnectWaitMs)
  }
  return {
    connected,
    connect,
    listen: ports.listen,
    wake,
    release() {
      released = true
      connection?.end()
    },
  }
}

/** Logs why a machine does not answer: once as a warning, when callers begin to be refused. */
function noteOutage(node: ComputeNode, { machineUuid }: MachineRecord): (error: unknown) => void {
  const begunMs = performance.now()
  let isNoted = false
  return (error) => {
    const isLong = performance.now() - begunMs > reconnectWaitMs
    node.log[isLong && !isNoted ? 'warn' : 'debug']({ machine: machineUuid, err: error }, 'a machine does not answer')
    isNoted ||= isLong
  }
}

/**
 * How long to wait before the next attempt to connect: longer each time, for a guest that loses connections or violates
 * the protocol.
 */
function createPauses(
  node: ComputeNode,
  { machineUuid }: MachineRecord,
): { readonly pauseMs: number; lengthen(cutFor: string | null, lastedMs: number): void } {
  let pauseMs = 0
  let cutPauseMs = firstCutPauseMs
  return {
    get pauseMs() {
      return pauseMs
    },
    lengthen(cutFor, lastedMs) {
      const wasCut = cutFor !== null
      const wasSound = lastedMs > soundMs
      if (wasSound) cutPauseMs = firstCutPauseMs
      pauseMs = wasCut ? cutPauseMs : wasSound ? 0 : Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs)
      if (!wasCut) return
      cutPauseMs = Math.min(cutPauseMs * 2, longestCutPauseMs)
      node.log.warn(
        { machine: machineUuid, reason: cutFor, pauseMs },
        'a guest violated the SSH protocol; its connection was cut',
      )
    },
  }
}

async function withinMs<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unreachable()), limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    throw error instanceof BerthError ? error : unreachable()
  } finally {
    clearTimeout(timer)
  }
}

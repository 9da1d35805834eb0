/**
 * Terminals of a guest. Each is a process of `user` that has the pty and keeps what the program printed (terminals/terminal.py,
 * which is sent to the guest when one is opened): it outlives the connection and the worker.
 */
import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { terminalFrames, type TerminalSize } from '#src/drivers/node/terminal-frames.ts'
import { BerthError } from '#src/platform/errors.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { log } from '#src/platform/log.ts'
import { execInGuest, type GuestResult } from './exec.ts'
import { checkedId } from './frames.ts'

const program = readFileSync(new URL('terminals/terminal.py', import.meta.url))
const python = '/usr/bin/python3'
/** Python takes seconds to start in a machine under emulation that is busy. */
const startLimitMs = 30_000
const answerLimitMs = 15_000
/** For the program's end, of which SIGKILL is the last means after 3 s. */
const closeLimitMs = 10_000

/** A terminal to open; `command` null is a login shell. */
export type TerminalOrder = TerminalSize & { terminalId: string; command: string | null }

const socketOf = (terminalId: string): string => `/tmp/.berth-terminal-${checkedId(terminalId)}`

/**
 * Opens a terminal; once more has no effect.
 * @throws BerthError invalid_request when the guest has no Python; vm_unreachable.
 */
export async function openTerminal(
  machine: Machine,
  { terminalId, columns, rows, command }: TerminalOrder,
): Promise<void> {
  const { keptBytes, unacknowledgedBytes, lostClientSeconds } = terminalLimits
  const options = [lostClientSeconds, keptBytes, unacknowledgedBytes, columns, rows].map(String)
  const argv = [python, '-I', '-S', '-', socketOf(terminalId), ...options, command ?? '']
  const { exitCode, stderr } = await execInGuest(machine, { argv, timeoutMs: startLimitMs, stdin: program })
  if (exitCode === 0) return
  if (exitCode === 127)
    throw new BerthError(
      'invalid_request',
      `This VM has no ${python}, which terminals need. Install it there: sudo apt-get install python3.`,
    )
  log.warn({ exitCode, stderr: stderr.slice(-1000) }, 'a terminal could not be opened')
  throw new BerthError('vm_unreachable', 'The VM could not open a terminal; its memory or its disk may be full.')
}

/**
 * A connection to a terminal, on which frames pass.
 * @throws BerthError not_found when it has ended; vm_unreachable when the guest does not answer.
 */
export async function connectTerminal(machine: Machine, terminalId: string): Promise<Duplex> {
  try {
    return await machine.connect(socketOf(terminalId))
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'vm_unreachable') throw error
    // Nobody listens, or the guest does not answer: then this is thrown instead.
    const { exitCode } = await isThere(machine, terminalId)
    if (exitCode === 0) return machine.connect(socketOf(terminalId)) // the guest answers now, or says why not
    throw new BerthError('not_found', 'This terminal has ended. Open a new one.', { noun: 'terminal' })
  }
}

function isThere(machine: Machine, terminalId: string): Promise<GuestResult> {
  return execInGuest(machine, { argv: ['/usr/bin/test', '-S', socketOf(terminalId)], timeoutMs: answerLimitMs })
}

/**
 * Ends the program of a terminal as when a window is closed: SIGHUP, and 3 s later SIGKILL. Returns whether there was one.
 * @throws BerthError vm_unreachable; timeout.
 */
export async function closeTerminal(machine: Machine, terminalId: string): Promise<boolean> {
  let line: Duplex
  try {
    line = await connectTerminal(machine, terminalId)
  } catch (error) {
    if (error instanceof BerthError && error.code === 'not_found') return false
    throw error
  }
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const late = setTimeout(
    () => reject(new BerthError('timeout', 'The terminal did not end in time. Try again in a few seconds.')),
    closeLimitMs,
  )
  line.on('error', () => line.destroy()) // 'close' follows
  for (const end of ['end', 'close']) line.once(end, () => resolve(true))
  line.resume()
  line.write(terminalFrames.close())
  try {
    return await promise
  } finally {
    clearTimeout(late)
    line.destroy()
  }
}

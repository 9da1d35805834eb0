/** The session that a guest's own tools may use: /run/berth/session.json, for `user`, in memory only. */
import { collect } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'

const limitMs = 10_000
const wasAbsent = 3

/** Writes the session, a JSON text. @throws BerthError vm_unreachable */
export async function writeSession(machine: Machine, session: string): Promise<void> {
  if ((await put(machine, session)) !== 0) throw unreachable()
}

/** Removes the session; answers whether there was one. @throws BerthError vm_unreachable */
export async function removeSession(machine: Machine): Promise<boolean> {
  const code = await put(machine, '')
  if (code !== 0 && code !== wasAbsent) throw unreachable()
  return code === 0
}

async function put(machine: Machine, text: string): Promise<number> {
  const channel = await machine.request(['put', 'session.json'])
  const { exit } = await collect(channel, text, limitMs)
  return exit.exitCode
}

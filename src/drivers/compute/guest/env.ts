/** The environment variables of every command in a guest. They are in the guest's memory only, and a boot loses them. */
import { collect } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'

const limitMs = 10_000

/** Replaces the variables; commands started from now on have them. @throws BerthError vm_unreachable */
export async function pushEnv(machine: Machine, variables: Readonly<Record<string, string>>): Promise<void> {
  const entries = Object.entries(variables).map(([key, value]) => `${key}=${value}\0`)
  const channel = await machine.request(['put', 'env'])
  const { exit } = await collect(channel, entries.join(''), limitMs)
  // 3: there were no variables, and there are none to set.
  if (exit.exitCode !== 0 && exit.exitCode !== 3) throw unreachable()
}

/** What the kernel of a guest printed: what it killed for want of memory, and what crashed. */
import { BerthError } from '#src/platform/errors.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { execInGuest } from './exec.ts'

const timeoutMs = 10_000
const { kernelLogLength } = vmLookLimits

/**
 * The last lines of it, each with its time; what a guest says of itself is untrusted.
 * @throws BerthError vm_unreachable when the guest does not answer; timeout.
 */
export async function readKernelLog(machine: Machine): Promise<string> {
  const { stdout, exitCode, timedOut } = await execInGuest(machine, {
    argv: ['dmesg', '--time-format', 'iso'],
    as: 'root',
    timeoutMs,
  })
  if (timedOut || exitCode !== 0)
    throw new BerthError('vm_unreachable', 'The VM does not say what its kernel printed. Try again in a few seconds.')
  return lastLinesOf(stdout)
}

function lastLinesOf(text: string): string {
  if (text.length <= kernelLogLength) return text
  const last = text.slice(-kernelLogLength)
  return last.slice(last.indexOf('\n') + 1)
}

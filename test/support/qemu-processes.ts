/** Finds QEMU processes, whatever their parent is now: read from /proc, independently of the product's code. */
import { readdirSync, readFileSync } from 'node:fs'
import { signal } from '#src/platform/locks/process-marks.ts'
import { until } from './until.ts'

/** Kills the QEMUs whose files lie below a folder, and waits until none is left. Their worker must have ended: it makes new ones. */
export async function endQemus(folder: string): Promise<void> {
  await until(`no QEMU is left of ${folder}`, () => {
    const left = qemuProcesses(folder)
    for (const pid of left) signal(pid, 'SIGKILL')
    return left.length === 0
  })
}

/** The process ids of the QEMUs whose files lie below a folder. */
export function qemuProcesses(folder: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return command.includes('qemu-system') && command.includes(folder)
      } catch {
        return false // it ended while we looked
      }
    })
}

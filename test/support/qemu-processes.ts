/** Which QEMU processes there are, whatever their parent is by now: read from /proc, apart from what the product does. */
import { readdirSync, readFileSync } from 'node:fs'

/** The process ids of the QEMUs whose files lie below a folder. */
export function qemuProcesses(folder: string): number[] {
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map(Number).filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return command.includes('qemu-system') && command.includes(folder)
    } catch {
      return false // it ended while we looked
    }
  })
}

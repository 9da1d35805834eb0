/** What Linux says of a process: the processor time it took, and the memory that is its own. */
import { readFileSync } from 'node:fs'

const ticksPerSecond = 100 // USER_HZ, the same on every Linux that Node runs on

/** Processor time that the process took so far, in its own code and for it in the kernel; milliseconds. */
export function cpuMsOf(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1) ?? ''
  const fields = afterName.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond // utime and stime, see proc(5)
}

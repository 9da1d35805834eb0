/** What Linux says of a process: the processor time it took, and the memory that is its own. */
import { readFileSync } from 'node:fs'

const ticksPerSecond = 100 // USER_HZ, the same on every Linux that Node runs on

/** Processor time that the processes took so far, in their own code and for them in the kernel; milliseconds. */
export function cpuMsOf(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuMsOfOne(pid), 0)
}

function cpuMsOfOne(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1) ?? ''
  const fields = afterName.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond // utime and stime, see proc(5)
}

/** Memory that only this process has; MB. */
export function privateMemoryMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  return (kilobytes(text, 'Private_Clean') + kilobytes(text, 'Private_Dirty')) / 1024
}

/** All memory of the process that is in place, shared with others or not; MB. */
export function residentMemoryMb(pid: number): number {
  return kilobytes(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmRSS') / 1024
}

/** Memory that processes could still get without swapping; MB. */
export function availableMemoryMb(): number {
  return kilobytes(readFileSync('/proc/meminfo', 'latin1'), 'MemAvailable') / 1024
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? NaN)
}

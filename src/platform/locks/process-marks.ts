/** Distinguishes a process from a later one with the same pid, so that others can see that it died. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, distinguished from a later one with the same pid by the clock tick at which it started. */
export type ProcessMark = { pid: number; startedTicks: number }

/** The mark of a living process, or undefined when there is none with this number (a zombie counts as none). */
export function markProcess(pid: number): ProcessMark | undefined {
  const stat = readProc(pid, 'stat')
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // the name in brackets may contain spaces
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined
  return { pid, startedTicks: Number(fields[19]) } // field 22 of proc(5): starttime
}

/** Whether exactly this process is still running. */
export function isRunning(mark: ProcessMark): boolean {
  return markProcess(mark.pid)?.startedTicks === mark.startedTicks
}

/** Sends a signal; a process that has ended meanwhile is not an error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** A file of a process in /proc; undefined when the process ended meanwhile. */
export function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // ended meanwhile
  }
}

/** This process's name in files and rows that others clear away after its death: host, pid, start tick. */
export const processName = `${hostname()}.${process.pid}.${markProcess(process.pid)?.startedTicks ?? 0}`

/** Whether the process of this name is known to be dead. Nothing is known about processes on other hosts. */
export function isDeadProcess(name: string): boolean {
  const [startedTicks, pid, ...host] = name.split('.').reverse()
  return (
    host.reverse().join('.') === hostname() &&
    startedTicks !== '0' &&
    !isRunning({ pid: Number(pid), startedTicks: Number(startedTicks) })
  )
}

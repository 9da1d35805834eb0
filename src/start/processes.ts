/** Processes of this host, read from /proc, and how to make a child die with its parent. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { markProcess, readProc } from '#src/platform/locks/process-marks.ts'

const probeTimeoutMs = 2_000

/** The living processes of this program name whose working folder is this one. */
export function processesIn(folder: string, programName: string): number[] {
  const found: number[] = []
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || readProc(pid, 'comm')?.trim() !== programName) continue
    if (folderOf(pid) === folder && markProcess(pid)) found.push(pid)
  }
  return found
}

/**
 * A command prefix that makes the child get this signal when we die, even by kill -9; empty if util-linux does not
 * support it (then the next start cleans up).
 */
export function dyingWithUs(name: 'INT' | 'TERM'): string[] {
  parentDeathProgram ??= findParentDeathProgram()
  return parentDeathProgram ? [parentDeathProgram, '--pdeathsig', name] : []
}

let parentDeathProgram: string | null | undefined

function findParentDeathProgram(): string | null {
  const program = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path))
  if (!program) return null
  try {
    execFileSync(program, ['--pdeathsig', 'TERM', 'true'], { timeout: probeTimeoutMs, stdio: 'ignore' })
    return program
  } catch {
    return null // busybox has a setpriv without this option
  }
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined // ended meanwhile, or another user's: not ours
  }
}

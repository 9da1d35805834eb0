/**
 * Only one worker of a node may run at a time, because a machine's sockets accept one connection. A starting worker
 * ends its predecessor, which may hang or be left over from another start. The predecessor releases its work, and the
 * new worker continues it.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import { isRunning, markProcess, signal, type ProcessMark } from '#src/platform/locks/process-marks.ts'

/** A worker ends within 9 s after a signal; one that is suspended does not react. */
const endLimitMs = 10_000
const lookMs = 20

/** Ends the running worker of this node, if there is one, and records this process in its place. */
export async function replaceWorker(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  const path = join(dataDir, 'worker.json')
  const before = readMark(path)
  if (before && before.pid !== process.pid && isRunning(before)) {
    log.warn({ pid: before.pid }, 'another worker of this node runs: it is ended, and this one goes on with its work')
    signal(before.pid, 'SIGTERM')
    signal(before.pid, 'SIGCONT') // a suspended one cannot end
    await until(() => !isRunning(before), endLimitMs)
    if (isRunning(before)) signal(before.pid, 'SIGKILL')
    await until(() => !isRunning(before), endLimitMs)
  }
  writeFileSync(`${path}.new`, JSON.stringify(markProcess(process.pid)), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

function readMark(path: string): ProcessMark | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessMark // written by a worker
  } catch {
    return undefined // no worker was here yet
  }
}

async function until(isSo: () => boolean, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!isSo() && performance.now() < endMs) await pause(lookMs)
}

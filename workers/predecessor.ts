/**
 * One worker of a node at a time: a machine's sockets take one connection. Whoever starts ends the one before it, which
 * may hang, or be left over of another start; that lets go of its work, and the new one goes on with it.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import { isRunning, markProcess, signal, type ProcessMark } from '#src/platform/locks/process-marks.ts'

/** A worker ends within 9 s of being asked to; one that was stopped by a signal hears nothing. */
const endLimitMs = 10_000
const lookMs = 20

/** Ends the worker of this node that still runs, if there is one, and notes this process in its place. */
export async function replaceWorker(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  const path = join(dataDir, 'worker.json')
  const before = readMark(path)
  if (before && before.pid !== process.pid && isRunning(before)) {
    log.warn({ pid: before.pid }, 'another worker of this node runs: it is ended, and this one goes on with its work')
    signal(before.pid, 'SIGTERM')
    signal(before.pid, 'SIGCONT') // one that stands still cannot end
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
